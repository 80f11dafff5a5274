"""Could a game have come out of the text of its job? Start, searches, length, resignation and weights of rows.

Knows what a configuration text permits, whoever plays it: KataGo's client has kinds of games that ours lacks, so each
check asks for what no reading of the text allows, and leaves a margin where chance or printing has a say. Knows nothing
of the board's rules (`common.replay`) nor of what the rows' targets say (`common.audit_rows`).
Specification: selfplay.md 2-9, 12; training-data.md 5.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from common.asymmetry import playout_share
from common.audit_beginning import CLEANUP_TRAINING, FORKS
from common.audit_report import Findings, Reason
from common.go.basics import BLACK, COLUMN_LETTERS, MAIN_PHASE, WHITE
from common.go.handicap import most_extra_stones
from common.go.rules import KOMI_MARGIN, HandicapBonus, Scoring, komi_text
from common.parameter_classes import FOREVER, GameInitParameters, MatchParameters, SelfplayParameters
from common.parameters import MatchConfig, SelfplayConfig
from common.rows import GlobalTarget, Rows
from common.sgf_record import GameRecord, MoveValues
from common.wire import StartPosition

Config = SelfplayConfig | MatchConfig
"""What a text says, for either kind of job."""

_PLAIN: Final = ("normal", "handicap", "asym")
"""Kinds of games that begin on the empty board or with handicap stones; the others begin where a game had led."""
_POSITIONS: Final = ("sgfpos", "hintpos")
"""Kinds that begin at a start position, which a job gives beside its text."""
_HINT_VISITS: Final = 4
"""The first search of a hint position has so many times the visits of others."""
_KOMI_BOUND: Final = 3.0  # standard deviations; KataGo draws anew beyond
_LONGEST_OPENING: Final = 30.0
"""An opening is at most so many times as long as its mean, but for one game in 10^13."""
_MOST_DEVIATIONS: Final = 6.0
_DEVIATION_MARGIN: Final = 6.0
"""A count of chance stays within so many standard deviations and so much more, but for one game in 10^9."""
_PRINTED_WIN_LOSS: Final = 0.0101  # two printed probabilities, each to 2 decimals
_PRINTED_WEIGHT: Final = 0.0051
_SIDE_CHAIN: Final = 4.0 / 3.0  # side positions per one that is queued: each goes on with probability 1/4
_DRAW_ROUNDING: Final = 1e-5
_LONGEST_GAME_S: Final = 4 * 24 * 3600.0
"""KataGo's client discards games that took longer (contribute-protocol.md 8)."""
MOST_INNER_DEPTH: Final = 5
"""Positions inside the tree of a turn lie so many moves from it at most (training-data.md 5.8)."""


def _runner(config: Config) -> SelfplayParameters | MatchParameters:
    return config.selfplay if isinstance(config, SelfplayConfig) else config.match


def move_limit(config: Config) -> int:
    """After so many searched moves a game is stopped."""
    return _runner(config).max_moves_per_game


def searched_moves(record: GameRecord) -> int:
    """Moves of a record that were searched; the one upon which a player resigned is not part of it."""
    assert record.info is not None
    return len(record.moves) - record.info.start_turn


def check_text(
    record: GameRecord,
    draw_white_wins: float | None,
    config: Config,
    findings: Findings,
    positions: Sequence[StartPosition] = (),
) -> None:
    """Everything of a record that its job's text determines.

    Args:
        record: of the game, with its root comment.
        draw_white_wins: what the form says a draw is worth, if it does.
        config: what the text says.
        findings: where disagreements go.
        positions: where games of the job may begin besides.
    """
    selfplay = config.selfplay if isinstance(config, SelfplayConfig) else None
    position = position_of_record(record, positions)
    _check_board(record, config.init, findings, positions)
    _check_game_type(record, config.init, selfplay, findings, may_have_positions=bool(positions))
    _check_komi(record, config, findings)
    _check_start(record, config, findings)
    _check_origin(record, config, position, findings)
    _check_draws(draw_white_wins, config, findings)
    _check_visits(record, config, findings)
    _check_seconds(record, config, findings)
    changes = record.info is not None and record.info.new_networks
    findings.expect(
        not changes or (selfplay is not None and selfplay.switch_nets_mid_game),
        Reason.NET_CHANGES,
        "the network changed in mid-game, which the job's text does not allow",
    )
    searched, limit = searched_moves(record) + int(record.resignation is not None), move_limit(config)
    findings.expect(
        searched <= limit, Reason.JOB_LENGTH, f"{searched} searched moves; the job's text stops a game after {limit}"
    )
    if record.result is not None and record.result.endswith("+R") and isinstance(config, MatchConfig):
        _check_resignation(record, config, findings)


