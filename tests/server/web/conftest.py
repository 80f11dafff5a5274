"""Fixtures of the tests of pages."""

from tests.server.games.conftest import play

__all__ = ["play"]
