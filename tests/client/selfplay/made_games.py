"""Finished games that nobody has played, for tests of where games go."""

from __future__ import annotations

from pathlib import Path

from client.games.kinds import SELFPLAY
from client.games.orders import FinishedGame, GameOrder
from client.games.starts import Fork
from client.networks import Network
from common.audit import GameFacts
from common.go.rules import Rules
from common.rows import GlobalTarget, Rows, read_npz

NET = Network("net-a", None)


def order(seed: int, network: Network = NET) -> GameOrder:
    """An order whose text nobody reads."""
    return GameOrder(seed=seed, kind=SELFPLAY, config="", black=network, white=network, length=5)


def finished(
    of: GameOrder, rows: int = 3, forks: tuple[Fork, ...] = (), seki_forks: tuple[Fork, ...] = ()
) -> FinishedGame:
    """The game of an order, whose record and rows tell its seed."""
    columns = Rows.zeros(rows, 5)
    columns.policy_targets[:] = 1
    columns.score_distribution[:, 0] = 100
    columns.global_targets[:, GlobalTarget.TURN] = of.seed % 1000
    facts = GameFacts(
        x_size=5, y_size=5, rules=Rules(), handicap=0, game_type="normal", winner="B", score=-1.0, resigned=False,
        game_length=10, uid="0" * 32, black_network=of.black.name, white_network=of.white.name, length=5,
        num_training_rows=rows,
    )  # fmt: skip
    return FinishedGame(of, facts, f"(;C[{of.seed}])", columns if rows else None, "B", forks, seki_forks)


def on_disk(folder: Path) -> tuple[list[str], list[int]]:
    """Records, and the seeds that rows tell, of all files below a folder."""
    lines = [line for path in sorted(folder.rglob("*.sgfs")) for line in path.read_text().splitlines()]
    parts = [read_npz(path) for path in sorted(folder.rglob("*.npz"))]
    return sorted(lines), sorted(
        int(turn) for rows in parts for turn in rows.global_targets[:, GlobalTarget.TURN].tolist()
    )


def expected(games: list[FinishedGame]) -> tuple[list[str], list[int]]:
    """What `on_disk` gives of games, each of which is there once."""
    return sorted(game.sgf for game in games), sorted(
        game.order.seed % 1000 for game in games for _ in range(game.rows.count if game.rows else 0)
    )