# ----------------------------------------------------------------------------------------------------------- the start


def board_sizes(init: GameInitParameters) -> set[tuple[int, int]]:
    """Sizes (x, y) that can be drawn."""
    weighted = list(zip(init.b_sizes_xy or init.b_sizes, init.b_size_rel_probs, strict=True))
    drawn = [size for size, weight in weighted if weight > 0]
    if init.b_sizes_xy:
        return {size for size in drawn if isinstance(size, tuple)}
    edges = [size for size in drawn if isinstance(size, int)]
    return {(x, y) for x in edges for y in edges if x == y or init.allow_rectangle_prob > 0}


def position_of_record(record: GameRecord, positions: Sequence[StartPosition]) -> StartPosition | None:
    """The position at which a game of a job began, if it can be one of these: the stones are a position's own."""
    assert record.info is not None
    if record.info.game_type in _PLAIN or record.info.game_type == CLEANUP_TRAINING:
        return None
    rows = [["."] * record.x_size for _ in range(record.y_size)]
    for colour, x, y in record.stones:
        rows[y][x] = "X" if colour == BLACK else "O"
    board = "/".join("".join(row) for row in rows)
    told = board, "B" if record.first_player == BLACK else "W"
    turns = {record.info.first_turn}
    if record.info.game_type in FORKS and record.info.first_turn == 0:  # KataGo's forks count from their own start
        turns |= {position.initial_turn_number for position in positions}
    for position in positions:
        if (position.board, position.next_player) == told and position.initial_turn_number in turns:
            return position
    return None


def _check_board(
    record: GameRecord, init: GameInitParameters, findings: Findings, positions: Sequence[StartPosition]
) -> None:
    assert record.info is not None
    size, rules = (record.x_size, record.y_size), record.rules
    sizes = board_sizes(init)
    if record.info.game_type not in _PLAIN:
        sizes |= {(position.x_size, position.y_size) for position in positions}
    findings.expect(
        size in sizes,
        Reason.JOB_BOARD_SIZE,
        f"the job's text has no boards of {size[0]}x{size[1]}",
    )
    without_button = rules.scoring == Scoring.TERRITORY or False in init.has_buttons
    holds = (
        rules.ko in init.ko_rules
        and rules.scoring in init.scoring_rules
        and rules.tax in init.tax_rules
        and rules.suicide in init.multi_stone_suicide_legals
        and (True in init.has_buttons if rules.has_button else without_button)
        and rules.white_handicap_bonus == HandicapBonus.ZERO
        and not rules.friendly_pass_ok
    )
    findings.expect(holds, Reason.JOB_RULES, f"the job's text does not draw the rules {rules.to_short(komi=False)}")


def _has_handicap(init: GameInitParameters) -> bool:
    return init.handicap_prob > 0 or init.num_extra_black_fixed is not None


def _has_asymmetry(init: GameInitParameters, selfplay: SelfplayParameters | None) -> bool:
    if selfplay is None:
        return False
    with_handicap = _has_handicap(init) and selfplay.handicap_asymmetric_playout_prob > 0
    return with_handicap or selfplay.normal_asymmetric_playout_prob > 0


def game_types(init: GameInitParameters, selfplay: SelfplayParameters | None) -> set[str]:
    """Kinds of games (``gtype``) that a text can lead to; ``selfplay`` is None for matches."""
    found = {"normal"}
    if _has_handicap(init):
        found.add("handicap")
    if selfplay is None:
        return found
    if _has_asymmetry(init, selfplay):
        found.add("asym")
    if Scoring.TERRITORY in init.scoring_rules:
        found.add("cleanuptraining")
    if max(selfplay.early_fork_game_prob, selfplay.fork_game_prob, selfplay.seki_fork_hack_prob) > 0:
        found.add("fork")
    return found


