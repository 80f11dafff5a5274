"""The tree search, in numba."""
