"""What a net is: one frozen description from which the module is built, written into checkpoints and net files.

Knows the sizes and the names of the field's nets; knows nothing of tensors. Sizes: spec architectures.md 1.1 and 1.2,
suffixes: 1.3. A description read from a file (`nets.files.descriptions.config_of`) is an ordinary `NetConfig` as well.
"""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from common.inputs import V7, Inputs

CONVOLUTIONAL_VERSION: Final = 15
"""Model version of nets whose every part engines have known since December 2023."""
NEWEST_VERSION: Final = 17
"""Model version that promises transformer blocks, SiLU and RMS tips (and counts its policy channels)."""


class Multipliers(NamedTuple):
    """Factors from raw outputs to points, turns and squared errors, in the order of a net file's header."""

    td_score: float = 20.0
    score_mean: float = 20.0
    score_stdev: float = 20.0
    lead: float = 20.0
    variance_time: float = 40.0
    value_error: float = 0.25
    score_error: float = 150.0


DEFAULT_MULTIPLIERS: Final = Multipliers()


class Activation(enum.StrEnum):
    """Non-linearity between layers."""

    IDENTITY = "identity"
    RELU = "relu"
    MISH = "mish"
    SILU = "silu"


class NormKind(enum.StrEnum):
    """How activations are kept in scale (spec architectures.md 3.2)."""

    FIXUP = "fixup"
    FIXED_SCALE = "fixscale"
    ONE_NORM = "fixscaleonenorm"
    BATCH_NORM = "bnorm"


class TipKind(enum.StrEnum):
    """The norm at the end of the trunk."""

    STANDARD = "standard"
    RMS = "rms"
    RMS_SPATIAL = "rms_spatial"


class Rope(enum.StrEnum):
    """Rotary position embedding of an attention block."""

    NONE = "none"
    FIXED = "fixed"
    LEARNABLE = "learnable"


@dataclass(frozen=True)
class Residual:
    """Pre-activation residual block; ``pool`` > 0 makes that many of the ``mid`` channels globally pooled ones."""

    mid: int
    pool: int = 0
    kernel: int = 3


@dataclass(frozen=True)
class Attention:
    """Self-attention over the points of the board."""

    heads: int
    kv_heads: int
    query_dim: int
    value_dim: int
    rope: Rope
    theta: float = 100.0
    """Base of the fixed frequencies; unused by the other kinds."""


@dataclass(frozen=True)
class FeedForward:
    """Point-wise layers after an attention block; ``gated`` is SwiGLU."""

    hidden: int
    gated: bool = True


@dataclass(frozen=True)
class Nested:
    """Bottleneck: 1×1 to ``mid`` channels, the inner blocks there, 1×1 back."""

    mid: int
    inner: tuple[BlockSpec, ...]


BlockSpec = Residual | Nested | Attention | FeedForward
BLOCK_KINDS: Final[Mapping[str, type]] = {
    "residual": Residual,
    "nested": Nested,
    "attention": Attention,
    "feed_forward": FeedForward,
}


@dataclass(frozen=True)
class HeadSizes:
    """Widths inside the heads; the names of the spec's table are in parentheses."""

    policy: int
    """Channels of the policy head (p1), also the hidden width of the pass logit."""
    pool: int
    """Pooled channels of the policy head (g1)."""
    value: int
    """Channels of the value head (v1)."""
    hidden: int
    """Hidden width of the value head (v2)."""
    belief: int
    """Hidden width per bin of the score belief (sbv2)."""
    mixtures: int
    """Components of the score belief."""


