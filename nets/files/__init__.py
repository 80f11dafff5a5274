"""Network files: their grammar, their records, and the way between records and the torch module."""
