"""One pass over the memory for what stands between two convolutions of a trunk on CUDA: bias, norm, activation, mask.

As separate torch operations these took 58 % of a b18c384nbt's time on an H200 (docs/benchmarks.md), all of it waiting
for memory. The kernel is compiled by NVRTC, which comes with torch, so no machine needs a compiler; without
`cuda.bindings`, which torch's own CUDA builds bring along, torch's operations do the work.
"""

from __future__ import annotations

import ctypes
import logging
from functools import cache
from typing import Any, Final

import torch
from torch import Tensor, nn

from nets.architecture.config import Activation
from nets.architecture.layers import Board, Norm

VECTOR: Final = 8
"""Channels that a thread handles: 16 bytes, the widest load."""
THREADS: Final = 256

_NARROW: Final = {
    torch.float16: (
        'asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(bits));',
        'asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(wide));',
    ),
    torch.bfloat16: (
        "wide = __uint_as_float((unsigned int)bits << 16);",
        'asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(wide));',
    ),
}
"""How a 16-bit number becomes a float and back, in PTX: CUDA's headers are not on every machine."""
_ACTIVATIONS: Final = {
    Activation.IDENTITY: "return v;",
    Activation.RELU: "return v < 0.0f ? 0.0f : v;",  # keeps a NaN
    Activation.SILU: "return v / (1.0f + __expf(-v));",
    # v · tanh(log(1 + e^v)), written with n = e^v (e^v + 2): tanh = n / (n + 2)
    Activation.MISH: "if (v > 20.0f) return v; float e = __expf(v), n = e * (e + 2.0f); return v * (n / (n + 2.0f));",
}
_SOURCE: Final = """
struct __align__(16) Vector { unsigned short bits[VECTOR]; };

__device__ __forceinline__ float widen(unsigned short bits) { float wide; WIDEN return wide; }
__device__ __forceinline__ unsigned short narrow(float wide) { unsigned short bits; NARROW return bits; }
__device__ __forceinline__ float activate(float v) { ACTIVATE }

extern "C" __global__ void preactivate(
    const Vector* __restrict__ x, const Vector* __restrict__ bias, const float* __restrict__ scale,
    const float* __restrict__ shift, const float* __restrict__ mask, Vector* __restrict__ y,
    unsigned int vectors, unsigned int channel_vectors, unsigned int points)
{
    unsigned int index = blockIdx.x * THREADS + threadIdx.x;
    if (index >= vectors) return;
    unsigned int place = index / channel_vectors, channel = index - place * channel_vectors;
    Vector value = x[index], extra;
    if (bias) extra = bias[place / points * channel_vectors + channel];
    float on_board = mask ? mask[place] : 1.0f;
    #pragma unroll
    for (int i = 0; i < VECTOR; i++) {
        float v = widen(value.bits[i]);
        if (bias) v += widen(extra.bits[i]);
        v = activate(v * scale[channel * VECTOR + i] + shift[channel * VECTOR + i]);
        value.bits[i] = narrow(v * on_board);
    }
    y[index] = value;
}
"""

_log = logging.getLogger(__name__)


def source_of(dtype: torch.dtype, activation: Activation) -> str:
    """CUDA C++ of the kernel ``preactivate`` for tensors of ``dtype`` (float16 or bfloat16)."""
    widen, narrow = _NARROW[dtype]
    words = {"WIDEN": widen, "NARROW": narrow, "ACTIVATE": _ACTIVATIONS[activation]}
    text = f"#define VECTOR {VECTOR}\n#define THREADS {THREADS}\n{_SOURCE}"
    for word, code in words.items():
        text = text.replace(f" {word} ", f" {code} ")
    return text


def compiled(source: str, capability: tuple[int, int]) -> bytes:
    """Machine code of ``source`` for GPUs of that compute capability; RuntimeError with the compiler's words."""
    from cuda.bindings import nvrtc

    error, program = nvrtc.nvrtcCreateProgram(source.encode(), b"preactivate.cu", 0, [], [])
    _check(error)
    options = [f"--gpu-architecture=sm_{capability[0]}{capability[1]}".encode()]
    (error,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if int(error):
        _, size = nvrtc.nvrtcGetProgramLogSize(program)
        words = b" " * size
        nvrtc.nvrtcGetProgramLog(program, words)
        raise RuntimeError(f"NVRTC: {words.decode(errors='replace').strip()}")
    error, size = nvrtc.nvrtcGetCUBINSize(program)
    _check(error)
    code: bytes = b" " * size
    _check(*nvrtc.nvrtcGetCUBIN(program, code))
    nvrtc.nvrtcDestroyProgram(program)
    return code


def _check(error: Any) -> None:
    if int(error):
        raise RuntimeError(f"CUDA: {error!r}")


@cache
def _function(dtype: torch.dtype, activation: Activation, device: int) -> Any:
    """The loaded kernel; it stays for the life of the process."""
    from cuda.bindings import driver

    code = compiled(source_of(dtype, activation), torch.cuda.get_device_capability(device))
    torch.cuda.synchronize(device)  # makes torch's context the thread's current one
    error, module = driver.cuModuleLoadData(code)
    _check(error)
    error, function = driver.cuModuleGetFunction(module, b"preactivate")
    _check(error)
    return function


class FusedPreactivation:
    """``act(norm(x + bias))``, 0 off board, for one norm of a net in inference."""

    def __init__(self, norm: Norm, activation: Activation, dtype: torch.dtype, device: torch.device) -> None:
        scale, shift = norm.affine()
        self._scale, self._shift = scale.float().contiguous(), shift.float().contiguous()
        self._function = _function(dtype, activation, device.index or 0)

    def __call__(self, x: Tensor, bias: Tensor | None, board: Board) -> Tensor:
        """``x`` [N, C, H, W] channels-last, ``bias`` [N, C]; the result is channels-last too."""
        from cuda.bindings import driver

        _, c, height, width = x.shape
        x = x.contiguous(memory_format=torch.channels_last)
        y = torch.empty_like(x, memory_format=torch.channels_last)
        bias = None if bias is None else bias.contiguous()
        mask = None if board.mask is None else board.mask.reshape(-1)
        vectors = x.numel() // VECTOR
        tensors = (x, bias, self._scale, self._shift, mask, y)
        values = tuple(0 if tensor is None else tensor.data_ptr() for tensor in tensors)
        values += (vectors, c // VECTOR, height * width)
        types = (ctypes.c_void_p,) * len(tensors) + (ctypes.c_uint,) * 3
        grid = ((vectors + THREADS - 1) // THREADS, 1, 1)
        stream = driver.CUstream(torch.cuda.current_stream(x.device).cuda_stream)
        (error,) = driver.cuLaunchKernel(self._function, *grid, THREADS, 1, 1, 0, stream, (values, types), 0)
        _check(error)
        return y


def fuse(blocks: nn.Module, activation: Activation, dtype: torch.dtype, device: torch.device) -> bool:
    """Give the norms inside ``blocks``, already on ``device``, their kernel; False if this machine cannot."""
    norms = [module for module in blocks.modules() if isinstance(module, Norm)]
    try:
        with torch.inference_mode(), torch.cuda.device(device):
            for norm in norms:
                if norm.beta.numel() % VECTOR == 0:
                    norm.fused = FusedPreactivation(norm, activation, dtype, device)
    except (ImportError, RuntimeError) as error:
        _log.info("torch's own operations between convolutions: %s", error)
        for norm in norms:
            norm.fused = None
        return False
    return True