@dataclass(frozen=True)
class NetConfig:
    """A net, declaratively.

    ``mid_channels`` and ``pool_channels`` are what a net file's header states; the blocks carry their own sizes.
    ``gamma`` matters for batch norm only: a scale in every norm. ``second_heads``: a second head set behind a batch
    norm at the trunk's end, for training only. ``linear_branches``: a 1×1 branch beside each 3×3 convolution, merged at
    export. ``version`` is the model version whose outputs the net has (spec model-format.md 2): an imported net keeps
    its file's, ``multipliers`` are the factors of its header.
    """

    name: str
    channels: int
    mid_channels: int
    pool_channels: int
    blocks: tuple[BlockSpec, ...]
    heads: HeadSizes
    norm: NormKind = NormKind.FIXUP
    gamma: bool = False
    activation: Activation = Activation.RELU
    tip: TipKind = TipKind.STANDARD
    second_heads: bool = False
    linear_branches: bool = False
    input_kernel: int = 3
    pass_hidden: bool = True
    q_values: bool = False
    pass_alive_suicide: bool = False
    """Pass-alive areas on input planes are to be computed as if multi-stone suicide were legal."""
    version: int = CONVOLUTIONAL_VERSION
    multipliers: Multipliers = DEFAULT_MULTIPLIERS
    inputs: Inputs = V7
    """What the net sees; other inputs than V7's are held by checkpoints and ``.safetensors`` alone."""
    extra_heads: tuple[str, ...] = ()
    """Heads of the table (`nets.architecture.heads`) that only nets have which name them."""

    def __post_init__(self) -> None:
        if self.second_heads and self.norm is not NormKind.ONE_NORM:
            raise ValueError(f"{self.name}: -bnh needs -fson, the one batch norm that its second heads sit behind")
        if self.tip is not TipKind.STANDARD and self.second_heads:
            raise ValueError(f"{self.name}: -bnh and an RMS tip exclude each other")
        if not self.blocks:
            raise ValueError(f"{self.name}: a net needs at least one block")

    def to_json(self) -> dict[str, Any]:
        """Plain data; `from_json` turns it back.

        V7's inputs and extra heads that there are not are left out, as before there were any.
        """
        plain = dataclasses.asdict(self)
        plain["blocks"] = [_block_to_json(block) for block in self.blocks]
        if self.inputs == V7:
            del plain["inputs"]
        if not self.extra_heads:
            del plain["extra_heads"]
        return plain

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> NetConfig:
        """Inverse of `to_json`. ValueError names an unknown or missing field."""
        known = {field.name for field in dataclasses.fields(NetConfig)}
        if unknown := sorted(set(data) - known):
            raise ValueError(f"net description: unknown field {unknown[0]!r}")
        try:
            return NetConfig(
                **dict(data)
                | {
                    "blocks": tuple(_block_from_json(block) for block in data["blocks"]),
                    "heads": HeadSizes(**data["heads"]),
                    "norm": NormKind(data["norm"]),
                    "activation": Activation(data["activation"]),
                    "tip": TipKind(data["tip"]),
                    "multipliers": Multipliers(*data["multipliers"]),
                    "inputs": Inputs(**data["inputs"]) if "inputs" in data else V7,
                    "extra_heads": tuple(data.get("extra_heads", ())),
                }
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"net description: {error}") from error

    def dumps(self) -> str:
        """The description as one line of JSON."""
        return json.dumps(self.to_json(), sort_keys=True)

    @property
    def has_transformers(self) -> bool:
        """Whether any block, nested ones included, is an attention or feed-forward block."""
        return any(isinstance(block, Attention | FeedForward) for block in walk_blocks(self.blocks))


def walk_blocks(blocks: tuple[BlockSpec, ...]) -> list[BlockSpec]:
    """All blocks in file order, each nested block before its inner ones."""
    found: list[BlockSpec] = []
    for block in blocks:
        found.append(block)
        if isinstance(block, Nested):
            found += walk_blocks(block.inner)
    return found


def _block_to_json(block: BlockSpec) -> dict[str, Any]:
    kind = next(name for name, cls in BLOCK_KINDS.items() if isinstance(block, cls))
    plain = {"kind": kind} | dataclasses.asdict(block)
    if isinstance(block, Nested):
        plain["inner"] = [_block_to_json(inner) for inner in block.inner]
    return plain