def _check_game_type(
    record: GameRecord,
    init: GameInitParameters,
    selfplay: SelfplayParameters | None,
    findings: Findings,
    *,
    may_have_positions: bool,
) -> None:
    assert record.info is not None
    told, doublings = record.info.game_type, abs(record.info.white_doublings or 0.0)
    possible = game_types(init, selfplay)
    if may_have_positions:
        possible |= {*_POSITIONS, "hintfork"}
    findings.expect(told in possible, Reason.JOB_GAME_TYPE, f"the job's text leads to no games of type {told}")
    most = 0.0
    if selfplay is not None and _has_asymmetry(init, selfplay):
        most = math.log2(selfplay.max_asymmetric_ratio)
    findings.expect(
        doublings <= most + _DRAW_ROUNDING,
        Reason.JOB_DOUBLINGS,
        f"{doublings:g} playout doublings; the job's text gives at most {most:g}",
    )


def _check_komi(record: GameRecord, config: Config, findings: Findings) -> None:
    assert record.info is not None
    init = config.init
    area = record.x_size * record.y_size
    most = float(area + KOMI_MARGIN)
    low, high = -most, most
    if _has_plain_komi(record, config):
        assert init.komi_mean is not None
        spreads = [init.komi_stdev]
        spreads += [init.komi_big_stdev] if init.komi_big_stdev_prob > 0 else []
        spreads += [init.komi_bigger_stdev] if init.komi_bigger_stdev_prob > 0 else []
        # On the way, a komi is rounded to a half point beside it.
        reach = max(spreads) * math.sqrt(area) / 19.0 * _KOMI_BOUND
        reach += 0.5 if reach > 0 else 0.0
        low, high = max(low, init.komi_mean - reach), min(high, init.komi_mean + reach)
        low, high = min(low, most), max(high, -most)
        if record.stones and _has_handicap(init) and init.handicap_komi_interp_zero_prob > 0:  # a share of it may stay
            low, high = min(low, 0.0), max(high, 0.0)
    avoids_integers = 0.5 if init.komi_allow_integer_prob < 1 else 0.0
    komi = record.rules.komi
    findings.expect(
        low - avoids_integers <= komi <= high + avoids_integers
        and (init.komi_allow_integer_prob > 0 or not komi.is_integer()),
        Reason.JOB_KOMI,
        f"the job's text does not draw the komi {komi_text(komi)} on this board",
    )


def _has_plain_komi(record: GameRecord, config: Config) -> bool:
    """Whether komi is its mean with noise, or a share of that.

    Else a search may have made it fair, or it came with the position.
    """
    assert record.info is not None
    init, runner = config.init, _runner(config)
    if init.komi_mean is None or record.info.game_type not in _PLAIN:
        return False
    compensated = init.handicap_compensate_komi_prob if _has_handicap(init) else 0.0
    if runner.init_games_with_policy:
        compensated = max(compensated, runner.compensate_after_policy_init_prob)
    if isinstance(runner, MatchParameters):
        return compensated == 0
    if _has_asymmetry(init, runner):
        compensated = max(compensated, runner.min_asymmetric_compensate_komi_prob)
    return compensated == 0 and not runner.fancy_komi_varying


def _most_handicap(record: GameRecord, init: GameInitParameters) -> int:
    """Extra black stones that may stand on this board."""
    if not _has_handicap(init):
        return 0
    return init.num_extra_black_fixed or most_extra_stones(record.x_size, record.y_size)


def _check_start(record: GameRecord, config: Config, findings: Findings) -> None:
    """Stones, player, phase and opening of a game that began on the empty board, or with handicap stones."""
    info = record.info
    assert info is not None
    if info.game_type not in _PLAIN:
        return
    white = sum(colour == WHITE for colour, _, _ in record.stones)
    extra, most = len(record.stones) - white, _most_handicap(record, config.init)
    findings.expect(
        white == 0 and extra <= most and (extra == 0 or info.game_type != "normal"),
        Reason.JOB_START,
        f"{extra} black and {white} white stones are set up; a {info.game_type} game of the job has "
        f"{'none' if info.game_type == 'normal' or most == 0 else f'at most {most} black ones'}",
    )
    findings.expect(
        (record.first_player == BLACK or not record.moves)
        and info.began_in_phase == MAIN_PHASE
        and info.first_turn == 0,
        Reason.JOB_START,
        f"a {info.game_type} game begins with Black, on turn 0, in the main phase",
    )
    longest = longest_opening(record.x_size * record.y_size, config)
    findings.expect(
        info.start_turn <= longest,
        Reason.JOB_START,
        f"{info.start_turn} moves stand before the first search; the job's text plays at most {longest}",
    )


