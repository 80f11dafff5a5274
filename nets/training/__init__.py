"""From batches to a better net: losses, update, averaging, checkpoints, export, and the trainer over them."""
