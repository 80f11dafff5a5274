"""Matches between players: networks with their settings, and other programs that speak GTP."""
