"""Archives of arrays (``.npz``): written reproducibly, and read from a stranger without trusting it.

Knows the zip container and the ``.npy`` format; does not know what the arrays mean (``common/rows.py``). Nothing is
unpickled, and what is inflated is counted while it is inflated, whatever the archive's directory declares.
Specification: training-data.md 1, contribute-protocol.md 11 and 12.
"""

from __future__ import annotations

import io
import math
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import IO, Any, Final, cast

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

_EPOCH: Final = (1980, 1, 1, 0, 0, 0)
_COMPRESSION_LEVEL: Final = 6
_MAX_HEADER: Final = 4096
_CHUNK: Final = 1 << 18
_BROKEN: Final = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, OverflowError)
"""What zipfile raises for archives that are damaged, encrypted or compressed in another way."""


class RowsError(ValueError):
    """A file of rows, or an array of it, is not what it must be. ``reason`` is one short stable word for programs."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


@dataclass(frozen=True)
class Limits:
    """How much a reader takes from a file that it does not trust."""

    max_file_bytes: int
    max_unpacked_bytes: int
    max_rows: int
    max_members: int = 64


def to_bytes(arrays: Mapping[str, Array]) -> bytes:
    """An archive of ``arrays`` by member name, deflated, C order. Equal arrays give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            info = zipfile.ZipInfo(name, _EPOCH)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.external_attr = 0o644 << 16
            member = io.BytesIO()
            np.lib.format.write_array(member, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
            archive.writestr(info, member.getvalue(), compresslevel=_COMPRESSION_LEVEL)
    return buffer.getvalue()


def read_arrays(
    source: str | os.PathLike[str] | bytes, wanted: Mapping[str, np.dtype[Any]], limits: Limits
) -> dict[str, Array]:
    """Those of the ``wanted`` arrays (name: type) that the archive at a path, or in bytes, holds; others are dropped.

    A member may be named with or without ``.npy``. The first axis of each array counts rows. Raises ``RowsError``
    (reasons: too_big, not_zip, bad_member, duplicate, pickle, dtype, order), and ``OSError`` where the path cannot be
    read. Shapes are not checked.
    """
    if isinstance(source, bytes):
        size, file = len(source), cast(IO[bytes], io.BytesIO(source))
    else:
        size, file = os.path.getsize(source), open(source, "rb")  # noqa: SIM115  closed below, with the other branch
    with file:
        if size > limits.max_file_bytes:
            raise RowsError("too_big", f"the file has {size} bytes; at most {limits.max_file_bytes} are accepted")
        try:
            with zipfile.ZipFile(file) as archive:
                return _read_members(archive, wanted, limits)
        except _BROKEN as error:
            raise RowsError("not_zip", f"not a readable zip archive of arrays, perhaps cut short: {error}") from error


def rows_in_file(path: str | os.PathLike[str], member: str) -> int:
    """Rows that the array ``member`` of the archive at ``path`` declares; only its header is inflated.

    Raises ``RowsError`` (not_zip, missing, bad_member, pickle), ``OSError``.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            if member not in names:
                raise RowsError("missing", f"the archive lacks {member}")
            with archive.open(names[member]) as stream:
                shape, _, _ = _read_header(stream, member)
    except _BROKEN as error:
        raise RowsError("not_zip", f"not a readable zip archive of arrays, perhaps cut short: {error}") from error
    if not shape:
        raise RowsError("bad_member", f"the array {member} has no rows at all")
    return shape[0]


def _read_members(archive: zipfile.ZipFile, wanted: Mapping[str, np.dtype[Any]], limits: Limits) -> dict[str, Array]:
    """Inflate every member within the limits, keep the wanted ones."""
    members = archive.infolist()
    if len(members) > limits.max_members:
        raise RowsError("too_big", f"the archive has {len(members)} members; at most {limits.max_members} are accepted")
    found: dict[str, Array] = {}
    budget = limits.max_unpacked_bytes
    for info in members:
        name = info.filename.removesuffix(".npy")
        if name in found:
            raise RowsError("duplicate", f"the array {name} occurs twice")
        with archive.open(info) as stream:
            shape, dtype, fortran_order = _read_header(stream, info.filename)
            size = math.prod(shape) * dtype.itemsize
            if size > budget:
                raise RowsError("too_big", f"{name} unpacks to {size} bytes; {budget} are left of what is accepted")
            if name not in wanted:
                budget -= _inflate(stream, name, budget, None)
                continue
            if dtype != wanted[name]:
                raise RowsError("dtype", f"{name} holds {dtype.str}; expected {wanted[name].str}")
            if fortran_order and len(shape) > 1:
                raise RowsError("order", f"{name} is in Fortran order; C order is expected")
            if shape and shape[0] > limits.max_rows:
                raise RowsError("too_big", f"{name} has {shape[0]} rows; at most {limits.max_rows} are accepted")
            found[name] = _read_content(stream, name, shape, dtype)
            budget -= size
    return found


def _read_header(stream: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    """Shape, type and Fortran order of the ``.npy`` stream, which is left at the first byte of the content."""
    try:
        version = np.lib.format.read_magic(stream)
        if version not in {(1, 0), (2, 0)}:
            raise ValueError(f"version {version} of the .npy format")
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, fortran_order, dtype = read(stream, max_header_size=_MAX_HEADER)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise RowsError("bad_member", f"the member {name!r} is not a .npy array: {error}") from error
    if dtype.hasobject:
        raise RowsError("pickle", f"the array {name!r} holds Python objects; only plain numbers are accepted")
    if any(extent < 0 for extent in shape):
        raise RowsError("bad_member", f"the array {name!r} has a negative extent: {shape}")
    return shape, dtype, fortran_order


def _read_content(stream: IO[bytes], name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    size = math.prod(shape) * dtype.itemsize
    content = bytearray()
    used = _inflate(stream, name, size, content)
    if used != size:
        raise RowsError("bad_member", f"the array {name} is cut short: {used} of {size} bytes")
    return np.frombuffer(content, dtype).reshape(shape)


def _inflate(stream: IO[bytes], name: str, allowed: int, content: bytearray | None) -> int:
    """Read ``stream`` to its end, appending to ``content`` where given; refuse once it exceeds ``allowed`` bytes."""
    used = 0
    while chunk := stream.read(_CHUNK):
        used += len(chunk)
        if used > allowed:
            raise RowsError("too_big", f"the member {name!r} unpacks to more than the {allowed} bytes it may have")
        if content is not None:
            content += chunk
    return used
