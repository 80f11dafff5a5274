"""Positions in, evaluations out, on whatever device there is; `batch` is the contract, without torch."""
