"""What raw net outputs mean: the one place that turns them into winrate, points and ownership for play.

Follows the table of `nets.architecture.heads` for units and multipliers and the file's model version for the definition
of the errors. Everything is seen from the player to move. The losses' own versions, with gradients, are in
`nets.training.losses`. Spec: model-format.md 6.3, features.md 7.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from common.by_reference import by_reference
from common.kernels import njit
from nets.architecture.config import NetConfig
from nets.architecture.heads import HEADS, Presence, Source
from nets.files.grammar import DIRECT_SCORE_ERROR, ErrorFormula, capabilities_of

_MISC: Final = [head for head in HEADS.values() if head.source is Source.MISC and head.presence is Presence.ALWAYS]
SCALARS: Final = tuple(head.name for head in sorted(_MISC, key=lambda head: head.column or 0) if head.exported)
"""Outputs of one number in file order, which is that of the columns of a decoded batch's ``scalars``."""
SCORE_MEAN, SCORE_STDEV, LEAD = map(SCALARS.index, ("score_mean", "score_stdev", "lead"))
VARIANCE_TIME = SCALARS.index("variance_time")
VALUE_ERROR, SCORE_ERROR = map(SCALARS.index, ("short_term_value_error", "short_term_score_error"))
_OUTCOMES: Final = HEADS["value"].channels
"""Raw values begin with the outcome's logits; the scalars follow."""
UNKNOWN: Final = -1.0
"""Stands for a quantity that the net does not put out (errors, variance time)."""
_NOT_TOLD: Final = -1

_DIRECT: Final = ErrorFormula.DIRECT.value
_SQUARED: Final = ErrorFormula.SQUARED_SOFTPLUS.value


@by_reference
class Decoding(NamedTuple):
    """How the raw numbers of one net are to be read; made by `decoding_of`."""

    multipliers: npt.NDArray[np.float64]
    """[S] in the order of `SCALARS`."""
    has_variance_time: bool
    formula: int
    """Value of an `ErrorFormula`."""
    ko_not_simple: int
    territory_scoring: int
    """Global inputs that tell whether a game can end without a result, `_NOT_TOLD` where the net has no such."""


def decoding_of(config: NetConfig) -> Decoding:
    """The reading of a net's outputs by its model version and multipliers."""
    names = [HEADS[name].multiplier for name in SCALARS]
    multipliers = np.array([getattr(config.multipliers, name) if name else 1.0 for name in names], np.float64)
    formula = capabilities_of(config.version).error_formula
    if formula is ErrorFormula.DIRECT:
        multipliers[VALUE_ERROR], multipliers[SCORE_ERROR] = 1.0, DIRECT_SCORE_ERROR
    rules = (config.inputs.ko_not_simple, config.inputs.territory_scoring)
    told = [_NOT_TOLD if index is None else index for index in rules]
    return Decoding(multipliers, formula is not ErrorFormula.NONE, formula.value, *told)


@njit(cache=True, nogil=True)
def _can_be_void(global_inputs: Any, decoding: Any) -> bool:
    """Whether the rules let a game end without a result; so it is where the inputs do not tell the ko rule."""
    if decoding.ko_not_simple == _NOT_TOLD or global_inputs[decoding.ko_not_simple] == 0.0:
        return True
    return bool(decoding.territory_scoring != _NOT_TOLD and global_inputs[decoding.territory_scoring] != 0.0)


@njit(cache=True, nogil=True)
def softplus(x: float) -> float:
    """ln(1 + eˣ) without overflow."""
    return max(x, 0.0) + math.log1p(math.exp(-abs(x)))


@njit(cache=True, nogil=True)
def short_term_error(raw: float, multiplier: float, formula: int) -> float:
    """Expected size of the error of a short-term prediction; `UNKNOWN` is not among its values."""
    if formula == _DIRECT:
        return softplus(raw) * multiplier
    if formula == _SQUARED:
        root = softplus(raw / 2.0)
        return root * math.sqrt(multiplier)
    return math.sqrt(softplus(raw) * multiplier)


