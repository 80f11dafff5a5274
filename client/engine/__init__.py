"""The engine for Go programs: GTP over a search."""
