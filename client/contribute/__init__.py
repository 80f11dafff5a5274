"""Playing for a server."""
