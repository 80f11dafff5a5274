"""Nets of our trainer in a real KataGo: both engines say the same of them, asked by the same lines of GTP."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from common.rows import write_npz
from nets.architecture.config import named
from nets.data.files import DataFolder
from nets.data.window import BucketConfig, WindowConfig
from nets.files.katago_file import read_net, write_net
from nets.training.averaging import AveragingConfig
from nets.training.checkpoint import CheckpointFolder
from nets.training.config import TrainConfig
from nets.training.trainer import Trainer
from tests.katago import RECORDED, ask_katago, ask_tengen, assert_same_outputs, katago_program, positions, recorded
from tests.nets.made_rows import made_rows

TRAINED = RECORDED / "trained-b2c32-bn.bin.gz"
"""By ``python -m nets train`` with the paper's recipe: 3,200 samples out of 673 rows of KataGo's 7x7 to 9x9 games."""


def test_a_trained_net_gives_the_outputs_that_katago_recorded() -> None:
    compared = 0
    for own, entry in zip(ask_tengen(TRAINED, positions()), recorded(), strict=True):
        assert_same_outputs(own, entry["answer"])
        compared += 1
    assert compared == 12


KATRAIN = "TENGEN_KATRAIN_NET"
"""Names ``katrain/models/b10c384h6nbttflrs.bin.gz`` of KaTrain 1.20's wheel (``pip download --no-deps katrain``)."""


@pytest.mark.slow
@pytest.mark.skipif(KATRAIN not in os.environ, reason=f"no net of KaTrain: set {KATRAIN}")
def test_katrains_net_is_rewritten_to_the_byte_and_gives_what_katago_recorded(tmp_path: Path) -> None:
    path = Path(os.environ[KATRAIN])
    write_net(read_net(path), tmp_path / "again.bin.gz")
    assert gzip.decompress((tmp_path / "again.bin.gz").read_bytes()) == gzip.decompress(path.read_bytes())
    entries = recorded("answers-b10c384h6nbttflrs.jsonl.gz")
    for own, entry in zip(ask_tengen(path, [entry["lines"] for entry in entries]), entries, strict=True):
        assert_same_outputs(own, entry["answer"])


def test_the_recorded_answers_are_those_of_this_katago() -> None:
    for answer, entry in zip(ask_katago(katago_program(), TRAINED, positions()), recorded(), strict=True):
        assert_same_outputs(answer, entry["answer"])


@pytest.mark.parametrize("name", ["b2c32-bn", "b2c16-fson-mish-rvgl-bnh"])
def test_katago_loads_what_has_just_been_trained(name: str, tmp_path: Path) -> None:
    program = katago_program()
    (tmp_path / "data").mkdir()
    write_npz(made_rows(64, 9, seed=3, smallest=5), tmp_path / "data" / "0.npz")
    config = TrainConfig(
        named(name),
        length=9,
        batch=16,
        averaging=AveragingConfig(period_samples=32),
        window=WindowConfig(min_rows=16),
        bucket=BucketConfig(samples_per_epoch=1600),
        limit_reuse=False,
    )
    trainer = Trainer(config, DataFolder([tmp_path / "data"]), CheckpointFolder(tmp_path / "state"))
    trainer.run(max_steps=20)
    trainer.close()
    trainer.export(tmp_path / "trained.bin.gz", name="trained")
    asked = positions()
    answers = ask_tengen(tmp_path / "trained.bin.gz", asked), ask_katago(program, tmp_path / "trained.bin.gz", asked)
    for own, katagos in zip(*answers, strict=True):
        assert_same_outputs(own, katagos)