def _block_from_json(data: Mapping[str, Any]) -> BlockSpec:
    values = dict(data)
    kind = values.pop("kind", None)
    if kind not in BLOCK_KINDS:
        raise ValueError(f"net description: unknown block kind {kind!r}")
    if kind == "nested":
        values["inner"] = tuple(_block_from_json(inner) for inner in values["inner"])
    if kind == "attention":
        values["rope"] = Rope(values["rope"])
    block: BlockSpec = BLOCK_KINDS[kind](**values)
    return block


@dataclass(frozen=True)
class _Base:
    """One line of the size tables."""

    channels: int
    mid: int
    pool: int
    blocks: tuple[BlockSpec, ...]
    heads: HeadSizes


def _convolutional(
    channels: int,
    mid: int,
    pool: int,
    blocks: int,
    pooling: tuple[int, ...],
    heads: tuple[int, int, int, int, int, int],
    inner: int = 0,
) -> _Base:
    """``pooling`` holds 1-based indices of the pooling blocks; ``inner`` > 0 makes nested bottlenecks of that many."""
    specs: list[BlockSpec] = []
    for index in range(1, blocks + 1):
        pooled = pool if index in pooling else 0
        if inner:
            first, others = Residual(mid, pooled), (Residual(mid),) * (inner - 1)
            specs.append(Nested(mid, (first, *others)))
        else:
            specs.append(Residual(mid, pooled))
    return _Base(channels, mid, pool, tuple(specs), HeadSizes(*heads))