def _check_origin(record: GameRecord, config: Config, position: StartPosition | None, findings: Findings) -> None:
    """Stones, turn and moves of a game that began where another had led, or where its job says."""
    info = record.info
    assert info is not None
    kind = info.game_type
    if kind in _POSITIONS:
        if position is None:
            findings.add(Reason.JOB_START, f"a {kind} game begins at none of the job's positions")
            return
        told = tuple((move.colour, move.at) for move in record.moves[: info.start_turn])
        given = _moves_of(position)
        shared = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(told, given, strict=False)))
        area = record.x_size * record.y_size
        longest = 0 if kind == "hintpos" else longest_opening(area, config, is_position=True)
        findings.expect(
            len(told) - shared <= longest and (kind == "sgfpos" or shared == len(given)),
            Reason.JOB_START,
            f"the moves before the first search are not those of the job's position and at most {longest} more",
        )
    elif kind in FORKS and position is None:
        white = sum(colour == WHITE for colour, _, _ in record.stones)
        is_plain = white == 0 and len(record.stones) <= _most_handicap(record, config.init)
        may_follow_cleanup = _may_follow_cleanup(config) and kind == "fork"
        findings.expect(
            info.first_turn == 0
            and ((is_plain and (record.first_player == BLACK or not record.moves)) or may_follow_cleanup)
            and (info.began_in_phase == MAIN_PHASE or may_follow_cleanup),
            Reason.JOB_START,
            f"no game of the job can have begun as this {kind} did",
        )


def _may_follow_cleanup(config: Config) -> bool:
    """Whether a fork can go on with a game that began in a clean-up phase, with any stones."""
    return (
        isinstance(config, SelfplayConfig)
        and config.selfplay.seki_fork_hack_prob > 0
        and Scoring.TERRITORY in config.init.scoring_rules
    )


def _moves_of(position: StartPosition) -> tuple[tuple[int, tuple[int, int] | None], ...]:
    """Colours and coordinates (None: a pass) of a position's moves."""
    moves: list[tuple[int, tuple[int, int] | None]] = []
    for colour, vertex in zip(position.move_colours, position.move_vertices, strict=True):
        text = vertex.upper()
        at = None
        if text != "PASS":
            at = COLUMN_LETTERS.index(text[0]), position.y_size - int(text[1:])
        moves.append((BLACK if colour == "B" else WHITE, at))
    return tuple(moves)


def longest_opening(area: int, config: Config, *, is_position: bool = False) -> int:
    """The most moves that are drawn from the raw policy before the first search, on a board of ``area`` points.

    ``is_position``: after a start position.
    """
    runner = _runner(config)
    if not runner.init_games_with_policy:
        return 0
    share = runner.start_poses_policy_init_area_prop if is_position else runner.policy_init_area_prop
    return math.floor(_LONGEST_OPENING / min(1.0, runner.policy_init_gamma_shape) * area * share)


def _check_draws(told: float | None, config: Config, findings: Findings) -> None:
    if told is None or isinstance(config, MatchConfig):
        return
    base, radius = config.search.draw_equivalent_wins_for_white, config.init.draw_rand_radius
    findings.expect(
        abs(told - base) <= radius + _DRAW_ROUNDING,
        Reason.JOB_DRAW,
        f"a draw is worth {told:g} wins to White; the job's text says {base:g}, give or take {radius:g}",
    )


# -------------------------------------------------------------------------------------------------------- the searches


def visit_range(config: Config) -> tuple[int, float]:
    """Fewest and most visits of a search, or of the larger share of it, where both sides are even.

    1 where searches may end early, infinity where shared subtrees may bring more.
    """
    searches = (config.search,) if isinstance(config, SelfplayConfig) else config.bots
    limits = [search.max_visits for search in searches]
    if isinstance(config, SelfplayConfig):
        options = config.selfplay
        limits += [options.cheap_search_visits] if options.cheap_search_prob > 0 else []
        limits += [options.reduced_visits_min] if options.reduce_visits else []
    least, most = min(limits), float(max(limits))
    for search in searches:
        ends_early = (
            search.max_playouts < search.max_visits
            or search.max_time < FOREVER
            or search.futile_visits_threshold > 0
            or min(search.search_factor_after_one_pass, search.search_factor_after_two_pass) < 1
        )
        least = 1 if ends_early else least
        most = math.inf if search.use_graph_search else most
    return least, most