@njit(cache=True, nogil=True)
def decode_values(raw: Any, global_inputs: Any, decoding: Any, scalars: Any) -> tuple[float, float]:
    """Decode one row.

    ``raw`` [3 + misc] are the outcome logits and the misc outputs in file order, ``global_inputs`` [G] the net's
    inputs. Writes ``scalars`` [S] (score mean and lead times 1 - no result; the stdev given a result) and returns
    win - loss and the probability of no result.
    """
    can_be_void = _can_be_void(global_inputs, decoding)
    top = max(raw[0], raw[1])
    if can_be_void:
        top = max(top, raw[2])
    win, loss = math.exp(raw[0] - top), math.exp(raw[1] - top)
    void = math.exp(raw[2] - top) if can_be_void else 0.0
    total = win + loss + void
    no_result = void / total
    factor = decoding.multipliers
    scalars[SCORE_MEAN] = raw[_OUTCOMES + SCORE_MEAN] * factor[SCORE_MEAN] * (1.0 - no_result)
    scalars[SCORE_STDEV] = softplus(raw[_OUTCOMES + SCORE_STDEV]) * factor[SCORE_STDEV]
    scalars[LEAD] = raw[_OUTCOMES + LEAD] * factor[LEAD] * (1.0 - no_result)
    scalars[VARIANCE_TIME] = UNKNOWN
    scalars[VALUE_ERROR] = UNKNOWN
    scalars[SCORE_ERROR] = UNKNOWN
    if decoding.has_variance_time:
        scalars[VARIANCE_TIME] = softplus(raw[_OUTCOMES + VARIANCE_TIME]) * factor[VARIANCE_TIME]
        scalars[VALUE_ERROR] = short_term_error(raw[_OUTCOMES + VALUE_ERROR], factor[VALUE_ERROR], decoding.formula)
        scalars[SCORE_ERROR] = short_term_error(raw[_OUTCOMES + SCORE_ERROR], factor[SCORE_ERROR], decoding.formula)
    return (win - loss) / total, no_result


@njit(cache=True, nogil=True)
def decode_policy(raw_policy: Any, optimism: float, places: Any, policy: Any, length: int) -> None:
    """Decode one row's policies [channels, E·E + 1] back to the board's own orientation.

    ``places`` [E·E] is where each position lies in the net's tensor. Channel 1, if there is one, is the optimistic
    policy, mixed in as logits. Writes ``policy`` [L·L + 1] (logits, the pass last) within the upper left E × E of its
    L × L, L = ``length``.
    """
    area = places.shape[0]
    edge = int(math.sqrt(area))
    mix = raw_policy.shape[0] > 1 and optimism != 0.0
    for y in range(edge):
        for x in range(edge):
            place = places[y * edge + x]
            logit = raw_policy[0, place]
            if mix:
                logit += optimism * (raw_policy[1, place] - logit)
            policy[y * length + x] = logit
    logit = raw_policy[0, area]
    if mix:
        logit += optimism * (raw_policy[1, area] - logit)
    policy[length * length] = logit


@njit(cache=True, nogil=True)
def decode_ownership(raw_ownership: Any, places: Any, ownership: Any, length: int) -> None:
    """Decode one row's ownership [E·E] into ``ownership`` [L·L] (-1..1), as `decode_policy` does the policy."""
    edge = int(math.sqrt(places.shape[0]))
    for y in range(edge):
        for x in range(edge):
            ownership[y * length + x] = math.tanh(raw_ownership[places[y * edge + x]])


@njit(cache=True, nogil=True)
def score_mean_square(score_mean: float, score_stdev: float, no_result: float) -> float:
    """Expected square of the final score, from a decoded row (``score_mean`` already times 1 - no result)."""
    counted = 1.0 - no_result
    return score_mean * score_mean / counted + score_stdev * score_stdev * counted if counted > 0.0 else 0.0
