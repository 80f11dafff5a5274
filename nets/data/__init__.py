"""From files of rows to batches with targets."""