def _transformer(
    channels: int,
    mid: int,
    hidden: int,
    heads: int,
    blocks: int,
    sizes: tuple[int, int, int, int, int],
    *,
    rope: Rope = Rope.LEARNABLE,
    nested: int = 0,
    gated: bool = True,
    grouped: tuple[int, int, int] | None = None,
    convolutional: int = 0,
) -> _Base:
    """``sizes``: p1 = g1 = the header's pool channels, v1, v2, sbv2, mixtures. ``nested``: transformer layers in each
    nested bottleneck, 0 = none. ``grouped``: KV heads, query and value dimension. ``convolutional``: blocks before."""
    width = mid if nested else channels
    kv_heads, query_dim, value_dim = grouped or (heads, width // heads, width // heads)
    layer = (Attention(heads, kv_heads, query_dim, value_dim, rope), FeedForward(hidden, gated))
    front: tuple[BlockSpec, ...]
    if nested:
        layers: tuple[BlockSpec, ...] = (Nested(mid, layer * nested),) * blocks
        front = (Nested(mid, (Residual(mid), Residual(mid))),) * convolutional
    else:
        layers = layer * blocks
        front = (Residual(mid),) * convolutional
    p1, v1, v2, sbv2, mixtures = sizes
    pool = 32 if p1 == 16 else p1
    return _Base(channels, mid, pool, front + layers, HeadSizes(p1, p1, v1, v2, sbv2, mixtures))


def _every(step: int, last: int, first: int | None = None) -> tuple[int, ...]:
    return tuple(range(step if first is None else first, last + 1, step))


_H32S, _H32M, _H32L = (32, 32, 32, 80, 64, 6), (32, 32, 32, 96, 80, 8), (48, 48, 48, 112, 96, 8)
_H48, _H64 = (48, 48, 96, 128, 112, 8), (64, 64, 96, 144, 128, 8)
_T32, _T48, _T64, _T96 = (32, 32, 96, 80, 8), (48, 96, 96, 96, 8), (64, 128, 128, 128, 8), (96, 192, 192, 192, 8)
_FIXED = Rope.FIXED

_BASES: Final[Mapping[str, _Base]] = {
    "b1c6nbt": _convolutional(6, 4, 4, 1, (), (4, 4, 4, 6, 4, 2), 2),
    "b2c16": _convolutional(16, 16, 8, 2, (2,), (8, 8, 8, 12, 12, 2)),
    "b2c32": _convolutional(32, 32, 16, 3, (2,), (12, 12, 12, 24, 24, 4)),
    "b4c32": _convolutional(32, 32, 16, 4, (3,), (12, 12, 12, 24, 24, 4)),
    "b6c96": _convolutional(96, 96, 32, 6, (3, 5), (32, 32, 32, 64, 48, 4)),
    "b10c128": _convolutional(128, 128, 32, 10, (5, 8), _H32S),
    "b5c192nbt": _convolutional(192, 96, 32, 5, (2, 4), _H32S, 2),
    "b8c192nbt": _convolutional(192, 96, 32, 8, (3, 6), _H32S, 2),
    "b15c192": _convolutional(192, 192, 64, 15, (7, 12), _H32M),
    "b10c256nbt": _convolutional(256, 128, 64, 10, (3, 6, 9), _H32M, 2),
    "b20c256": _convolutional(256, 256, 64, 20, (7, 12, 17), _H32L),
    "b10c384nbt": _convolutional(384, 192, 64, 10, (3, 6, 9), _H32L, 2),
    "b10c480nb3t": _convolutional(480, 160, 64, 10, (3, 6, 9), _H32L, 3),
    "b30c320": _convolutional(320, 320, 96, 30, _every(5, 26, 6), _H48),
    "b40c256": _convolutional(256, 256, 64, 40, _every(5, 36, 6), _H48),
    "b18c384nbt": _convolutional(384, 192, 64, 18, _every(3, 15), _H48, 2),
    "b40c384": _convolutional(384, 384, 128, 40, _every(5, 36, 6), _H64),
    "b60c320": _convolutional(320, 320, 96, 60, _every(5, 56, 6), _H64),
    "b20c640nbt": _convolutional(640, 320, 96, 20, _every(3, 18), _H64, 2),
    "b32c448nbt": _convolutional(448, 224, 64, 32, _every(3, 30), _H64, 2),
    "b28c512nbt": _convolutional(512, 256, 64, 28, _every(3, 27), (64, 64, 128, 144, 128, 8), 2),
    "b40c768nbt": _convolutional(768, 384, 128, 40, _every(3, 39), (128, 128, 256, 256, 256, 8), 2),
    "b5c48h3tfr": _transformer(48, 48, 128, 3, 5, (16, 16, 48, 32, 4), rope=_FIXED, gated=False),
    "b7c96h3tfrs": _transformer(96, 96, 256, 3, 7, (32, 32, 64, 48, 4), rope=_FIXED),
    "b8c96h3tfrs": _transformer(96, 96, 256, 3, 8, (32, 32, 64, 48, 4), rope=_FIXED),
    "b7c96h6kv3qk32v16tflrs": _transformer(96, 96, 256, 6, 7, (32, 32, 64, 48, 4), grouped=(3, 32, 16)),
    "b14c192h6tfrs": _transformer(192, 192, 512, 6, 14, _T32, rope=_FIXED),
    "b14c192h6tflrs": _transformer(192, 192, 512, 6, 14, _T32),
    "b22c192h6tfrs": _transformer(192, 192, 512, 6, 22, _T48, rope=_FIXED),
    "b16c256h8tfrs": _transformer(256, 256, 768, 8, 16, _T48, rope=_FIXED),
    "b21c384h12tfrs": _transformer(384, 384, 1024, 12, 21, _T64, rope=_FIXED),
    "b21c384h12tflrs": _transformer(384, 384, 1024, 12, 21, _T64),
    "b45c384h12tflrs": _transformer(384, 384, 1024, 12, 45, _T96),
    "b30c512h16tflrs": _transformer(512, 512, 1536, 16, 30, _T96),
    "b5c192h3nbttfrs": _transformer(192, 96, 256, 3, 5, (32, 32, 64, 48, 4), rope=_FIXED, nested=2),
    "b4c256h4nbttflrs": _transformer(256, 128, 384, 4, 4, (32, 32, 80, 64, 6), nested=2),
    "b5c384h6nbttflrs": _transformer(384, 192, 512, 6, 5, _T32, nested=2),
    "b6c384h6nbttflrs": _transformer(384, 192, 512, 6, 6, _T32, nested=2),
    "b7c384h6nbttflrs": _transformer(384, 192, 512, 6, 7, _T32, nested=2),
    "b10c384h6nbttflrs": _transformer(384, 192, 512, 6, 10, _T48, nested=2),
    "b9c768h12nbttflrs": _transformer(768, 384, 1024, 12, 9, _T64, nested=2),
    "b14c512h8nbttflrs": _transformer(512, 256, 768, 8, 14, _T64, nested=2),
    "b15c512h8nbttflrs": _transformer(512, 256, 768, 8, 15, _T64, nested=2),
    "b10c512h8nbt3tflrs": _transformer(512, 256, 768, 8, 10, _T64, nested=3),
    "b13c1024h16nbttflrs": _transformer(1024, 512, 1536, 16, 13, _T96, nested=2),
    "b11c768h12nbt3tflrs": _transformer(768, 384, 1152, 12, 11, _T96, nested=3),
    "b14c768h12nbt3tflrs": _transformer(768, 384, 1152, 12, 14, _T96, nested=3),
    "b15c1024h16nbt3tflrs": _transformer(1024, 512, 1536, 16, 15, _T96, nested=3),
    "b2b10c96h3tfrs": _transformer(96, 96, 256, 3, 10, (32, 32, 64, 48, 4), rope=_FIXED, convolutional=2),
    "b2b13c192h6tfrs": _transformer(192, 192, 512, 6, 13, _T32, rope=_FIXED, convolutional=2),
    "b2b5c384h6nbttflrs": _transformer(384, 192, 512, 6, 5, _T32, nested=2, convolutional=2),
    "b4b4c384h6nbttflrs": _transformer(384, 192, 512, 6, 4, _T32, nested=2, convolutional=4),
}

_SUFFIXES: Final[Mapping[str, Mapping[str, Any]]] = {
    "fs": {"norm": NormKind.FIXED_SCALE},
    "fson": {"norm": NormKind.ONE_NORM},
    "bn": {"norm": NormKind.BATCH_NORM},
    "bng": {"norm": NormKind.BATCH_NORM, "gamma": True},
    "mish": {"activation": Activation.MISH},
    "silu": {"activation": Activation.SILU},
    "rvgl": {"linear_branches": True},
    "bnh": {"second_heads": True},
    "rnh": {"tip": TipKind.RMS},
    "rsnh": {"tip": TipKind.RMS_SPATIAL},
    "q": {"q_values": True},
}


def base_names() -> list[str]:
    """Names of all sizes, smallest tables first, without suffixes."""
    return list(_BASES)


def suffix_names() -> list[str]:
    """All suffixes, with their dash."""
    return [f"-{suffix}" for suffix in _SUFFIXES]


def named(name: str) -> NetConfig:
    """The net called ``name``: a size and suffixes, e.g. ``b10c384nbt-fson-mish-rvgl-bnh``.

    ValueError names what is unknown or contradictory.
    """
    base_name, *suffixes = name.split("-")
    if base_name not in _BASES:
        raise ValueError(f"no net size is called {base_name!r}; there are: {', '.join(_BASES)}")
    base = _BASES[base_name]
    options: dict[str, Any] = {}
    for suffix in suffixes:
        if suffix not in _SUFFIXES:
            known = ", ".join(suffix_names())
            raise ValueError(f"{name}: unknown suffix -{suffix}; there are: {known}")
        for key, value in _SUFFIXES[suffix].items():
            if key in options:
                raise ValueError(f"{name}: -{suffix} repeats or contradicts an earlier suffix")
            options[key] = value
    config = NetConfig(name, base.channels, base.mid, base.pool, base.blocks, base.heads, **options)
    return dataclasses.replace(config, version=written_version(config))


def written_version(config: NetConfig) -> int:
    """The model version that a file of this net should have: the oldest whose engines make use of all that it says.

    The flag of pass-alive areas is such a thing: engines of version 15 skip it unread (model-format.md 3), and would
    play as if the net were another.
    """
    newest = (
        config.has_transformers
        or config.activation is Activation.SILU
        or config.tip is not TipKind.STANDARD
        or config.q_values
        or config.pass_alive_suicide
    )
    return NEWEST_VERSION if newest else CONVOLUTIONAL_VERSION
