"""``python -m client match``: games between networks, one network under several settings, or a network and a program.

Two players or more; who meets whom is said as in the texts of KataGo's matches. Colours alternate over openings that
all players of a round begin, on all devices and cores, until the games are played or, of two players, a sequential test
has decided. Every game is on disk when it is over; the same command goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from client.commands.local import PRECISIONS, add_cache, add_streams, cache_settings, explained, precision, say
from client.commands.match_players import entrants_of
from client.commands.match_progress import Progress
from client.devices import DeviceError, Stream, gpu_count, plan_streams
from client.games.kinds import MATCH
from client.matches.ledger import Ledger, LedgerError, MatchResult
from client.matches.openings import Given, Openings, read_openings
from client.matches.players import PlayerError
from client.matches.schedule import TWO_PLAYERS
from client.matches.score import SequentialTest
from client.matches.workers import MatchSetup, MatchWorkers
from client.networks import RANDOM_MODEL, Network, check_network
from client.stopping import StopSignals
from common.arguments import positive, seed, whole
from common.config_text import ConfigError
from common.files import LockedError, in_words, lock, sum_of
from common.go.basics import MAX_LENGTH, MIN_LENGTH
from common.go.rules import MAX_KOMI, Rules, Scoring
from common.go.start import GameStart
from common.parameters import CONFIGS, MatchConfig, SearchParameters, parse_match
from common.precision import Precision
from common.text_files import TextError

MOST_GUESSES: Final = 5
"""Of openings, that are told one by one."""
TREE_MEMORY: Final = 2e9
"""Bytes for the trees of a player in a process."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    _add_players(parser)
    _add_games(parser)
    _add_places(parser)
    add_cache(parser)


def _add_players(parser: argparse.ArgumentParser) -> None:
    who = parser.add_argument_group("players")
    who.add_argument(
        "--models",
        nargs="+",
        default=[],
        metavar="A",
        help=f"network files, {RANDOM_MODEL} for one without knowledge: one for each player; the same one again if "
        "settings differ, or one for all bots of the text (default: its nnModelFile0, nnModelFile1, …)",
    )
    who.add_argument(
        "--against-first",
        action="store_true",
        help="all others play the first player alone, as if they were secondaryBots (default: all play all)",
    )
    who.add_argument(
        "--program", metavar="COMMAND", help="another program that speaks GTP, in one word; the last player"
    )
    who.add_argument(
        "--use-fp16",
        nargs="+",
        type=precision,
        default=[Precision.FASTEST],
        metavar=PRECISIONS,
        help="false: compute in float32; true: in 16 bits even if that is slow; auto (the default): as is faster; "
        "as many words as there are networks if they differ",
    )
    who.add_argument(
        "--names", nargs="+", metavar="A", help="of all players in records (default: botName0, … of the text, or nets)"
    )


def _add_games(parser: argparse.ArgumentParser) -> None:
    how = parser.add_argument_group("how they play")
    how.add_argument(
        "--config",
        type=_text,
        metavar="FILE",
        help=f"configuration text, or what it changes in ours (gating.cfg), or the name of one of ours"
        f" ({', '.join(_shipped())}); maxVisits1 is the second player's maxVisits;"
        " numBots, botName0, nnModelFile0, includeBots, secondaryBots, extraPairs as KataGo's matches have them",
    )
    how.add_argument(
        "--override", action="append", default=[], metavar="K=V,…", help="values put over the text; may be repeated"
    )
    how.add_argument("--size", type=_size, help="board, as in 9 or 13x9 (default: as the text or the openings say)")
    how.add_argument("--rules", type=_rules, help="name or string of rules for every game (default: likewise)")
    how.add_argument("--komi", type=_komi, help="for every game (default: likewise)")
    how.add_argument("--openings", type=Path, metavar="SGF", help="a file of games or a folder of such, taken in turn")
    how.add_argument(
        "--opening-length", type=whole(0, 1000), metavar="N", help="moves taken of each of these (default: all)"
    )
    how.add_argument(
        "--policy-moves",
        type=whole(0, 1000),
        default=0,
        metavar="N",
        help="moves that all games of a round begin with, drawn from the first network's policy (default 0)",
    )
    how.add_argument("--games", type=positive, required=True, metavar="N", help="most games")
    how.add_argument(
        "--sprt",
        type=_test,
        metavar="ELO0,ELO1",
        help="stop once one of two Elo differences is accepted, with 5 %% chance of either error (two players)",
    )
    how.add_argument("--seed", type=seed, default=0, metavar="S", help="of all that is drawn (default 0)")
    how.add_argument(
        "--patience",
        type=whole(1, 10**6),
        default=600,
        metavar="S",
        help="seconds for a move of --program (default 600)",
    )