def _searches(record: GameRecord) -> Iterator[tuple[int, MoveValues]]:
    """Turn and values of each searched move, that of a resignation last."""
    assert record.info is not None
    for turn, move in enumerate(record.moves[record.info.start_turn :], start=record.info.start_turn):
        if move.values is not None:
            yield turn, move.values
    if record.resignation is not None:
        yield len(record.moves), record.resignation


def _check_seconds(record: GameRecord, config: Config, findings: Findings) -> None:
    """Times of the root comment: only where games go by a clock, and of sides that have searched.

    How much a search may take is not asked: a slow machine has its first playouts whatever the clock says.
    """
    assert record.info is not None
    if record.info.seconds is None:
        return
    searches = config.bots if isinstance(config, MatchConfig) else ()
    findings.expect(
        any(search.max_time < FOREVER for search in searches),
        Reason.JOB_TIME,
        "the record tells times, and the job's games do not go by the clock",
    )
    moves = record.moves[record.info.start_turn :]
    searched = {move.colour for move in moves}
    if record.resignation is not None:
        searched.add(BLACK if (moves[-1].colour if moves else WHITE) == WHITE else WHITE)
    for colour, name, seconds in zip((BLACK, WHITE), ("Black", "White"), record.info.seconds, strict=True):
        findings.expect(
            0.0 <= seconds <= _LONGEST_GAME_S and (seconds == 0.0 or colour in searched),
            Reason.JOB_TIME,
            f"{name} is said to have thought for {seconds:g} s",
        )


def _check_visits(record: GameRecord, config: Config, findings: Findings) -> None:
    info = record.info
    assert info is not None
    searches = (config.search,) if isinstance(config, SelfplayConfig) else config.bots
    threads = max(search.num_search_threads for search in searches)
    least, most = visit_range(config)
    colours = [move.colour for move in record.moves]
    may_repeat = isinstance(config, SelfplayConfig) and config.selfplay.use_reanalyze
    for turn, values in _searches(record):
        if values.reanalysis_visits is not None and not may_repeat:
            text = f"move {turn + 1} was searched again, which the job's text does not ask for"
            findings.add(Reason.JOB_VISITS, text)
            return
        colour = colours[turn] if turn < len(colours) else 0  # 0: the one upon which a player resigned
        share = playout_share(colour, info.white_doublings) if colour and info.white_doublings else 1.0
        hinted = _HINT_VISITS if info.game_type == "hintpos" and turn == info.start_turn else 1
        fewest = max(1, math.floor(least * share))
        # Each thread may finish the playout that it began.
        largest = math.ceil(most * share) * hinted + threads if most < math.inf else most
        for visits in (values.visits, values.reanalysis_visits):
            if visits is not None and not fewest <= visits <= largest:
                findings.add(
                    Reason.JOB_VISITS,
                    f"move {turn + 1} was searched with {visits} visits; the job's text has {fewest} to {largest:g}",
                )
                return


def _check_resignation(record: GameRecord, config: MatchConfig, findings: Findings) -> None:
    """A player resigns after enough moves, upon its own move, when all of the last searches agree (selfplay.md 9)."""
    match = config.match
    loser = WHITE if record.result == "B+R" else BLACK
    last_mover = record.moves[-1].colour if record.moves else WHITE
    if record.resignation is not None:
        last_mover = BLACK if last_mover == WHITE else WHITE
    values = [search for _, search in _searches(record)]
    first = 2 + record.x_size * record.y_size // 5
    recent = [search.win_loss for search in values[-match.resign_consec_turns :]]
    if not match.allow_resignation:
        findings.add(Reason.JOB_RESIGNATION, "the job's text does not let players resign")
    elif len(values) < max(first, match.resign_consec_turns):
        needed = max(first, match.resign_consec_turns)
        findings.add(
            Reason.JOB_RESIGNATION, f"resigned after {len(values)} searched moves; at least {needed} come first"
        )
    elif last_mover != loser:
        findings.add(Reason.JOB_RESIGNATION, "who resigns does so upon the own move")
    elif not all(
        (value if loser == WHITE else -value) < match.resign_threshold + _PRINTED_WIN_LOSS for value in recent
    ):
        findings.add(
            Reason.JOB_RESIGNATION,
            f"the last {match.resign_consec_turns} searches do not all say that the game is lost beyond "
            f"{match.resign_threshold:g}",
        )


# ------------------------------------------------------------------------------------------------------------ the rows


def _most_of_chance(number: float, probability: float) -> float:
    """What a count of ``number`` tries stays below."""
    mean = number * probability
    return min(number, mean + _MOST_DEVIATIONS * math.sqrt(mean * (1 - probability)) + _DEVIATION_MARGIN)


