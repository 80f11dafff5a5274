"""The Go Text Protocol: lines, a session, and the commands in groups (engine.md, part A)."""
