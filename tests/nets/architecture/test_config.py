"""Nets by name and as descriptions."""

from __future__ import annotations

import dataclasses
import json

import pytest

from nets.architecture.config import NetConfig, Residual, base_names, named, written_version


@pytest.mark.parametrize("base", base_names())
def test_descriptions_survive_json(base: str) -> None:
    config = named(base + "-fson-mish")
    assert NetConfig.from_json(json.loads(config.dumps())) == config
    assert written_version(config) == (17 if "tf" in base else 15)


def test_b2c32_as_asked() -> None:
    config = named("b2c32")
    assert (config.channels, config.mid_channels, config.pool_channels) == (32, 32, 16)
    assert config.blocks == (Residual(32), Residual(32, 16), Residual(32))
    assert dataclasses.astuple(config.heads)[:5] == (12, 12, 12, 24, 24)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("b2c17", "no net size"),
        ("b2c16-elu", "unknown suffix"),
        ("b2c16-bn-fson", "contradicts"),
        ("b2c16-bnh", "needs -fson"),
        ("b2c16-fson-bnh-rsnh", "exclude"),
    ],
)
def test_bad_names(name: str, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        named(name)


def test_bad_descriptions() -> None:
    good = named("b2c16").to_json()
    with pytest.raises(ValueError, match="unknown field 'colour'"):
        NetConfig.from_json(good | {"colour": 1})
    with pytest.raises(ValueError, match="heads"):
        NetConfig.from_json({key: value for key, value in good.items() if key != "heads"})
    with pytest.raises(ValueError, match="block kind"):
        NetConfig.from_json(good | {"blocks": [{"kind": "dilated"}]})