def most_weight(turns: int, config: SelfplayConfig) -> tuple[float, float]:
    """Bounds of the weights of ``turns`` searched turns before they become copies: of their sum, and of each one."""
    options = config.selfplay
    again = options.reanalyze_prop or 0.0 if options.use_reanalyze else 0.0
    full = _most_of_chance(turns, 1.0 - options.cheap_search_prob * (1.0 - again))
    together = full + (turns - full) * options.cheap_search_target_weight
    shared = options.policy_surprise_data_weight + options.value_surprise_data_weight
    one = max(1.0, 1.0 - shared + shared * together)
    return options.scale_data_weight * together, options.scale_data_weight * one


def most_side_rows(turns: int, config: SelfplayConfig) -> int:
    """The most rows of side positions beside ``turns`` searched turns."""
    options = config.selfplay
    if options.side_position_prob == 0:
        return 0
    queued = _most_of_chance(turns, options.side_position_prob)
    positions = _SIDE_CHAIN * queued + _MOST_DEVIATIONS * math.sqrt(queued) + _DEVIATION_MARGIN
    return math.ceil(positions * max(1.0, options.scale_data_weight))


def most_inner_rows(record: GameRecord, config: SelfplayConfig) -> int:
    """The most rows of positions inside the trees of a record's turns.

    At each depth, the visits of a turn are divided among so many positions as have enough of them.
    """
    options = config.selfplay
    if options.record_tree_target_weight == 0.0:
        return 0
    assert options.record_tree_threshold is not None
    positions = sum(
        MOST_INNER_DEPTH * values.visits // options.record_tree_threshold for _, values in _searches(record)
    )
    return positions * math.ceil(options.record_tree_target_weight * options.scale_data_weight)


def _row_weights(record: GameRecord, positions: Sequence[StartPosition]) -> list[float]:
    """What the rows of a game may weigh: as the position does at which it began, or a game that it goes on with."""
    assert record.info is not None
    position = position_of_record(record, positions)
    if position is not None:
        return [position.training_weight]
    if record.info.game_type in _PLAIN:
        return [1.0]
    return sorted({1.0, *(each.training_weight for each in positions)})  # the way back ends at a clean-up game


def check_row_weights(
    record: GameRecord,
    rows: Rows,
    side_rows: int,
    config: SelfplayConfig,
    findings: Findings,
    positions: Sequence[StartPosition] = (),
) -> None:
    """How often turns became rows, how many side rows there are, what rows weigh, and whether leads were estimated."""
    assert record.info is not None
    turns = searched_moves(record)
    weights = np.array([values.weight or 0.0 for _, values in _searches(record)])
    together, one = most_weight(turns, config)
    findings.expect(
        bool(weights.sum() <= together + _PRINTED_WEIGHT * turns) and bool((weights <= one + _PRINTED_WEIGHT).all()),
        Reason.JOB_WEIGHTS,
        f"the weights of {turns} turns sum to {weights.sum():.2f}, the largest is {weights.max(initial=0.0):.2f}; "
        f"the job's text leads to at most {together:.2f} and {one:.2f}",
    )
    most = most_side_rows(turns, config) + most_inner_rows(record, config)
    findings.expect(
        side_rows <= most,
        Reason.SIDE_ROWS,
        f"{side_rows} rows of side positions beside {turns} turns; the job's text leads to at most {most}",
    )
    weights_of_rows = _row_weights(record, positions)
    findings.expect_rows(
        np.isin(rows.global_targets[:, GlobalTarget.ROW_WEIGHT], np.array(weights_of_rows, np.float32)),
        Reason.JOB_WEIGHTS,
        f"column 25 (ROW_WEIGHT) is not {' or '.join(f'{weight:g}' for weight in weights_of_rows)}",
    )
    most_extra = _most_handicap(record, config.init)
    findings.expect_rows(
        rows.global_targets[:, GlobalTarget.EXTRA_BLACK_MOVES] <= most_extra,
        Reason.JOB_START,
        f"column 54 (EXTRA_BLACK_MOVES) is more than the {most_extra} that the job's text may give",
    )
    if config.selfplay.estimate_lead_prob == 0:
        findings.expect_rows(
            rows.global_targets[:, GlobalTarget.LEAD_WEIGHT] == 0,
            Reason.LEAD,
            "a lead was estimated, which the job's text does not ask for",
        )
