"""What folders of self-play games hold, in numbers: from records and rows, ours or KataGo's alike.

So that what was configured, what we played and what KataGo plays under the same text can be laid side by side.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from common import sgf
from common.npz import RowsError
from common.rows import HASH_COLUMNS, GlobalTarget, PolicyTarget, QTarget, Rows, game_hash, read_npz
from common.sgf import SgfError
from common.sgf_record import GameRecord, Move

RECORDS: Final = (".sgfs", ".sgf")
ROWS: Final = ".npz"
_G = GlobalTarget
_NATS: Final = {
    "policy surprise": _G.POLICY_SURPRISE,
    "entropy of the root's prior": _G.POLICY_ENTROPY,
    "entropy of the search's policy": _G.SEARCH_ENTROPY,
    "entropy of the net's policy": _G.NET_POLICY_ENTROPY,
}
_FLAGS: Final = {
    "with a lead": _G.LEAD_WEIGHT,
    "searched again": _G.REANALYSED,
    "of games the move limit ended": _G.HIT_MOVE_LIMIT,
}


@dataclass
class Sample:
    """Count, mean and deviation of numbers, and how sure the mean is.

    Numbers of one game depend on each other, so games are what is drawn, not numbers.
    """

    count: int = 0
    total: float = 0.0
    squares: float = 0.0
    _games: int = 0
    _of_games: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    """Sums over games with a count n and a total s: of s * s, of s * n, of n * n."""

    def add(self, *values: float) -> None:
        """Take the numbers of a game."""
        self.take(np.array(values, np.float64), np.zeros(len(values), np.intp))

    def take(self, values: npt.NDArray[Any], games: npt.NDArray[np.intp] | None = None) -> None:
        """Take numbers ``[n]``: of the games ``[n]``, whose numbers are from 0 on, or of a game each."""
        numbers = values.astype(np.float64)
        self.count += numbers.size
        self.total += float(numbers.sum())
        self.squares += float((numbers * numbers).sum())
        if games is None:
            games = np.arange(numbers.size)
        counts = np.bincount(games).astype(np.float64)
        totals = np.bincount(games, weights=numbers)
        self._games += int((counts > 0).sum())
        self._of_games += totals @ totals, totals @ counts, counts @ counts

    @property
    def mean(self) -> float:
        """NaN without numbers."""
        return self.total / self.count if self.count else math.nan

    @property
    def deviation(self) -> float:
        """The standard deviation of the numbers; NaN without any."""
        return math.sqrt(max(self.squares / self.count - self.mean**2, 0.0)) if self.count else math.nan

    @property
    def error(self) -> float:
        """The standard error of the mean, by games (Cochran, Sampling Techniques, 6.4); NaN for fewer than two."""
        if self._games < 2:
            return math.nan
        squares, products, counts = self._of_games.tolist()
        residues = squares - 2 * self.mean * products + self.mean**2 * counts
        return math.sqrt(max(residues, 0.0) * self._games / (self._games - 1)) / self.count


@dataclass
class Statistics:
    """Sums over the games and rows of a folder."""

    games: int = 0
    rows: int = 0
    shares: dict[str, Counter[str]] = field(default_factory=dict)
    """By subject, how many games were how; each subject is counted once a game."""
    samples: dict[str, Sample] = field(default_factory=dict)
    """Of games, turns or rows, as the subject says."""
    visits: Counter[int] = field(default_factory=Counter)
    """Searched turns by visits."""
    rows_by_game: Counter[str] = field(default_factory=Counter)
    """By the hash in its rows."""
    unread: list[str] = field(default_factory=list)
    """Files that could not be read, and why."""

    def count(self, subject: str, what: str) -> None:
        """A game of a kind."""
        self.shares.setdefault(subject, Counter())[what] += 1

    def share(self, subject: str, what: str) -> tuple[float, float]:
        """Of the games that were counted, how many were so, and the standard error of that; NaN without any."""
        counts = self.shares.get(subject, Counter[str]())
        games = counts.total()
        part = counts[what] / games if games else math.nan
        return part, math.sqrt(part * (1 - part) / games) if games else math.nan

    @property
    def rows_a_game(self) -> Sample:
        """Rows of each game, of those too that have none."""
        counts = np.array(list(self.rows_by_game.values()), np.int64)
        sample = Sample()
        sample.take(np.concatenate([counts, np.zeros(max(self.games - len(counts), 0), np.int64)]))
        return sample

    def sample(self, subject: str) -> Sample:
        """The numbers of a subject, to be added to."""
        return self.samples.setdefault(subject, Sample())


def statistics_of(folder: Path) -> Statistics:
    """The statistics of all records and files of rows below ``folder``.

    Raises:
        FileNotFoundError: there is no such folder, or nothing of the kind in it.
    """
    found = Statistics()
    files = sorted(path for path in folder.rglob("*") if path.name.endswith((*RECORDS, ROWS)) and path.is_file())
    if not files:
        raise FileNotFoundError(f"{folder} has no files of games ({', '.join(RECORDS)}, {ROWS})")
    for path in files:
        try:
            if path.name.endswith(ROWS):
                _add_rows(found, read_npz(path))
            else:
                for record in _records(path):
                    _add_record(found, record)
        except (RowsError, SgfError, OSError) as error:
            found.unread.append(f"{path}: {error}")
    return found


def _records(path: Path) -> Iterator[GameRecord]:
    data = path.read_bytes()
    return sgf.read_all(data) if path.suffix == ".sgfs" else iter([sgf.read(data)])


def _add_record(found: Statistics, record: GameRecord) -> None:
    found.games += 1
    rules, info = record.rules, record.info
    found.count("ko", rules.ko.name.lower())
    found.count("scoring", rules.scoring.name.lower())
    found.count("tax", rules.tax.name.lower())
    found.count("suicide of many stones", _yes(rules.suicide))
    found.count("button", _yes(rules.has_button))
    found.count("size", f"{record.x_size}x{record.y_size}")
    found.count("komi in whole points", _yes(rules.komi == int(rules.komi)))
    found.count("handicap", str(record.counted_handicap()))
    found.count("result", "unfinished" if record.result is None else record.result.partition("+")[0])
    found.sample("komi").add(rules.komi)
    if record.x_size == record.y_size:
        found.sample(f"komi on {record.x_size}x{record.y_size}").add(rules.komi)
    found.sample("moves a game").add(len(record.moves))
    if info is not None:
        found.count("game type", info.game_type)
        found.count("begins in a clean-up phase", _yes(info.began_in_phase > 0))
        found.count("goes on from a position", _yes(info.used_initial_position))
        found.count("asymmetric playouts", _yes(bool(info.white_doublings)))
        found.count("net changed", _yes(bool(info.new_networks)))
        found.sample("turns before the first search").add(info.start_turn)
    _add_turns(found, record.moves)


def _add_turns(found: Statistics, moves: tuple[Move, ...]) -> None:
    """What records say of searches: visits, and the weights of rows."""
    searched = [move.values for move in moves if move.values is not None]
    found.visits.update(values.visits for values in searched)
    weights = [values.weight or 0.0 for values in searched]
    found.sample("searched turns a game").add(len(searched))
    found.sample("visits a turn").add(*(values.visits for values in searched))
    found.sample("turns with weight, share").add(*(weight > 0 for weight in weights))
    found.sample("weight of these turns").add(*(weight for weight in weights if weight > 0))


def _add_rows(found: Statistics, rows: Rows) -> None:
    columns = rows.global_targets
    found.rows += rows.count
    _, first, games = np.unique(columns[:, list(HASH_COLUMNS)], axis=0, return_index=True, return_inverse=True)
    games = games.reshape(-1)
    found.rows_by_game.update(
        dict(zip((game_hash(columns[row]) for row in first), np.bincount(games).tolist(), strict=True))
    )
    is_again = columns[:, _G.REANALYSED] > 0
    is_side = (columns[:, _G.OUTCOME_WEIGHT] == 0) & ~is_again & (columns[:, _G.NO_RESULT] < 1)
    found.sample("side rows, share").take(is_side, games)
    found.sample("row weight").take(columns[:, _G.ROW_WEIGHT], games)
    found.sample("visits of a row").take(columns[:, _G.ROOT_VISITS], games)
    found.sample("turn of a row").take(columns[:, _G.TURN], games)
    found.sample("win - loss of the search, size").take(
        np.abs(columns[:, _G.SEARCH_WIN] - columns[:, _G.SEARCH_LOSS]), games
    )
    for name, column in _NATS.items():
        found.sample(name).take(columns[:, column], games)
    for name, column in _FLAGS.items():
        found.sample(f"rows {name}, share").take(columns[:, column] > 0, games)
    shares = pruned_shares(rows)
    is_told = ~np.isnan(shares)
    found.sample("visits pruned from the policy, share").take(shares[is_told], games[is_told])


def pruned_shares(rows: Rows) -> npt.NDArray[np.float64]:
    """``[n]`` of each row: the part of its moves' visits that its policy target lacks; NaN where either is missing.

    Targets are proportional to weights, in a unit of their own: the most visited move is never pruned, and says which.
    """
    visits = rows.q_values[:, QTarget.VISITS].astype(np.float64)
    policy = rows.policy_targets[:, PolicyTarget.OWN].astype(np.float64)
    best = visits.argmax(axis=1)
    every = np.arange(rows.count)
    unit = policy[every, best] / np.maximum(visits[every, best], 1)
    is_told = (rows.global_targets[:, _G.POLICY_WEIGHT] > 0) & (visits[every, best] > 0) & (unit > 0)
    shares = 1.0 - policy.sum(axis=1) / np.maximum(unit * visits.sum(axis=1), 1e-9)
    return np.asarray(np.where(is_told, np.clip(shares, 0.0, 1.0), math.nan), np.float64)


def _yes(value: bool) -> str:
    return "yes" if value else "no"
