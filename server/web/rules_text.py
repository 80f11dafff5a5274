"""The rules of a game in words, for people who do not know the short strings."""

from __future__ import annotations

from django.utils.translation import gettext as _

from common.go.rules import HandicapBonus, Ko, Rules, Scoring, Tax


def in_words(rules: Rules) -> str:
    """Such as ``Japanese: simple ko, territory scoring, no points in seki, no suicide``; komi is told elsewhere."""
    text = ", ".join(_phrases(rules))
    name = rules.sgf_name
    return text if name == rules.to_short(komi=False) else f"{name}: {text}"


def _phrases(rules: Rules) -> list[str]:
    ko = {
        Ko.SIMPLE: _("simple ko"),
        Ko.POSITIONAL: _("positional superko"),
        Ko.SITUATIONAL: _("situational superko"),
    }
    scoring = {Scoring.AREA: _("area scoring"), Scoring.TERRITORY: _("territory scoring")}
    tax = {
        Tax.NONE: None,
        Tax.SEKI: _("no points in seki"),
        Tax.ALL: _("no points in seki and two less for each living group"),
    }
    bonus = {
        HandicapBonus.ZERO: None,
        HandicapBonus.N: _("White gets a point for each handicap stone"),
        HandicapBonus.N_MINUS_1: _("White gets a point for each handicap stone but one"),
    }
    phrases = [
        ko[rules.ko],
        scoring[rules.scoring],
        tax[rules.tax],
        _("suicide allowed") if rules.suicide else _("no suicide"),
        _("a button worth half a point") if rules.has_button else None,
        bonus[rules.white_handicap_bonus],
        _("dead stones need not be captured before the end") if rules.friendly_pass_ok else None,
    ]
    return [phrase for phrase in phrases if phrase]
