"""The module's way into net files and out of them."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from nets.architecture.config import NetConfig
from nets.architecture.model import Net
from nets.files.descriptions import config_of
from nets.files.exchange import module_of, record_of, trainable_module_of
from nets.files.katago_file import NetFileError, read_net, write_net
from nets.files.records import ResidualRecord
from tests import FIXTURES
from tests.nets.architecture.nets import FAMILIES, boards, lively
from tests.oracles import oracle_path

NET_FILES = FIXTURES / "nets"


@pytest.mark.parametrize("name", FAMILIES)
def test_what_is_written_is_what_was_trained(name: str, tmp_path: Path) -> None:
    """Training form, file, and the module read back agree; the description is found again from the file."""
    net = lively(name).eval()
    write_net(record_of(net, name), tmp_path / "net.bin.gz")
    record = read_net(tmp_path / "net.bin.gz")
    again = module_of(record)
    planes, inputs = boards([(9, 9), (5, 7)], 9)
    with torch.no_grad():
        before, after = net.infer(planes, inputs), again.infer(planes, inputs)
    for key, value in before.items():
        torch.testing.assert_close(value, after[key], atol=1e-4, rtol=1e-4)
    config = config_of(record)
    for field in ("blocks", "channels", "norm", "activation", "tip", "second_heads", "pass_hidden", "q_values"):
        assert getattr(config, field) == getattr(net.config, field), field


def test_a_g170_net_can_be_trained_on_and_written_for_today(tmp_path: Path) -> None:
    old = read_net(oracle_path("nets/g170-b6c96-s175395328-d26788732.bin.gz"))
    net = trainable_module_of(old)
    assert net.config.version == 15
    assert not net.config.pass_hidden
    write_net(record_of(net, "continued"), tmp_path / "new.bin.gz")
    record = read_net(tmp_path / "new.bin.gz")
    assert (record.version, record.score_error) == (15, 150.0)
    planes, inputs = boards([(9, 9), (7, 5)], 9)
    with torch.no_grad():
        before, after = module_of(old).infer(planes, inputs), module_of(record).infer(planes, inputs)
    for key, value in before.items():
        torch.testing.assert_close(value, after[key], atol=2e-4, rtol=2e-4)
    torch.testing.assert_close(after["short_optimistic_policy"], after["policy"])
    assert not config_of(record).pass_hidden


@pytest.mark.parametrize("path", sorted(NET_FILES.glob("*.bin.gz")), ids=lambda path: path.stem)
def test_files_of_every_family_can_be_trained_on(path: Path) -> None:
    record = read_net(path)
    net = trainable_module_of(record)
    planes, inputs = boards([(6, 6), (5, 4)], 6)
    loss = sum(value.float().square().mean() for outputs in net(planes, inputs) for value in outputs.values())
    assert isinstance(loss, Tensor)
    torch.autograd.backward(loss)
    assert all(parameter.grad is not None for parameter in net.parameters())
    twin = Net(NetConfig.from_json(net.config.to_json())).eval()
    twin.load_state_dict(net.state_dict())
    with torch.no_grad():
        torch.testing.assert_close(twin.infer(planes, inputs), net.eval().infer(planes, inputs))


def test_kernels_that_differ_within_a_block_are_refused() -> None:
    record = read_net(NET_FILES / "mini-fixup.bin.gz")
    block = record.trunk.blocks[0]
    assert isinstance(block, ResidualRecord)
    conv = block.conv2
    conv.kernel_y = conv.kernel_x = 1
    conv.weights = conv.weights[1:2, 1:2]
    with pytest.raises(NetFileError, match=r"kernels of sizes \[1, 3\]"):
        module_of(record)
