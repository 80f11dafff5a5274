"""The self-test of KataGo's client on networks: what that client says itself (contribute-protocol.md 8.1)."""

from __future__ import annotations

import pytest

from nets.evaluation.canary import canary_fault, trunk_depth
from nets.files.katago_file import read_net
from tests import FIXTURES
from tests.oracles import oracle_path

NETS = FIXTURES / "nets"
SUITABLE = "nets/b7c96h3tfrs-test5-cnorm.bin.gz"
"""KataGo 1.17.2 contributes with it."""
OLD = "nets/g170-b6c96-s175395328-d26788732.bin.gz"
"""With it KataGo 1.17.2 ends at the fourth position, whose komi is -7."""


def test_a_network_with_which_katagos_client_plays_passes() -> None:
    assert canary_fault(read_net(oracle_path(SUITABLE))) == ""


def test_an_old_network_fails_where_katagos_client_ends() -> None:
    fault = canary_fault(read_net(oracle_path(OLD)))
    assert fault.startswith("position 4 of the self-test of KataGo's client, symmetry ")
    assert "White's" in fault


@pytest.mark.parametrize("name", ["mini-fixup", "mini-nbt-fson-mish-rvgl-bnh", "mini-tfrs-fson-silu-rnh"])
def test_networks_without_training_fail_at_once(name: str) -> None:
    assert canary_fault(read_net(NETS / f"{name}.bin.gz")).startswith("position 1 ")


def test_depth_of_trunks() -> None:
    """KataGo's own count, by hand: 1 for the stem, 2 for a residual block, 2 for each transformer block."""
    assert trunk_depth(read_net(oracle_path(OLD)).trunk) == 1 + 2 * 6 + 1, "the first convolution is 5 by 5"
    assert trunk_depth(read_net(oracle_path(SUITABLE)).trunk) == 1 + 2 * 14
