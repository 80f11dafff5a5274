"""Losses of whole files, and what follows from comparing them."""

from __future__ import annotations

import pytest
import torch

from nets.architecture.config import named
from nets.architecture.heads import heads_of
from nets.architecture.model import Net
from nets.training.losses import Recipe
from nets.training.validation import compare, has_caught_up, row_losses
from tests.nets.made_rows import made_rows


def test_losses_of_rows_do_not_depend_on_the_batch() -> None:
    torch.manual_seed(1)
    net, rows = Net(named("b2c16-fs")), made_rows(20, 5, smallest=3)
    one, other = (row_losses(net, rows, Recipe("today"), batch=size) for size in (20, 7))
    torch.testing.assert_close(one.values, other.values, rtol=1e-4, atol=1e-5)
    assert len(one.names) == len([term for head in heads_of(net.config, training=True) for term in head.terms]) - 1
    for term in compare(one, other):
        rounding = 1e-4 * max(1.0, term.first)
        assert term.difference == pytest.approx(0, abs=rounding), term


def test_a_larger_net_takes_over_when_policy_and_value_have_caught_up() -> None:
    leader = [{"policy": 2.0, "value": 0.5}, {"policy": 1.8, "value": 0.5}]
    assert has_caught_up([{"policy": 1.9, "value": 0.5}], leader)
    assert not has_caught_up([{"policy": 1.9, "value": 0.51}], leader)
    assert has_caught_up([{"policy": 1.9, "value": 0.51}], leader, margin=0.02)
    assert not has_caught_up([], leader)
    assert has_caught_up([{"policy": 1.9, "total": 9.0}], leader)  # trained without a value
    assert not has_caught_up([{"policy": 2.1, "total": 1.0}], leader)
    assert has_caught_up([{"ownership": 0.1, "total": 1.0}], [{"ownership": 0.2, "total": 1.5}])
    assert not has_caught_up([{"ownership": 0.1, "total": 1.6}], [{"ownership": 0.2, "total": 1.5}])
