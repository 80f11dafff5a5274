"""Heads of its own in a net, through the table of heads and the net's description: no module knows them by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from nets.architecture.config import NetConfig, named
from nets.architecture.heads import (
    HEADS,
    Head,
    Loss,
    Presence,
    RowWeight,
    Shape,
    Source,
    Target,
    Term,
    Unit,
    WhiteView,
    heads_of,
    output_shape,
)
from nets.architecture.model import Net
from nets.data.targets import Targets, make_batch
from nets.evaluation.backends import OpenVinoBackend
from nets.evaluation.evaluator import NetEvaluator
from nets.files.exchange import module_of
from nets.files.grammar import NetFileError
from nets.files.katago_file import read_net
from nets.training.export import export_net, load_net
from nets.training.losses import Losses, Recipe
from tests.nets.made_rows import made_rows

LENGTH = 5
PLAIN = named("b2c16")
POINTS = Head(
    "toy_points",
    Shape.SCALAR,
    Source.MISC,
    Unit.LINEAR,
    WhiteView.NEGATE,
    (Term("toy_points", Loss.HUBER, Target.SCORE, RowWeight.OUTCOME, today=0.01, delta=12.0),),
    multiplier="score_mean",
    presence=Presence.IF_NAMED,
)
"""For training only."""
OWNERS = Head(
    "toy_owners",
    Shape.MAP,
    Source.MAP,
    Unit.TANH,
    WhiteView.NEGATE,
    (Term("toy_owners", Loss.OWNERSHIP, Target.OWNERSHIP, RowWeight.OUTCOME, today=1.0),),
    column=1,
    presence=Presence.IF_NAMED,
)
"""In inference too."""


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    for head in (POINTS, OWNERS):
        monkeypatch.setitem(HEADS, head.name, head)


def with_heads(*heads: Head) -> NetConfig:
    return replace(PLAIN, extra_heads=tuple(head.name for head in heads))


def test_it_is_put_out_learned_and_measured() -> None:
    config = with_heads(POINTS, OWNERS)
    net, batch = Net(config), make_batch(made_rows(6, LENGTH))
    outputs = net(batch.planes.float(), batch.global_inputs)[0]
    for head in heads_of(config, training=True):
        assert outputs[head.name].shape == (6, *output_shape(head, LENGTH))
    losses = Losses(config, Recipe())
    result = losses(outputs, Targets(batch))
    assert {"toy_points", "toy_owners"} <= set(losses.names)
    assert result.sums[losses.names.index("toy_points")] > 0
    torch.autograd.backward(result.total)
    value = net.heads.value
    for layer, row in ((value.linear_training, len(value.training_misc) - 1), (value.conv_ownership, 1)):
        gradient = layer.weight.grad
        assert isinstance(gradient, torch.Tensor)
        assert gradient[row].abs().sum() > 0


def test_inference_has_what_is_exported() -> None:
    net = Net(with_heads(POINTS, OWNERS)).eval()
    batch = make_batch(made_rows(2, LENGTH))
    found = net.infer(batch.planes.float(), batch.global_inputs)
    assert set(found) == {head.name for head in heads_of(net.config, training=False)}
    assert found["toy_owners"].shape == found["ownership"].shape
    evaluator = NetEvaluator(net, OpenVinoBackend(net, LENGTH, 1, sixteen_bit=False), LENGTH)
    evaluator.prepare()
    assert "OpenVINO" in evaluator.description
    evaluator.close()


def test_other_nets_stay_what_they_are() -> None:
    assert not {"toy_points", "toy_owners"} & {head.name for head in heads_of(PLAIN, training=True)}
    assert "extra_heads" not in PLAIN.to_json()
    assert NetConfig.from_json(PLAIN.to_json()) == PLAIN
    assert NetConfig.from_json(with_heads(OWNERS).to_json()) == with_heads(OWNERS)


def test_files_hold_it_or_say_that_they_cannot(tmp_path: Path) -> None:
    net = Net(with_heads(POINTS, OWNERS))
    export_net(net, tmp_path / "toy.safetensors", name="toy")
    again = load_net(tmp_path / "toy.safetensors")
    assert again.net.config == net.config
    assert {"toy_points", "toy_owners"} <= again.trained
    with pytest.raises(NetFileError, match=r"cannot hold 'toy_owners'; write it as \.safetensors"):
        export_net(net, tmp_path / "toy.bin.gz", name="toy")
    export_net(Net(with_heads(POINTS)), tmp_path / "toy.bin.gz", name="toy")  # what only training has, no file has
    assert module_of(read_net(tmp_path / "toy.bin.gz")).config.extra_heads == ()


def test_what_no_layer_makes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="no head is called 'nonsense'"):
        Net(replace(PLAIN, extra_heads=("nonsense",)))
    monkeypatch.setitem(HEADS, OWNERS.name, replace(OWNERS, source=Source.TRUNK))
    with pytest.raises(ValueError, match="no layer for 'toy_owners'"):
        Net(with_heads(OWNERS))
