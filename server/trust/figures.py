"""The figures that every game has, and that are compared between contributors: names, and what people are told.

A figure is a number of one game; `server.trust.differences` says what is done with it.
"""

from __future__ import annotations

from typing import Final

WHITE_POINTS: Final = "white_points"
LENGTH: Final = "length"
SURPRISE: Final = "surprise"
SEARCH_ENTROPY: Final = "search_entropy"
FIRST_POINTS: Final = "first_points"
MISFITS: Final = "misfits"
DIVERGENCE: Final = "divergence"
SCORE_SHIFT: Final = "score_shift"
SHIFT: Final = "shift"
PREFERENCE: Final = "preference"
DIFFERENT_MATCHES: Final = "different_matches"

FIGURES: Final[dict[str, str]] = {
    WHITE_POINTS: "White's share of the points",
    LENGTH: "moves per point of the board",
    SURPRISE: "policy surprise of the searches, nats",
    SEARCH_ENTROPY: "entropy of the searches' policies, nats",
    FIRST_POINTS: "points of the older network of a match",
    MISFITS: "share of the rows that were looked at whose columns are not the network's",
    DIVERGENCE: "divergence of the searches' policies from the network's, nats",
    SCORE_SHIFT: "distance of the searches' scores from the network's, points",
    SHIFT: "distance of the searches' values from the network's",
    PREFERENCE: "by how much the searches prefer their better moves",
    DIFFERENT_MATCHES: "share of the match games that were looked at which their networks did not play so",
}
"""The five before the last come from a network that evaluated rows again (`server.inspection`)."""


def describe(figure: str, own: float, expected: float, games: int, deviations: float) -> str:
    """One sentence on a difference, for the contributor and for maintainers."""
    return (
        f"{FIGURES[figure]}: {own:.3g} on average of {games} games, where others' games of the same networks have "
        f"{expected:.3g} ({abs(deviations):.1f} standard deviations)"
    )
