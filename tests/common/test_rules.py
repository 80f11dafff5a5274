"""Rules as text: names, short strings, JSON, and what is refused (rules.md 1)."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given

from common.go.rules import NAMED_RULES, Rules, komi_text
from common.go.state import new_states
from tests.common.made_rules import KINDS, any_rules

# The table of rules.md 1.1 as short strings.
NAMES = {
    "tromp-taylor": "koPOSITIONALscoreAREAtaxNONEsui1komi7.5",
    "japanese": "koSIMPLEscoreTERRITORYtaxSEKIsui0komi6.5",
    "korean": "koSIMPLEscoreTERRITORYtaxSEKIsui0komi6.5",
    "chinese": "koSIMPLEscoreAREAtaxNONEsui0whbNfpok1komi7.5",
    "chinese-ogs": "koPOSITIONALscoreAREAtaxNONEsui0whbNfpok1komi7.5",
    "chinese-kgs": "koPOSITIONALscoreAREAtaxNONEsui0whbNfpok1komi7.5",
    "stone-scoring": "koSIMPLEscoreAREAtaxALLsui0fpok1komi7.5",
    "ancient-area": "koSIMPLEscoreAREAtaxALLsui0fpok1komi7.5",
    "ancient-territory": "koSIMPLEscoreTERRITORYtaxALLsui0komi6.5",
    "aga": "koSITUATIONALscoreAREAtaxNONEsui0whbN-1fpok1komi7.5",
    "bga": "koSITUATIONALscoreAREAtaxNONEsui0whbN-1fpok1komi7.5",
    "french": "koSITUATIONALscoreAREAtaxNONEsui0whbN-1fpok1komi7.5",
    "aga-button": "koSITUATIONALscoreAREAtaxNONEsui0button1whbN-1fpok1komi7",
    "new-zealand": "koSITUATIONALscoreAREAtaxNONEsui1fpok1komi7",
    "nz": "koSITUATIONALscoreAREAtaxNONEsui1fpok1komi7",
    "goe": "koPOSITIONALscoreAREAtaxNONEsui1fpok1komi7.5",
    "ing": "koPOSITIONALscoreAREAtaxNONEsui1fpok1komi7.5",
}


def test_every_name_is_in_the_table_here() -> None:
    assert {name.replace("-", "") for name in NAMES} == set(NAMED_RULES)


@pytest.mark.parametrize("name", NAMES)
def test_names_mean_what_the_table_says(name: str) -> None:
    assert Rules.parse(name).to_short() == NAMES[name]
    for variant in (name.upper(), name.replace("-", "_"), name.replace("-", " "), name.replace("-", "")):
        assert Rules.parse(variant) == Rules.parse(name)


@given(any_rules())
def test_texts_are_read_back(rules: Rules) -> None:
    assert Rules.parse(rules.to_short()) == rules
    assert Rules.parse(json.dumps(rules.to_json())) == rules
    assert Rules.from_json(rules.to_json(compact=True)) == rules
    assert Rules.parse(rules.sgf_name).with_komi(rules.komi) == rules


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("sui0 komi-3.5 koSIMPLE taxALL scoringAREA", "koSIMPLEscoreAREAtaxALLsui0komi-3.5"),
        ("whb0button0fpok0", "koPOSITIONALscoreAREAtaxNONEsui1komi7.5"),
        ("scoreTERRITORY", "koPOSITIONALscoreTERRITORYtaxSEKIsui1komi6.5"),
        ("button1", "koPOSITIONALscoreAREAtaxNONEsui1button1komi7"),
        ("whbN-1sui0", "koPOSITIONALscoreAREAtaxNONEsui0whbN-1komi7.5"),
        ('{"score":"TERRITORY"}', "koPOSITIONALscoreTERRITORYtaxSEKIsui1komi6.5"),
        ('{"hasButton":true,"komi":3}', "koPOSITIONALscoreAREAtaxNONEsui1button1komi3"),
        ("{}", "koPOSITIONALscoreAREAtaxNONEsui1komi7.5"),
    ],
)
def test_missing_tokens_have_defaults(text: str, short: str) -> None:
    assert Rules.parse(text).to_short() == short


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty rules"),
        ("martian", "can not read 'martian'"),
        ("koSIMPLEmartian", "can not read 'martian'"),
        ("koSIMPLEkoSIMPLE", "give ko twice"),
        ("koSPIGHT", "SPIGHT is not supported"),
        ("kosimple", "must be one of SIMPLE, POSITIONAL, SITUATIONAL"),
        ("taxSOME", "must be one of NONE, SEKI, ALL"),
        ("sui2", "followed by 0 or 1"),
        ("whbX", "followed by 0, N or N-1"),
        ("komi1.2.3", "does not start with a komi"),
        ("komi0.3", "integer or half-integer"),
        ("komi401", "integer or half-integer"),
        ("scoreTERRITORYbutton1", "only defined with area scoring"),
        ('{"ko":"SIMPLE"', "the rules are not JSON"),
        ('{"kko":"SIMPLE"}', "unknown key 'kko'"),
        ('{"ko":3}', "must be one of SIMPLE"),
        ('{"suicide":1}', "must be true or false"),
        ('{"komi":"7.5"}', "must be a number"),
        ('{"komi":NaN}', "integer or half-integer"),
        ('{"whiteHandicapBonus":"M"}', "must be one of 0, N, N-1"),
        ('{"score":"AREA","scoring":"AREA"}', "given twice"),
    ],
)
def test_what_is_not_rules_is_refused_with_its_reason(text: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        Rules.parse(text)


def test_sgf_names_ignore_komi() -> None:
    assert Rules.parse("japanese").with_komi(0).sgf_name == "Japanese"
    assert Rules.parse("chinese-kgs").sgf_name == "Chinese-OGS"
    assert Rules.parse("koSIMPLEscoreAREAtaxSEKIsui1").sgf_name == "koSIMPLEscoreAREAtaxSEKIsui1"


@pytest.mark.parametrize(
    ("text", "integer"),
    [("chinese", False), ("nz", True), ("aga-button", False), ("button1komi6.5", True)],
)
def test_whole_number_results(text: str, integer: bool) -> None:
    assert Rules.parse(text).result_is_integer is integer


def test_komi_text() -> None:
    assert [komi_text(komi) for komi in (7.5, 7.0, -0.5, 0)] == ["7.5", "7", "-0.5", "0"]


def test_rules_go_into_a_state() -> None:
    state = new_states(1)[0]
    Rules.parse("koSITUATIONALscoreAREAtaxALLsui1button1whbN-1fpok1komi-3.5").write_to(state)
    fields = ("ko_rule", "scoring_rule", "tax_rule", "suicide", "has_button", "white_handicap_bonus")
    assert [int(state[name]) for name in fields] == [2, 0, 2, 1, 1, 2]
    assert (state["friendly_pass_ok"], state["pass_alive_suicide"]) == (1, 1)
    assert (state["komi"], state["draw_white_wins"]) == (-3.5, 0.5)


@pytest.mark.parametrize("name", KINDS)
def test_every_field_changes_the_state(name: str) -> None:
    one, other = new_states(1), new_states(1)
    rules = Rules()
    rules.write_to(one[0])
    replace(rules, **{name: KINDS[name](not getattr(rules, name))}).write_to(other[0])
    assert one.tobytes() != other.tobytes()
