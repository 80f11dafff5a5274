"""What a child that plays no game yet is busy with. Imports numba, which the parent process does not need."""

from __future__ import annotations

from numba.core import event

from client.contribute.messages import Activity


class ActivityWatch(event.Listener):
    """Knows when numba compiles in this process, from its own events, and asks for the rest.

    Attributes:
        loading: networks that are being loaded.
    """

    def __init__(self) -> None:
        self.loading = 0
        self._compiling = 0
        event.register("numba:compile", self)  # type: ignore[no-untyped-call]

    def close(self) -> None:
        """Hear no more."""
        event.unregister("numba:compile", self)  # type: ignore[no-untyped-call]

    def on_start(self, event: event.Event) -> None:
        """A kernel that lies in no cache is being compiled; those that it calls begin within it."""
        self._compiling += 1

    def on_end(self, event: event.Event) -> None:
        """It is compiled."""
        self._compiling -= 1

    def now(self, games_running: int) -> Activity:
        """What this process does at the moment."""
        if self._compiling:
            return Activity.COMPILING
        if self.loading:
            return Activity.LOADING
        return Activity.PLAYING if games_running else Activity.WAITING
