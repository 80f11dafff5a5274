"""Net files: what is read equals what is written, and whatever is wrong with a file is said quickly and by name."""

from __future__ import annotations

import contextlib
import dataclasses
import gzip
import io
import math
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nets.architecture.config import NormKind
from nets.files.exchange import module_of, record_of
from nets.files.grammar import CAPABILITIES, Blocks, Floats, NetFileError, Part
from nets.files.katago_file import _Sink, _write_record, read_net, write_net
from nets.files.records import NestedRecord, NetRecord
from tests import FIXTURES
from tests.oracles import oracle_path

NET_FILES = FIXTURES / "nets"
WRITTEN = sorted(NET_FILES.glob("*.bin.gz"))
RANDOM = [
    "b1b2c48h4kv2qk16v8tflrs-fson-mish-bnh-r1",
    "b2c32nbt-fson-mish-q-r1",
    "b2c64h2nbttflrs-fson-silu-rsnh-r1",
    "b2c64h2nbttflrs-fson-silu-rsnh-v15-r1",
    "b3c32-bn-v12-r1",
    "b3c40-fixup-r1",
    "b3c48nbt-fson-mish-rvgl-bnh-r1",
    "b4c32-bng-r1",
]
ORACLES = [
    "nets/g170-b6c96-s175395328-d26788732.bin.gz",
    "nets/b7c96h3tfrs-test5-cnorm.bin.gz",
    *(f"nets/random/{name}.bin.gz" for name in RANDOM),
]
MINI = NET_FILES / "mini-nbttflrs-fson-silu-rsnh.bin.gz"


def mini() -> NetRecord:
    return read_net(MINI)


@pytest.mark.parametrize("name", ORACLES)
def test_katagos_files_are_rewritten_to_the_byte(name: str, tmp_path: Path) -> None:
    path = oracle_path(name)
    write_net(read_net(path), tmp_path / "again.bin.gz")
    assert gzip.decompress((tmp_path / "again.bin.gz").read_bytes()) == gzip.decompress(path.read_bytes())


def test_worked_example_of_the_spec() -> None:
    net = read_net(oracle_path(ORACLES[0]))
    assert (net.name, net.version, net.score_error) == ("g170-b6c96-s175395328-d26788732", 8, 30.0)
    first = net.trunk.conv_planes
    assert first.name == "conv1"
    assert first.weights.shape == (5, 5, 22, 96)
    assert first.weights[0, 0, 0, 0] == np.float32(-0.36864412)
    assert float(first.weights.astype(np.float64).sum()) == pytest.approx(-355.905, abs=1e-3)
    assert [block.KEYWORD for block in net.trunk.blocks] == [
        "ordinary_block",
        "ordinary_block",
        "gpool_block",
        "ordinary_block",
        "gpool_block",
        "ordinary_block",
    ]
    last = net.value_head.conv_ownership
    assert last.name == "vownership/w"
    assert float(last.weights.astype(np.float64).sum()) == pytest.approx(-0.171224, abs=1e-6)


@pytest.mark.parametrize("suffix", [".bin.gz", ".txt.gz", ".bin", ".txt", ".gz"])
@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_every_format_holds_the_same_net(path: Path, suffix: str, tmp_path: Path) -> None:
    write_net(read_net(path), tmp_path / f"net{suffix}")
    write_net(read_net(tmp_path / f"net{suffix}"), tmp_path / "again.bin.gz")
    assert gzip.decompress((tmp_path / "again.bin.gz").read_bytes()) == gzip.decompress(path.read_bytes())


def test_text_behind_a_bare_gz_is_found(tmp_path: Path) -> None:
    write_net(mini(), tmp_path / "net.txt.gz")
    (tmp_path / "net.txt.gz").rename(tmp_path / "net.gz")
    assert read_net(tmp_path / "net.gz").name == mini().name


def test_capabilities_follow_the_spec() -> None:
    assert sorted(CAPABILITIES) == list(range(8, 18))
    assert [line.misc_outputs for line in CAPABILITIES.values()] == [4] + [6] * 9
    assert [line.policy_channels for line in CAPABILITIES.values()] == [1, 1, 1, 1, 2, 2, 2, 2, 4, 2]
    assert [version for version, line in CAPABILITIES.items() if line.multipliers] == list(range(13, 18))
    assert [version for version, line in CAPABILITIES.items() if line.options] == [15, 16, 17]


