"""The kinds of games that can be played, and all that differs between them: one table.

Whoever reads texts needs none of what plays, which is slow to import: it is imported when the first games are made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from common.parameters import MatchConfig, SelfplayConfig, TextKind, parse_match, parse_selfplay
from common.wire import StartPosition

if TYPE_CHECKING:
    from client.games.orders import FinishedGame, GameOrder
    from client.games.playing import Games
    from common.audit_report import Findings
    from nets.evaluation.batch import Evaluator

_Config = TypeVar("_Config")


@dataclass(frozen=True)
class GameKind(Generic[_Config]):
    """A kind of games; all functions are those of a module, so that orders can be sent between processes."""

    name: str
    text: TextKind
    """The configuration text that comes with the project for it."""
    seats: int
    """1: Black's network plays both sides; 2: Black's and White's play."""
    gives_rows: bool
    begins_anywhere: bool
    """Games may begin at positions that a job gives, and go on with finished ones."""
    upload: str
    """Which of the two kinds of games the wire knows it is: ``training`` or ``rating``."""
    parse: Callable[[str, int], _Config]
    """A configuration from its text, for tensors of an edge; `common.config_text.ConfigError`: it cannot be played."""
    max_visits: Callable[[_Config, GameOrder], int]
    """Of the largest search of a game."""
    make_games: Callable[[_Config, Sequence[Evaluator], int], Games]
    """Room for so many games at once, with the evaluators of the networks that play in them."""
    switches_nets: Callable[[_Config], bool]
    """Whether a running game may go on with a newer network (`client.games.net_changes`)."""
    inner_visits: Callable[[_Config], int]
    """Positions inside a turn's tree with so many visits become rows (`client.games.inside_trees`); 0: none do."""
    audit: Callable[[FinishedGame], Findings]
    """What the server's audit will find."""


def _parse_selfplay(text: str, length: int) -> SelfplayConfig:
    return parse_selfplay(text, data_board_len=length)


def _selfplay_visits(config: SelfplayConfig, order: GameOrder) -> int:
    from client.games.asymmetry import most_share
    from client.games.selfplay_turns import HINT_VISITS

    hinted = isinstance(order.start, StartPosition) and order.start.hint is not None
    turn, options = config.search.max_visits * (HINT_VISITS if hinted else 1), config.selfplay
    beside = [options.compensate_komi_visits]
    if options.estimate_lead_prob > 0:
        beside.append(options.estimate_lead_visits)
    return max(math.ceil(turn * most_share(options)), *beside)


def _selfplay_games(config: SelfplayConfig, evaluators: Sequence[Evaluator], capacity: int) -> Games:
    from client.games.selfplay_game import SelfplayGames

    net = evaluators[0]
    return SelfplayGames(config, capacity, net.length, pass_alive_suicide=net.pass_alive_suicide)


def _selfplay_switches_nets(config: SelfplayConfig) -> bool:
    return config.selfplay.switch_nets_mid_game


def _selfplay_inner_visits(config: SelfplayConfig) -> int:
    options = config.selfplay
    return (options.record_tree_threshold or 0) if options.record_tree_target_weight > 0 else 0


def _audit_selfplay(game: FinishedGame) -> Findings:
    from common.audit import audit_training_game

    assert game.rows is not None
    config = parse_selfplay(game.order.config)
    return audit_training_game(game.sgf, game.rows, game.facts, config, positions=game.order.positions)


def _parse_match(text: str, length: int) -> MatchConfig:
    return parse_match(text, data_board_len=length)


def _match_visits(config: MatchConfig, order: GameOrder) -> int:
    init, match, turn = config.init, config.match, max(bot.max_visits for bot in config.bots)
    is_made_fair = (
        init.komi_auto
        or (init.handicap_prob > 0 and init.handicap_compensate_komi_prob > 0)
        or (match.init_games_with_policy and match.compensate_after_policy_init_prob > 0)
    )
    return max(turn, match.compensate_komi_visits) if is_made_fair else turn


def _match_games(config: MatchConfig, evaluators: Sequence[Evaluator], capacity: int) -> Games:
    from client.games.match_game import MatchGames

    return MatchGames(config, capacity, evaluators[0].length)


def _match_switches_nets(config: MatchConfig) -> bool:
    return False


def _match_inner_visits(config: MatchConfig) -> int:
    return 0


def _audit_match(game: FinishedGame) -> Findings:
    from common.audit import audit_rating_game

    return audit_rating_game(game.sgf, game.facts, parse_match(game.order.config))


SELFPLAY: Final = GameKind(
    name="selfplay",
    text="selfplay",
    seats=1,
    gives_rows=True,
    begins_anywhere=True,
    upload="training",
    parse=_parse_selfplay,
    max_visits=_selfplay_visits,
    make_games=_selfplay_games,
    switches_nets=_selfplay_switches_nets,
    inner_visits=_selfplay_inner_visits,
    audit=_audit_selfplay,
)
MATCH: Final = GameKind(
    name="match",
    text="gating",
    seats=2,
    gives_rows=False,
    begins_anywhere=False,
    upload="rating",
    parse=_parse_match,
    max_visits=_match_visits,
    make_games=_match_games,
    switches_nets=_match_switches_nets,
    inner_visits=_match_inner_visits,
    audit=_audit_match,
)
KINDS: Final[tuple[GameKind[Any], ...]] = (SELFPLAY, MATCH)
