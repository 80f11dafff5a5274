"""The table of heads."""

from __future__ import annotations

from nets.architecture.heads import HEADS, Source


def test_the_table_of_heads_is_whole() -> None:
    assert all(name == head.name and head.terms for name, head in HEADS.items())
    for source in Source:
        columns = [head.column for head in HEADS.values() if head.source is source and head.exported]
        assert set(columns) == set(range(len(columns)))
    terms = {term.name: term for head in HEADS.values() for term in head.terms}
    paper = {name: term.paper for name, term in terms.items() if term.paper}
    assert paper == {
        "policy": 1.0,
        "opponent_policy": 0.15,
        "value": 1.5,
        "ownership": 1.5,
        "score_belief_cdf": 0.02,
        "score_belief_pdf": 0.02,
        "score_mean_belief": 0.004,
        "score_stdev": 0.004,
    }
