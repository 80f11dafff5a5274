"""The same games whoever plays them, in one go or in many; nets come and go while it runs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from client.devices import Stream
from client.games.chance import game_seed
from client.games.kinds import SELFPLAY
from client.games.orders import FinishedGame, GameOrder
from client.games.table import GAMES_CACHE
from client.networks import Network
from client.selfplay import child, loop
from client.selfplay.child import ChildSettings
from client.selfplay.ledger import PlayedGame, Run, RunFiles
from client.selfplay.loop import Loop, LoopError, LoopSettings, Nets, OrderBook
from client.selfplay.nets import OneNet
from client.selfplay.status import Status
from client.stopping import StopSignals
from common.parameter_classes import RowFileParameters
from common.precision import Precision
from common.rows import read_npz
from common.sgf import read_all
from tests.client.games.games import selfplay_text
from tests.client.selfplay.made_games import NET, finished, order
from tests.client.selfplay.test_ledger import FORK
from tests.client.selfplay.threads import threads

__all__ = ["threads"]

TEXT = selfplay_text(
    bSizes=4, bSizeRelProbs=1, maxVisits=4, cheapSearchVisits=2, reducedVisitsMin=2, maxMovesPerGame=8,
    earlyForkGameProb=0.3, forkGameProb=0.2, sekiForkHackProb=0.1,
)  # fmt: skip


# -- the book --


def orders(count: int) -> Iterator[GameOrder]:
    return (order(number) for number in range(count))


def drawn(book: OrderBook) -> list[GameOrder]:
    return list(iter(book.next, None))


def test_every_game_is_given_once() -> None:
    book = OrderBook(orders(3), 0.0, {})
    first, second, third = drawn(book)
    assert book.has_more()
    book.give_back(second.seed)
    assert drawn(book) == [second]
    assert all(book.take(finished(each)) for each in (first, second))
    assert not book.take(finished(first)), "twice"
    assert book.has_more()
    assert book.take(finished(third, forks=(FORK,)))
    (fork,) = drawn(book)
    assert fork.start == FORK
    assert book.take(finished(fork))
    assert not book.has_more()
    assert book.next() is None


def test_what_was_played_is_not_given_again_but_its_forks_are() -> None:
    whole = OrderBook(orders(4), 0.0, {})
    given = drawn(whole)
    whole.take(finished(given[1], forks=(FORK, FORK)))
    forks = drawn(whole)
    assert len(forks) == 2
    played = {
        1: PlayedGame(1, 3, (FORK, FORK)),
        3: PlayedGame(3, 3),
        forks[1].seed: PlayedGame(forks[1].seed, 3),
    }
    again = OrderBook(orders(4), 0.0, played)
    rest = drawn(again)
    assert sorted(each.seed for each in rest) == sorted([0, 2, forks[0].seed])
    for each in rest:
        again.take(finished(each))
    assert not again.has_more()


# -- the loop --


def played_orders(count: int | None) -> Iterator[GameOrder]:
    nobody = Network("", None)
    for number in itertools.count() if count is None else range(count):
        seed = game_seed(5, number)
        yield GameOrder(seed=seed, kind=SELFPLAY, config=TEXT, black=nobody, white=nobody, length=5)


def play(
    folder: Path,
    *,
    games: int | None,
    streams: int = 1,
    at_once: int = 3,
    nets: Nets | None = None,
    signals: StopSignals | None = None,
    lines: list[str] | None = None,
) -> Run:
    """A run of one seed in ``folder``, gone on with."""
    run = Run(folder, {"seed": 5}, RunFiles(seed=5, text="x = 1\n", files=RowFileParameters(), version=3))
    lines = lines if lines is not None else []
    settings = LoopSettings(
        streams=[Stream(f"cpu{number}", "cpu", 1, None, at_once) for number in range(streams)],
        child=ChildSettings(Precision.FASTEST, GAMES_CACHE),
        say=lines.append,
        nowhere="there is none",
    )
    book = OrderBook(played_orders(games), 0.1, run.played)
    Loop(settings, book, run, nets or OneNet(NET), Status(lines.append)).play(signals or StopSignals())
    return run


def records(folder: Path) -> list[str]:
    lines = [line for path in folder.rglob("*.sgfs") for line in path.read_text().splitlines()]
    assert len(set(lines)) == len(lines), "no game is there twice"
    return sorted(lines)


def rows_in(folder: Path) -> int:
    return sum(read_npz(path).count for path in folder.rglob("*.npz"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All games of one run, played by one child, one after the other."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patched:
        threads.__wrapped__(patched)  # type: ignore[attr-defined]
        play(folder, games=6, at_once=1)
    return folder


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize(("streams", "at_once"), [(2, 1), (1, 4), (3, 2)])
def test_the_same_games_whoever_plays_them(whole: Path, tmp_path: Path, streams: int, at_once: int) -> None:
    play(tmp_path, games=6, streams=streams, at_once=at_once)
    assert records(tmp_path) == records(whole)
    assert rows_in(tmp_path) == rows_in(whole) > 0
    assert len(records(whole)) > 6, "forks are among them"


@pytest.mark.usefixtures("threads")
def test_the_games_of_a_child_that_ends_are_played_by_others(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = child.Player.take
    ended = []

    def take_one(player: child.Player, game: FinishedGame) -> None:
        take(player, game)
        if player._stream.name == "cpu0":
            ended.append(player._stats.games_running)
            player._control.stop_now.set()

    monkeypatch.setattr(child.Player, "take", take_one)
    play(tmp_path, games=6, streams=2, at_once=3)
    assert ended[0] > 0, "games were dropped"
    assert records(tmp_path) == records(whole)
    assert rows_in(tmp_path) == rows_in(whole)


class StopAfter(StopSignals):
    """Signals that come with the game ``number`` of a run."""

    def watch(self, monkeypatch: pytest.MonkeyPatch, number: int, *, at_once: bool) -> None:
        add, games = Status.add, itertools.count(1)

        def counted(status: Status, game: FinishedGame) -> None:
            add(status, game)
            if next(games) == number:
                self.finish.set()
                if at_once:
                    self.now.set()

        monkeypatch.setattr(Status, "add", counted)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("at_once", [False, True])
def test_a_run_goes_on_where_it_was_stopped(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: bool
) -> None:
    for number in (1, 2, 1):
        before = len(records(tmp_path))
        signals = StopAfter()
        with monkeypatch.context() as patched:
            signals.watch(patched, number, at_once=at_once)
            play(tmp_path, games=6, streams=2, at_once=2, signals=signals)
        after = records(tmp_path)
        assert before + number <= len(after)
        assert set(after) <= set(records(whole))
    play(tmp_path, games=6, streams=2, at_once=2)
    assert records(tmp_path) == records(whole)
    assert rows_in(tmp_path) == rows_in(whole)
    play(tmp_path, games=6)
    assert records(tmp_path) == records(whole), "there is nothing left to do"


@pytest.mark.usefixtures("threads")
def test_one_signal_ends_a_run_in_which_no_game_has_begun(whole: Path, tmp_path: Path) -> None:
    """The streams are still loading and compiling: there is nothing to finish."""
    signals, lines = StopSignals(), list[str]()
    signals.finish.set()
    play(tmp_path, games=6, streams=2, signals=signals, lines=lines)
    assert lines == ["stopped at once; 0 finished games are kept"]
    assert records(tmp_path) == []
    play(tmp_path, games=6, streams=2)
    assert records(tmp_path) == records(whole)


@pytest.mark.usefixtures("threads")
def test_what_is_finished_is_kept_when_nobody_reads_any_more(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unread(status: Status) -> None:
        if status.games >= 2:
            raise BrokenPipeError

    with monkeypatch.context() as patched:
        patched.setattr(Status, "report_now_and_then", unread)
        with pytest.raises(BrokenPipeError):
            play(tmp_path, games=6, at_once=2)
    assert len(records(tmp_path)) >= 2
    play(tmp_path, games=6)
    assert records(tmp_path) == records(whole)


@pytest.mark.usefixtures("threads")
def test_without_a_number_of_games_it_plays_until_it_is_stopped(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signals = StopAfter()
    signals.watch(monkeypatch, 9, at_once=False)
    lines: list[str] = []
    play(tmp_path, games=None, streams=2, at_once=2, signals=signals, lines=lines)
    assert len(records(tmp_path)) >= 9
    assert any("once more (Ctrl-C) stops at once" in line for line in lines)
    assert len(set(records(tmp_path)) & set(records(whole))) >= 5


class Scripted:
    """Nets that come one after the other, each look another one; the last one stays."""

    def __init__(self, *names: str | None) -> None:
        self._names = list(names)
        self.refused: list[str] = []

    def newest(self) -> Network | None:
        name = self._names.pop(0) if len(self._names) > 1 else self._names[0]
        return None if name is None else Network(name, None)

    def refuse(self, network: Network) -> bool:
        self.refused.append(network.name)
        return self._names != [network.name]


class Picky(Scripted):
    """Goes on to the next net when one is refused."""

    def newest(self) -> Network:
        return Network(next(name for name in self._names if name and name not in self.refused), None)


@pytest.fixture
def looks_always(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "LOOK_EVERY_S", 0.0)
    monkeypatch.setattr(loop, "LOOK_AGAIN_S", 0.0)


@pytest.mark.usefixtures("threads", "looks_always")
def test_new_games_take_the_newest_net(tmp_path: Path) -> None:
    lines: list[str] = []
    nets = Scripted(None, None, "a", "a", "b", "bad", "c")
    play(tmp_path, games=12, streams=2, at_once=1, nets=nets, lines=lines)
    assert lines.count("there is none") == 1
    told = [line for line in lines if line.startswith("new games are played by")]
    assert told[0].endswith(" a")
    assert told[-1].endswith(" c")
    by_net = {path.name: records(path) for path in tmp_path.iterdir() if path.name != "runs"}
    assert by_net.keys() <= {"a", "b", "c"}
    assert "c" in by_net
    for name, lines_of in by_net.items():
        for record in read_all("\n".join(lines_of)):
            assert (record.black_name, record.white_name) == (name, name)
    games = sum(map(len, by_net.values()))
    assert games == len(Run(tmp_path, {"seed": 5}, RunFiles(
        seed=5, text="x = 1\n", files=RowFileParameters(), version=3
    )).played)  # fmt: skip
    assert games >= 12


@pytest.mark.usefixtures("threads", "looks_always")
def test_a_net_that_cannot_be_used_is_passed_over(tmp_path: Path) -> None:
    lines: list[str] = []
    nets = Picky("bad-1", "good")
    play(tmp_path, games=3, streams=2, nets=nets, lines=lines)
    assert set(nets.refused) == {"bad-1"}
    assert lines.count("bad-1 cannot be used (no net): it is passed over until the file changes") == 1
    assert len(records(tmp_path / "good")) >= 3


@pytest.mark.usefixtures("threads")
def test_the_only_net_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(LoopError, match=r"^bad cannot be used \(no net\)$"):
        play(tmp_path, games=3, nets=OneNet(Network("bad", None)))


@pytest.mark.usefixtures("threads")
def test_a_disk_without_room(tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits, and goes on once there is room."""
    save, tries = Run.save, itertools.count()

    def full_at_first(run: Run) -> None:
        if next(tries) < 3:
            raise OSError(28, "No space left on device", "games")
        save(run)

    monkeypatch.setattr(Run, "save", full_at_first)
    monkeypatch.setattr(loop, "RETRY_SAVING_S", 0.0)
    lines: list[str] = []
    play(tmp_path, games=6, at_once=1, lines=lines)
    assert sum("cannot be written (games: No space left on device): make room" in line for line in lines) == 1
    assert lines.count("finished games can be written again") == 1
    assert records(tmp_path) == records(whole)


@pytest.mark.usefixtures("threads")
def test_a_disk_without_room_to_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(run: Run) -> None:
        raise OSError(28, "No space left on device", "games")

    monkeypatch.setattr(Run, "save", full)
    signals = StopAfter()
    signals.watch(monkeypatch, 1, at_once=False)
    with pytest.raises(OSError, match=r"finished games could not be written .*; the same command plays them again"):
        play(tmp_path, games=6, at_once=1, signals=signals)
