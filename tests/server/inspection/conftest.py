"""Fixtures of the tests of rechecks, and of trust."""

from tests.server.games.conftest import play

__all__ = ["play"]