def _add_places(parser: argparse.ArgumentParser) -> None:
    where = parser.add_argument_group("where")
    where.add_argument("--output", type=Path, required=True, metavar="DIR", help="results and records; goes on there")
    add_streams(where)


def _shipped() -> list[str]:
    """Names of the texts for matches that come with Tengen."""
    return sorted(path.stem for path in CONFIGS.glob(f"{MATCH.text}*.cfg"))


def _text(name: str) -> Path:
    """The file of this name, or else the text of ours."""
    path = Path(name)
    if not path.exists() and name.removesuffix(".cfg") in _shipped():
        return CONFIGS / f"{name.removesuffix('.cfg')}.cfg"
    if not path.is_file():
        what = f"{name} is a folder" if path.is_dir() else f"there is no file {name}"
        raise argparse.ArgumentTypeError(f"{what}; texts of ours are {', '.join(_shipped())}")
    return path


def _size(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d{1,2})(?:x(\d{1,2}))?", text)
    size = (int(found[1]), int(found[2] or found[1])) if found else (0, 0)
    if not all(MIN_LENGTH <= side <= MAX_LENGTH for side in size):
        raise argparse.ArgumentTypeError(
            f"must be a size from {MIN_LENGTH} to {MAX_LENGTH}, as in 9 or 13x9, not {text!r}"
        )
    return size


