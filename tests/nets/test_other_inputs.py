"""A net with inputs of its own, through its description and the table of encoders: no module knows it by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch

from client.search.pool import SearchPool
from common.encoders import ENCODERS
from common.go.game import Game
from common.go.points import BLACK, PASS, WHITE, point_at, position_of
from common.go.rules import Rules
from common.go.start import GameStart
from common.inputs import V7, Inputs
from common.precision import Precision
from nets.architecture.config import NetConfig, named
from nets.architecture.model import Net
from nets.evaluation import backends
from nets.evaluation.backends import CudaBackend, OpenVinoBackend, TorchBackend
from nets.evaluation.batch import Batch, EvaluatorError
from nets.evaluation.evaluator import NetEvaluator, make_evaluator
from nets.files.grammar import NetFileError
from nets.training.config import TrainConfig
from nets.training.export import export_net, load_net
from tests.client.search.scripted import Answer, ScriptedEvaluator
from tests.nets import stand_in_cuda

LENGTH = 7
TOY = Inputs("toy", planes=5, globals=2, binary=False, board=3)
PLANES_ONLY = replace(TOY, name="toy planes", globals=0)
BOARDS = [(7, 7), (7, 7), (4, 6), (5, 5), (2, 7)]
"""Width and height of the rows of a batch."""
FADING = 0.37
"""What the toy's encoder puts where the last stone was played: no byte holds it."""


def encode(game: Game, planes: npt.NDArray[np.float32], global_inputs: npt.NDArray[np.float32]) -> None:
    """Both colours' stones, where the last one was played, the board, nothing; komi, and a constant."""
    planes[:] = 0.0
    for y in range(game.y_size):
        for x in range(game.x_size):
            planes[TOY.board, y, x] = 1.0
            for plane, colour in enumerate((BLACK, WHITE)):
                planes[plane, y, x] = game.colour_at(point_at(x, y)) == colour
    if game.moves and game.moves[-1][1] != PASS:
        planes[2].flat[position_of(game.moves[-1][1], planes.shape[-1])] = FADING
    global_inputs[:] = (game.rules.komi / 20.0, 1.0)[: len(global_inputs)]


@pytest.fixture(autouse=True)
def encoders(monkeypatch: pytest.MonkeyPatch) -> None:
    for inputs in (TOY, PLANES_ONLY):
        monkeypatch.setitem(ENCODERS, inputs.name, encode)


def config_of(inputs: Inputs = TOY) -> NetConfig:
    return replace(named("b2c16"), name="toy", inputs=inputs)


def net_of(inputs: Inputs = TOY) -> Net:
    torch.manual_seed(1)
    net = Net(config_of(inputs)).eval()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))  # fresh nets have layers of zeros
    return net


def filled(batch: Batch) -> Batch:
    for row, (width, height) in enumerate(BOARDS):
        game = Game(GameStart(width, height, Rules(komi=6.5)))
        game.play(point_at(1, 1))
        encode(game, batch.planes[row], batch.global_inputs[row])
    return batch


def on_its_own(net: Net, batch: Batch, row: int) -> tuple[npt.NDArray[np.float32], float]:
    """Policy [height, width] and win - loss of a row whose board is all of the tensor: no masks."""
    width, height = BOARDS[row]
    planes, inputs = (torch.from_numpy(array[row : row + 1]) for array in (batch.planes, batch.global_inputs))
    with torch.inference_mode():
        found = net.infer(planes[..., :height, :width].contiguous(), inputs, full=True)
    value = torch.softmax(found["value"][0], 0)  # nothing tells the ko rule: no result is among the outcomes
    return found["policy"][0, :-1].reshape(height, width).numpy(), float(value[0] - value[1])


