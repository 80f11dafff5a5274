"""Self-play without a server: all devices of this machine into one folder."""
