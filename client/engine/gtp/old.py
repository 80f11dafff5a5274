"""The commands of the GTP engine over `common.go.game.Game`: one method a command.

Knows the position, the rules and what each command answers; lines and numbers of commands are in
`client.engine.gtp_protocol`, searches in `client.engine.gtp_search`. Specification, with every text: engine.md 2, 3, 6,
7.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Annotated, Final

from client.engine.gtp_protocol import Command, GtpError
from client.engine.gtp_search import EngineSearch
from client.engine.gtp_text import board_text, raw_outputs_text, rules_json, score_text
from client.games.decided import should_resign
from client.networks import RANDOM_MODEL
from common.decimals import real_number
from common.go.game import Game
from common.go.handicap import fixed_points
from common.go.points import BLACK, MAX_LENGTH, MIN_LENGTH, PASS, WHITE, from_vertex, point_at, to_vertex
from common.go.result import DRAW, VOID
from common.go.rules import MAX_KOMI, Rules, Scoring, komi_text
from common.go.start import GameStart, Stone
from common.parameter_kinds import BOOLEAN, TEXT, Key, choice, integer, number
from common.precision import Precision
from common.wire import CLIENT_VERSION

_SHOWN: Final = 200
"""Characters of an argument that a refusal repeats."""
_COLOURS: Final = {"b": BLACK, "black": BLACK, "w": WHITE, "white": WHITE}


@dataclass(frozen=True, slots=True, kw_only=True)
class GtpSettings:
    """Settings of the engine beside its search (engine.md 3, 8)."""

    name: Annotated[str, Key("gtpName", TEXT)] = "Tengen"
    prevent_cleanup_phase: Annotated[bool, Key("preventCleanupPhase", BOOLEAN)] = True
    assume_black_moves_are_handicap: Annotated[bool, Key("assumeMultipleStartingBlackMovesAreHandicap", BOOLEAN)] = True
    allow_resignation: Annotated[bool, Key("allowResignation", BOOLEAN)] = True
    resign_threshold: Annotated[float, Key("resignThreshold", number(-1, 0))] = -0.9  # of winLoss
    use_fp16: Annotated[Precision, Key("useFP16", choice(Precision))] = Precision.FASTEST
    resign_consec_turns: Annotated[int, Key("resignConsecTurns", integer(1, 100))] = 3


class Engine:
    """One game, its rules, and the commands that change them.

    Args:
        settings: see `GtpSettings`.
        search: chooses moves and estimates scores.
        length: edge of the board at the start.
    """

    def __init__(self, settings: GtpSettings, search: EngineSearch, length: int = MAX_LENGTH) -> None:
        self.settings = settings
        self.search = search
        self.commands: dict[str, Command] = {
            "protocol_version": lambda words: "2",
            "name": lambda words: settings.name,
            "version": lambda words: f"{CLIENT_VERSION}+{search.network.name}",
            "known_command": self.known_command,
            "list_commands": lambda words: "\n".join(self.commands),
            "quit": lambda words: "",
            "boardsize": self.boardsize,
            "rectangular_boardsize": self.boardsize,
            "clear_board": self.clear_board,
            "set_position": self.set_position,
            "komi": self.komi,
            "get_komi": lambda words: komi_text(self.rules.komi),
            "play": self.play,
            "undo": self.undo,
            "kata-get-rules": lambda words: rules_json(self.rules, komi=False),
            "kata-set-rule": self.set_rule,
            "kata-set-rules": self.set_rules,
            "genmove": self.genmove,
            "showboard": lambda words: board_text(self.game),
            "fixed_handicap": self.fixed_handicap,
            "set_free_handicap": self.set_free_handicap,
            "final_score": self.final_score,
            "kata-raw-nn": self.raw_nn,
        }
        self._start(GameStart(length, length, leading_moves_are_handicap=settings.assume_black_moves_are_handicap))

    # -- the position --

    @property
    def rules(self) -> Rules:
        """Those of the game, with komi."""
        return self.game.rules

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        return self.game.x_size, self.game.y_size

    def _start(self, start: GameStart) -> None:
        """Begin a game; ``ValueError`` if it cannot begin so."""
        self.game = Game(start, prevents_cleanup=self.settings.prevent_cleanup_phase)
        self._win_losses: list[float] = []

    def _set_up(self, stones: Iterable[Stone] = (), to_move: int = BLACK) -> None:
        """Begin with stones on the same board, under the same rules; ``ValueError`` if they cannot stand so."""
        self._start(replace(self.game.start, stones=tuple(stones), to_move=to_move))

    # -- commands: the program --

    def known_command(self, words: list[str]) -> str:
        """Whether a command exists."""
        if len(words) != 1:
            raise GtpError(f"Expected single argument for known_command but got '{' '.join(words)}'")
        return "true" if words[0] in self.commands else "false"

    # -- commands: board and rules --

    def boardsize(self, words: list[str]) -> str:
        """Empty board of another size: ``n``, ``x y`` or ``x:y``."""
        found = re.fullmatch(r"(-?\d{1,9})(?:[ :](-?\d{1,9}))?", " ".join(words))
        if found is None:
            raise GtpError(f"Expected int argument for boardsize or pair of ints but got '{' '.join(words)}'")
        size = int(found[1]), int(found[2] or found[1])
        if min(size) < MIN_LENGTH:
            raise GtpError("unacceptable size")
        if max(size) > MAX_LENGTH:
            raise GtpError(f"unacceptable size (sides up to {MAX_LENGTH} are supported)")
        self._start(replace(self.game.start, x_size=size[0], y_size=size[1], stones=(), to_move=BLACK))
        return ""

    def clear_board(self, words: list[str]) -> str:
        """Empty board of the same size."""
        self._set_up()
        return ""

    def set_position(self, words: list[str]) -> str:
        """Stones on an empty board, Black to move."""
        if len(words) % 2:
            raise GtpError(f"Expected pairs of color and vertex for set_position but got '{' '.join(words)}'")
        stones = []
        for colour_word, vertex in zip(words[::2], words[1::2], strict=True):
            colour, point = self._colour(colour_word), self._vertex(vertex)
            if point == PASS:
                raise GtpError(f"Could not parse vertex: '{vertex}'")
            stones.append((colour, point))
        try:
            self._set_up(stones)
        except ValueError:
            raise GtpError("Illegal stone placements - overlapping stones or stones with no liberties?") from None
        return ""

    def komi(self, words: list[str]) -> str:
        """Another komi; the position stays."""
        try:
            komi = real_number(" ".join(words))
        except ValueError:
            raise GtpError(f"Expected single float argument for komi but got '{' '.join(words)}'") from None
        if abs(komi) > MAX_KOMI:
            raise GtpError("unacceptable komi")
        if not (2 * komi).is_integer():
            raise GtpError("komi must be an integer or half-integer")
        self.game = self.game.under(self.rules.with_komi(komi))
        return ""

    def set_rules(self, words: list[str]) -> str:
        """Other rules, by name or JSON; komi stays and the moves are replayed."""
        text = " ".join(words)
        try:
            rules = Rules.parse(text)
        except ValueError as error:
            shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
            raise GtpError(f"Unknown rules '{shown}', {' '.join(str(error).split())[: 2 * _SHOWN]}") from None
        self.game = self.game.under(rules.with_komi(self.rules.komi))
        return ""

    def set_rule(self, words: list[str]) -> str:
        """One rule, by its key in the JSON form."""
        if len(words) != 2:
            raise GtpError(f"Expected two arguments for kata-set-rule but got '{' '.join(words)}'")
        fields = self.rules.to_json(komi=False)
        key, value = words
        if key not in fields:
            raise GtpError(f"Unknown rules option: {key}")
        fields[key] = value.lower() == "true" if value.lower() in ("true", "false") else value
        try:
            rules = Rules.from_json(fields)
        except ValueError as error:
            raise GtpError(f"Unknown rules '{json.dumps(fields)}', {error}") from None
        self.game = self.game.under(rules.with_komi(self.rules.komi))
        return ""

    # -- commands: moves --

    def play(self, words: list[str]) -> str:
        """A move of either colour."""
        if len(words) != 2:
            raise GtpError(f"Expected two arguments for play but got '{' '.join(words)}'")
        colour, point = self._colour(words[0]), self._vertex(words[1])
        try:
            self.game.play(point, colour, tolerant=True)
        except ValueError:
            raise GtpError("illegal move") from None
        return ""

    def undo(self, words: list[str]) -> str:
        """Take the last move back."""
        try:
            self.game.undo()
        except ValueError:
            raise GtpError("cannot undo") from None
        return ""

    def genmove(self, words: list[str]) -> str:
        """Choose a move and play it."""
        if len(words) != 1:
            raise GtpError(f"Expected single argument for genmove but got '{' '.join(words)}'")
        colour = self._colour(words[0])
        if self.game.finished:
            self.game.play(PASS, colour, tolerant=True)
            return "pass"
        choice = self.search.choose(self.game, colour)
        self._win_losses.append(choice.result.mean.win_loss)
        if self._resigns(colour):
            return "resign"
        self.game.play(choice.point, colour, tolerant=True)
        return to_vertex(choice.point, self.size[1])

    def _resigns(self, colour: int) -> bool:
        """Whether the last searches were all without hope (engine.md 3, step 5)."""
        settings = self.settings
        return settings.allow_resignation and should_resign(
            self._win_losses,
            white_moved=colour == WHITE,
            threshold=settings.resign_threshold,
            turns=settings.resign_consec_turns,
        )

    # -- commands: handicap --

    def fixed_handicap(self, words: list[str]) -> str:
        """Stones on the fixed points; answers with their vertices."""
        if len(words) != 1 or not re.fullmatch(r"-?\d{1,9}", words[0]):
            raise GtpError(f"Expected one argument for fixed_handicap but got '{' '.join(words)}'")
        self._need_empty_board()
        try:
            points = [point_at(x, y) for x, y in fixed_points(*self.size, int(words[0]))]
        except ValueError as error:
            raise GtpError(str(error)) from None
        self._set_up(((BLACK, point) for point in points), WHITE)
        return " ".join(to_vertex(point, self.size[1]) for point in points)

    def set_free_handicap(self, words: list[str]) -> str:
        """Stones on chosen points, White to move."""
        self._need_empty_board()
        points = []
        for word in words:
            try:
                point = from_vertex(word, *self.size)
            except ValueError:
                point = PASS
            if point == PASS:
                raise GtpError(f"Invalid handicap location: {word}")
            points.append(point)
        if len(points) < 2 or len(set(points)) < len(points):
            raise GtpError("Handicap placement is invalid")
        try:
            self._set_up(((BLACK, point) for point in points), WHITE)
        except ValueError:
            raise GtpError("Handicap placement is invalid") from None
        return ""

    def _need_empty_board(self) -> None:
        if self.game.start.stones or self.game.moves:
            raise GtpError("Board is not empty")

    # -- commands: the score --

    def final_score(self, words: list[str]) -> str:
        """The score of a finished game, else an estimate (engine.md 6)."""
        is_exact = not self.rules.friendly_pass_ok or self.rules.scoring == Scoring.TERRITORY
        if self.game.finished and is_exact:
            return DRAW if self.game.result == VOID else score_text(self.game.score())
        if self.search.network.name == RANDOM_MODEL:
            return score_text(self.game.score())
        lead = self.search.estimate_score(self.game)
        rounded = math.floor(lead + 0.5) if self.rules.result_is_integer else math.floor(lead) + 0.5
        return score_text(rounded)

    def raw_nn(self, words: list[str]) -> str:
        """The net's own outputs: ``[colour] symmetry [optimism]``, the symmetry 0 to 7 or ``all``."""
        pattern = r"(?:(?P<colour>[a-z]+) )?(?P<symmetry>[0-7]|all)(?: (?P<optimism>[0-9.]+))?"
        found = re.fullmatch(pattern, " ".join(words).lower())
        try:
            optimism = float(found["optimism"] or self.search.parameters.root_policy_optimism) if found else math.nan
        except ValueError:
            optimism = math.nan
        if found is None or not 0.0 <= optimism <= 1.0:
            raise GtpError(
                f"Expected optional color, symmetry 0-7 or all, optional optimism 0-1 but got '{' '.join(words)}'"
            )
        colour = self._colour(found["colour"]) if found["colour"] else self.game.to_move
        symmetries = range(8) if found["symmetry"] == "all" else [int(found["symmetry"])]
        return "\n".join(
            raw_outputs_text(self.search.evaluate(self.game, colour, symmetry, optimism), symmetry, *self.size)
            for symmetry in symmetries
        )

    # -- words --

    def _colour(self, word: str) -> int:
        colour = _COLOURS.get(word.lower())
        if colour is None:
            raise GtpError(f"Could not parse color: '{word}'")
        return colour

    def _vertex(self, word: str) -> int:
        try:
            return from_vertex(word, *self.size)
        except ValueError:
            raise GtpError(f"Could not parse vertex: '{word}'") from None
