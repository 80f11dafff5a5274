"""One description of each net, its outputs and its layers; the torch module made from it."""