# -- files that are not nets ----------------------------------------------------------------------------------------


def refusal(path: Path) -> str:
    """The text of the refusal; it must come within 40 MB."""
    tracemalloc.start()
    with pytest.raises(NetFileError) as caught:
        read_net(path)
    assert tracemalloc.get_traced_memory()[1] < 40 << 20
    tracemalloc.stop()
    assert str(caught.value).startswith(path.name)
    return str(caught.value)


def packed(content: bytes, path: Path) -> Path:
    path.write_bytes(gzip.compress(content, 1, mtime=0))
    return path


def plain() -> bytes:
    return gzip.decompress(MINI.read_bytes())


def test_not_gzip(tmp_path: Path) -> None:
    path = tmp_path / "net.bin.gz"
    path.write_bytes(b"PK\x03\x04 this is a zip")
    assert "damaged" in refusal(path)


def test_unknown_ending(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    path.write_bytes(b"x")
    assert "ends in .bin.gz" in refusal(path)


def test_empty_file(tmp_path: Path) -> None:
    assert "ends where model name should stand" in refusal(packed(b"", tmp_path / "net.bin.gz"))


@pytest.mark.parametrize("part", [0.0005, 0.01, 0.3, 0.6, 0.9, 0.9999])
def test_truncated(part: float, tmp_path: Path) -> None:
    content = plain()
    text = refusal(packed(content[: int(len(content) * part)], tmp_path / "net.bin.gz"))
    assert "trunca" in text or "ends" in text or "does not begin" in text
    path = tmp_path / "cut.bin.gz"
    path.write_bytes(MINI.read_bytes()[: int(MINI.stat().st_size * part)])
    assert "truncated" in refusal(path)


def test_truncated_text(tmp_path: Path) -> None:
    write_net(mini(), tmp_path / "net.txt")
    whole = (tmp_path / "net.txt").read_bytes()
    (tmp_path / "net.txt").write_bytes(whole[: len(whole) // 2])
    refusal(tmp_path / "net.txt")


def test_damaged_stream(tmp_path: Path) -> None:
    content = bytearray(MINI.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path = tmp_path / "net.bin.gz"
    path.write_bytes(content)
    refusal(path)


def test_goes_on_after_its_end(tmp_path: Path) -> None:
    assert "goes on" in refusal(packed(plain() + b"\n more", tmp_path / "net.bin.gz"))


def test_bomb_of_blanks(tmp_path: Path) -> None:
    assert "far more" in refusal(packed(b"net\n17\n" + b" " * (64 << 20), tmp_path / "net.bin.gz"))


def test_bomb_of_zeros_behind_sound_sizes(tmp_path: Path) -> None:
    head = b"net\n8\n22\n19\ntrunk\n6\n96\n96\n64\n32\n32\nconv1\n99\n99\n22\n9000\n1\n1\n@BIN@"
    assert "more than a file of this size can hold" in refusal(packed(head + bytes(64 << 20), tmp_path / "net.bin.gz"))


def test_endless_token(tmp_path: Path) -> None:
    assert "no net file" in refusal(packed(b"x" * 100_000, tmp_path / "net.bin.gz"))


@pytest.mark.parametrize("version", ["0", "2", "3", "5", "7", "18", "-1", "x", "1e3"])
def test_versions_are_refused_by_name(version: str, tmp_path: Path) -> None:
    text = refusal(packed(f"net\n{version}\n22\n19\n".encode(), tmp_path / "net.bin.gz"))
    if version in ("3", "5", "7"):
        assert "input features" in text
    assert version in text


def test_metadata_nets_are_refused_by_name(tmp_path: Path) -> None:
    content = plain().replace(b"150.0\n0\n0\n", b"150.0\n1\n0\n", 1)
    assert content != plain()
    assert "human-style metadata" in refusal(packed(content, tmp_path / "net.bin.gz"))


def test_deep_nesting(tmp_path: Path) -> None:
    net = mini()
    start = plain().index(b"nested_bottleneck_block")
    end = plain().index(b"transformer_attention_block")
    content = plain()[:start] + plain()[start:end] * 50
    assert "deep" in refusal(packed(content, tmp_path / "net.bin.gz"))
    assert net.trunk.num_blocks == 1


# -- one token or number wrong --------------------------------------------------------------------------------------


class Pieces(_Sink):
    """Keeps what is written as a list: tokens with their line's end, and float blocks."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), binary=True)
        self.pieces: list[bytes] = []

    def token(self, text: str) -> None:
        self.pieces.append(text.encode() + b"\n")

    def floats(self, values: Any) -> None:
        self.pieces.append(b"@BIN@" + values.tobytes() + b"\n")


def pieces_of(net: NetRecord) -> list[bytes]:
    """The file of ``net`` in pieces, without the checks of `write_net`, as a careless or hostile program would."""
    sink = Pieces()
    sink.token(net.name)
    sink.token(str(net.version))
    _write_record(sink, net, net.capabilities)
    return sink.pieces


def write_unchecked(net: NetRecord, path: Path) -> Path:
    return packed(b"".join(pieces_of(net)), path)


@pytest.mark.parametrize("source", [MINI, NET_FILES / "mini-bng-5x5.bin.gz"], ids=lambda path: path.stem)
def test_every_integer_that_is_wrong_is_refused(source: Path, tmp_path: Path) -> None:
    """Each integer of the file, one larger, negative and absurd: refused, never another exception."""
    pieces = pieces_of(read_net(source))
    integers = [index for index, piece in enumerate(pieces) if piece.strip().isdigit()]
    assert len(integers) > 100
    harmless = set()
    for index in integers:
        right = int(pieces[index])
        for wrong in (right + 1, -3, 10**15):
            changed = [*pieces[:index], b"%d\n" % wrong, *pieces[index + 1 :]]
            try:
                read_net(packed(b"".join(changed), tmp_path / "net.bin.gz"))
                harmless.add(index)
            except NetFileError:
                pass
    trunk = pieces.index(b"trunk\n")
    allowed = {trunk + offset for offset in (3, 4, 5, 6)}  # sizes that the header only states
    allowed.add(pieces.index(b"150.0\n") + 2)  # pass-alive areas as if suicide were legal
    if pieces[trunk + 7] == b"1\n":
        spatial = pieces.index(b"model.norm_trunkfinal\n") + 3
        allowed |= {spatial} if pieces[spatial] == b"0\n" else set()  # 1 is as good as 0, but 2 is not
    assert harmless == allowed


def float_blocks(record: Any) -> Iterator[tuple[Any, str]]:
    for part in record.GRAMMAR:
        value = getattr(record, part.name, None) if isinstance(part, Part | Blocks | Floats) else None
        if isinstance(part, Floats) and value is not None:
            yield record, part.name
        elif isinstance(part, Part) and value is not None:
            yield from float_blocks(value)
        elif isinstance(part, Blocks) and value is not None:
            for block in value:
                yield from float_blocks(block)


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_files_of_ours_come_out_of_a_module_to_the_byte(path: Path, tmp_path: Path) -> None:
    """Today's exporter writes what KataGo judged when the fixtures were made.

    Only the last bit of a scale K·γ can differ: a module keeps γ - 1 in float32, so a scale that is read becomes
    K·(1 + (K·γ / K - 1)) with a rounding at each step.
    """
    record = read_net(path)
    net = module_of(record)
    again = record_of(net, record.name)
    for (old, name), (new, _) in zip(float_blocks(record), float_blocks(again), strict=True):
        if name == "scale" and net.config.norm in (NormKind.FIXED_SCALE, NormKind.ONE_NORM):
            np.testing.assert_array_max_ulp(new.scale, old.scale, maxulp=1)
            new.scale = old.scale
    write_net(again, tmp_path / "again.bin.gz")
    assert gzip.decompress((tmp_path / "again.bin.gz").read_bytes()) == gzip.decompress(path.read_bytes())


def test_a_scale_with_fixed_part_may_lose_its_last_bit_in_a_module() -> None:
    """The one number of the fixtures for which that happens: K = 1/√3 at the exit of two inner blocks."""
    record = read_net(NET_FILES / "mini-nbt-fson-mish-rvgl-bnh.bin.gz")
    read, written = (net.trunk.blocks[1] for net in (record, record_of(module_of(record), record.name)))
    assert isinstance(read, NestedRecord)
    assert isinstance(written, NestedRecord)
    assert read.norm2.scale is not None
    assert written.norm2.scale is not None
    (channel,) = np.flatnonzero(read.norm2.scale != written.norm2.scale)
    scale, k = read.norm2.scale[channel], np.float32(3**-0.5)
    gamma = np.float32(float(scale) / float(k) - 1.0)
    assert written.norm2.scale[channel] == k * (np.float32(1.0) + gamma) == np.nextafter(scale, np.float32(1.0))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused_by_layer(bad: float, tmp_path: Path) -> None:
    net = mini()
    blocks = list(float_blocks(net))
    assert len(blocks) > 30
    for record, name in blocks:
        values = getattr(record, name)
        kept, values.flat[-1] = values.flat[-1], bad
        text = refusal(write_unchecked(net, tmp_path / "net.bin.gz"))
        assert repr(record.name) in text
        with pytest.raises(NetFileError, match="finite"):
            write_net(net, tmp_path / "out.bin.gz")
        values.flat[-1] = kept
    assert not (tmp_path / "out.bin.gz").exists()


@pytest.mark.parametrize(
    ("field", "value"), [("score_mean", 0.0), ("lead", -20.0), ("score_error", math.nan), ("value_error", math.inf)]
)
def test_multipliers_must_be_above_zero(field: str, value: float, tmp_path: Path) -> None:
    net = mini()
    setattr(net, field, value)
    refusal(write_unchecked(net, tmp_path / "net.bin.gz"))
    with pytest.raises(NetFileError, match=field):
        write_net(net, tmp_path / "out.bin.gz")


@pytest.mark.parametrize("name", ["", "a b", "x" * 97, "net.bin", "dots.are.bad", "slash/es"])
def test_model_names(name: str, tmp_path: Path) -> None:
    with pytest.raises(NetFileError, match="model name"):
        write_net(dataclasses.replace(mini(), name=name), tmp_path / "out.bin.gz")


def test_epsilon(tmp_path: Path) -> None:
    for epsilon in (0.0, -1e-6, math.nan, 2.0):
        net = mini()
        assert net.trunk.rms_tip is not None
        net.trunk.rms_tip.epsilon = epsilon
        refusal(write_unchecked(net, tmp_path / "net.bin.gz"))


def test_reserved_options_must_be_zero(tmp_path: Path) -> None:
    content = plain()
    zeros = b"150.0\n" + b"0\n" * 8
    for index in range(1, 8):
        wrong = b"150.0\n" + b"0\n" * index + b"7\n" + b"0\n" * (7 - index)
        assert "7" in refusal(packed(content.replace(zeros, wrong, 1), tmp_path / "net.bin.gz"))


@pytest.mark.parametrize("seed", range(30))
def test_random_damage_never_surprises(seed: int, tmp_path: Path) -> None:
    """Flip, drop or repeat a few bytes anywhere: a net or a NetFileError comes out, nothing else."""
    random = np.random.default_rng(seed)
    content = bytearray(plain())
    for _ in range(3):
        at = int(random.integers(len(content)))
        kind = random.integers(3)
        if kind == 0:
            content[at] = int(random.integers(256))
        elif kind == 1:
            del content[at : at + int(random.integers(1, 9))]
        else:
            content[at:at] = content[at : at + int(random.integers(1, 9))]
    with contextlib.suppress(NetFileError):
        assert read_net(packed(bytes(content), tmp_path / "net.bin.gz")).trunk.blocks


def test_a_binary_file_that_is_called_a_text_is_told_as_that(tmp_path: Path) -> None:
    (tmp_path / "net.txt.gz").write_bytes(MINI.read_bytes())
    told = refusal(tmp_path / "net.txt.gz")
    assert told.endswith("its numbers are binary, so its name should end in .bin or .bin.gz")


def test_what_is_no_number_is_told_in_letters(tmp_path: Path) -> None:
    write_net(mini(), tmp_path / "net.txt")
    before, number, after = (tmp_path / "net.txt").read_bytes().rpartition(b" ")
    (tmp_path / "net.txt").write_bytes(before + number + b"\xff\x01" + b"z" * 100 + b" " + after)
    assert refusal(tmp_path / "net.txt").endswith(f"'\\xff\\x01{'z' * 38}' is no number")