@pytest.mark.parametrize("inputs", [TOY, PLANES_ONLY], ids=lambda inputs: inputs.name)
@pytest.mark.parametrize("library", ["torch", "OpenVINO"])
def test_each_library_evaluates_it(library: str, inputs: Inputs) -> None:
    net = net_of(inputs)
    if library == "torch":
        made = NetEvaluator(net, TorchBackend(net, LENGTH, 1), LENGTH)
    else:
        made = NetEvaluator(net, OpenVinoBackend(net, LENGTH, 1, sixteen_bit=False), LENGTH)
    made.prepare()
    assert library in made.description
    assert made.inputs == inputs
    batch = filled(made.new_batch(len(BOARDS)))
    assert (batch.planes.shape[1], batch.global_inputs.shape[1]) == (inputs.planes, inputs.globals)
    made.run(batch, len(BOARDS))
    for row, (width, height) in enumerate(BOARDS):
        policy, win_loss = on_its_own(net, batch, row)
        found = batch.policy[row, :-1].reshape(LENGTH, LENGTH)
        np.testing.assert_allclose(found[:height, :width], policy, atol=1e-4)
        assert batch.win_loss[row] == pytest.approx(win_loss, abs=1e-4)
        assert (batch.policy[row, :-1].reshape(LENGTH, LENGTH)[height:] < -1000).all()
    whole = batch.policy.copy()
    np.round(batch.planes, out=batch.planes)
    made.run(batch, len(BOARDS))
    assert (np.abs(whole - batch.policy).max(axis=1) > 1e-3).all()  # 0.37 is not 0
    made.close()


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Callable[[Net], CudaBackend]:
    """Makes the backend of a GPU, on a stand-in."""
    stand_in_cuda.pretend(monkeypatch, at_once=True)
    monkeypatch.setattr(backends, "CUDA_SIZES", (1, 4))
    return lambda net: CudaBackend(net, LENGTH, torch.device("cpu"), torch.float32)


def test_a_gpu_gets_fractions_as_they_are(gpu: Callable[[Net], CudaBackend]) -> None:
    net = net_of()
    device = gpu(net)
    assert [lane.planes.dtype for lane in device.lanes] == [np.float32] * 2
    made, reference = NetEvaluator(net, device, LENGTH), NetEvaluator(net, TorchBackend(net, LENGTH, 1), LENGTH)
    mine, other = filled(made.new_batch(len(BOARDS))), filled(reference.new_batch(len(BOARDS)))
    made.run(mine, len(BOARDS))
    reference.run(other, len(BOARDS))
    np.testing.assert_allclose(mine.policy, other.policy, atol=1e-4)


def test_a_gpu_gets_binary_planes_as_bytes_and_fractions_called_binary_are_found_out(
    gpu: Callable[[Net], CudaBackend],
) -> None:
    assert gpu(Net(named("b2c16"))).lanes[0].planes.dtype == np.uint8
    net = net_of(replace(TOY, binary=True))
    with pytest.raises(EvaluatorError, match="differs from float32"):
        NetEvaluator(net, gpu(net), LENGTH).prepare()


def test_the_whole_choice_of_a_backend_takes_it() -> None:
    made = make_evaluator(net_of(), length=LENGTH, precision=Precision.FLOAT32)
    assert "OpenVINO" in made.description
    made.close()


def test_descriptions_hold_the_inputs_and_old_ones_mean_v7() -> None:
    assert NetConfig.from_json(config_of().to_json()) == config_of()
    plain = named("b2c16")
    assert "inputs" not in plain.to_json()
    assert NetConfig.from_json(plain.to_json()).inputs == V7
    for wrong in ({"name": "toy"}, config_of().to_json()["inputs"] | {"board": 5}):
        with pytest.raises(ValueError, match=r"description|plane 5"):
            NetConfig.from_json(config_of().to_json() | {"inputs": wrong})


def test_tensors_hold_it_and_katagos_file_does_not(tmp_path: Path) -> None:
    net = net_of()
    export_net(net, tmp_path / "toy.safetensors", name="toy")
    again = load_net(tmp_path / "toy.safetensors").net
    assert again.config == net.config
    assert torch.equal(again.conv_planes.weight, net.conv_planes.weight)
    with pytest.raises(NetFileError, match=r"'v7' only, and this one has 'toy'; write it as \.safetensors"):
        export_net(net, tmp_path / "toy.bin.gz", name="toy")
    assert not (tmp_path / "toy.bin.gz").exists()


def test_where_v7_is_needed_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="has inputs 'toy', and rows hold 'v7' only"):
        TrainConfig(config_of())
    scripted = ScriptedEvaluator(LENGTH, lambda *_: Answer(np.zeros(50, np.float32)), inputs=TOY)
    with pytest.raises(ValueError, match="the search encodes inputs 'v7', and the net has 'toy'"):
        SearchPool(scripted, slots=1, max_visits=10)
    monkeypatch.delitem(ENCODERS, TOY.name)
    with pytest.raises(EvaluatorError, match="nothing encodes positions as inputs 'toy'; known are: v7"):
        make_evaluator(net_of(), length=LENGTH)


@pytest.mark.parametrize("wrong", [{"planes": 0}, {"globals": -1}, {"board": 5}, {"komi_parity": 2}])
def test_declarations_that_contradict_themselves(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="inputs toy"):
        replace(TOY, **wrong)  # type: ignore[arg-type]