def _rules(text: str) -> Rules:
    try:
        return Rules.parse(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _komi(text: str) -> float:
    if not re.fullmatch(r"-?\d{1,3}(\.[05]0*)?", text) or abs(float(text)) > MAX_KOMI:
        raise argparse.ArgumentTypeError(f"must be a whole or half number up to {MAX_KOMI:g}, not {text!r}")
    return float(text)


def _test(text: str) -> SequentialTest:
    try:
        low, high = (float(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be two numbers as in 0,20, not {text!r}") from None
    try:
        return SequentialTest(low, high)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(options: argparse.Namespace) -> int:
    """Play; returns the exit code."""
    try:
        return _run(options)
    except BrokenPipeError:  # whoever reads has enough: no fault to be told (`common.pipes`)
        raise
    except (ConfigError, DeviceError, LedgerError, OSError, PlayerError, TextError, ValueError) as error:
        sys.stderr.write(f"match: {in_words(error)}\n")
        return 1


def _run(options: argparse.Namespace) -> int:
    setup = setup_of(options)
    streams = plan_streams(options.gpus, options.cpu_streams, options.parallel_games, gpu_count(options.gpus))
    options.output.mkdir(parents=True, exist_ok=True)
    try:
        with lock(options.output / "lock"):
            return _play(options, setup, streams)
    except LockedError as error:
        raise LedgerError(f"{error}: the match is being played; name another --output for a second one") from None


def _play(options: argparse.Namespace, setup: MatchSetup, streams: list[Stream]) -> int:
    """Play what is left of the match in the folder, which nobody else writes to meanwhile."""
    ledger = Ledger(options.output, _description(options, setup))
    progress = Progress.of(setup, options.sprt)
    for result in ledger.results:
        progress.add(result)
    progress.report_what_is_there(options.output)
    played = {result.number for result in ledger.results}
    numbers = _numbers(played, options.games)

    def take(result: MatchResult) -> None:
        ledger.add(result)
        progress.add(result)
        progress.report_now_and_then()

    if not progress.is_decided and len(played) < options.games:
        with StopSignals() as signals:
            workers = MatchWorkers(streams, setup, numbers)
            workers.run(
                take,
                may_begin=lambda: not (signals.finish.is_set() or progress.is_decided),
                is_stopped=signals.now.is_set,
            )
            _say_why(signals, progress, options.games)
    progress.report()
    return 0


def _say_why(signals: StopSignals, progress: Progress, games: int) -> None:
    """That a match was stopped, and how it goes on."""
    if signals.finish.is_set() and progress.games < games and not progress.is_decided:
        say(f"stopped after {progress.games} of {games} games; the same command goes on from there")


def setup_of(options: argparse.Namespace) -> MatchSetup:
    """What a process needs to know, checked.

    Raises:
        ConfigError, OpeningError, OSError, TextError, ValueError: what cannot be played, and why.
    """
    entrants = entrants_of(options)
    with explained(options.config or Path(f"{MATCH.text}.cfg")):
        config = parse_match(entrants.text, num_bots=entrants.count)
        _check_beginnings(config, options)
    networks = entrants.networks
    if len(options.use_fp16) > len(networks):
        raise ValueError("--use-fp16 takes one word for each network of --models")
    given_precisions = [*options.use_fp16, *options.use_fp16[-1:] * (len(networks) - len(options.use_fp16))]
    _check_differences(list(zip(networks, config.bots, given_precisions, strict=False)))
    given = Given(options.size, options.rules, options.komi)
    records = _records(options, given)
    openings = Openings(config, given, records, options.seed)
    if options.program:
        _check_rules(openings, config)
    for network in set(networks):
        check_network(network)
    return MatchSetup(
        networks=networks,
        program=options.program,
        names=entrants.names,
        config=config,
        schedule=entrants.schedule,
        openings=openings,
        opening_moves=options.policy_moves,
        seed=options.seed,
        precisions=tuple(given_precisions),
        patience_s=float(options.patience),
        memory=TREE_MEMORY * min(1.0, 2 / entrants.count),
        cache=cache_settings(options),
    )


def _records(options: argparse.Namespace, given: Given) -> tuple[GameStart, ...]:
    """The beginnings in ``--openings``, if there are any; what had to be guessed of them is said."""
    if options.openings is None:
        return ()
    found = read_openings(options.openings, options.opening_length, given)
    for guess in found.guesses[:MOST_GUESSES]:
        say(f"{options.openings}, {guess}")
    if len(found.guesses) > MOST_GUESSES:
        say(f"{options.openings}: and {len(found.guesses) - MOST_GUESSES} more of the kind")
    return found.starts


def _check_differences(players: Sequence[tuple[Network, SearchParameters, Precision]]) -> None:
    """Refuse two networks that are one, computed alike and set alike."""
    for number, player in enumerate(players):
        if player in players[:number]:
            who = "both players" if len(players) == 2 else f"players {players.index(player)} and {number}"
            raise ValueError(f"{who} are alike: give two networks, or settings that differ, as in maxVisits1 = 200")


def _check_beginnings(config: MatchConfig, options: argparse.Namespace) -> None:
    """Refuse what a text says of beginnings, and of the searchers' komi, that games of this command do not have.

    What an option says instead is none of it.
    """
    init, match = config.init, config.match
    has_komi = options.komi is not None or options.openings is not None
    for key, is_wanted, instead in (
        ("komiAuto", init.komi_auto and not has_komi, "give komiMean, or --komi"),
        ("handicapProb", init.handicap_prob > 0 and options.openings is None, "give records with stones by --openings"),
        ("initGamesWithPolicy", match.init_games_with_policy and not options.policy_moves, "give --policy-moves"),
        ("dynamicSelfKomiBonusMin, dynamicSelfKomiBonusMax", match.has_dynamic_self_komi, "leave them out"),
    ):
        if is_wanted:
            raise ConfigError(f"{key}: not in matches of this command; {instead}")


def _check_rules(openings: Openings, config: MatchConfig) -> None:
    """A program ends a game by two passes, which territory scoring does not."""
    scorings = {start.rules.scoring for start in openings.records}
    if not openings.records:
        scorings = {openings.given.rules.scoring} if openings.given.rules else set(config.init.scoring_rules)
    if Scoring.TERRITORY in scorings:
        raise ValueError("games against a program are played under area scoring: give --rules, as in tromp-taylor")


def _numbers(played: set[int], games: int) -> Iterator[int]:
    """Of the games that are left, lowest first."""
    return (number for number in range(games) if number not in played)


def _description(options: argparse.Namespace, setup: MatchSetup) -> dict[str, Any]:
    """What makes a match this one and no other; its number of games and where it is played do not."""
    is_plain = setup.schedule == TWO_PLAYERS
    return {
        "players": list(setup.names),
        "networks": [RANDOM_MODEL if each.path is None else sum_of(each.path)[0] for each in setup.networks],
        "program": setup.program,
        "pairs": None if is_plain else [list(meeting) for meeting in setup.schedule.meetings],
        "config": setup.config.to_text().splitlines(),
        "size": options.size,
        "rules": None if options.rules is None else options.rules.to_json(komi=False),
        "komi": options.komi,
        "openings": hashlib.sha256(repr(setup.openings.records).encode()).hexdigest() if options.openings else None,
        "policy_moves": setup.opening_moves,
        "seed": setup.seed,
        "precision": " ".join(setup.precisions if len(set(setup.precisions)) > 1 else setup.precisions[:1]),
        "cache_by": options.cache_by,
    }
