"""Load on a server: recorded games, clients that send them, and what the answers took."""
