"""What a game is, self-play or match; many at once; and what is recorded of them."""
