"""Which devices a volunteer gives, and into how many streams of games they are divided.

A stream is one child process with one evaluator. A GPU is one stream. A CPU is one stream per core, each with a
single-threaded evaluator: nothing can be overlapped there, and two pinned single threads beat one evaluator with two
threads.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Final

from common.interrupts import interrupts_end_the_program

CPU: Final = "cpu"
GAMES_PER_CPU_STREAM: Final = 64
GAMES_PER_GPU_STREAM: Final = 256


class DeviceError(ValueError):
    """The devices asked for cannot be used; the text says which there are."""


@dataclass(frozen=True)
class Stream:
    """One child process: torch device name, threads of its evaluator, core to pin to, games at once."""

    name: str
    device: str
    threads: int
    core: int | None
    games: int


def plan_streams(gpus: str, cpu_streams: int, games_per_stream: int, gpu_count: int) -> list[Stream]:
    """The streams for ``--gpus`` as typed.

    Args:
        gpus: ``""`` (every GPU, else the CPU), ``"cpu"``, or GPU numbers separated by commas.
        cpu_streams: streams on a CPU, 0 for one per usable core.
        games_per_stream: games at once in each, 0 for the device's default.
        gpu_count: how many GPUs torch sees on this machine.

    Raises:
        DeviceError: not a list of numbers, or a GPU that is not there.
    """
    text = gpus.strip().lower()
    if text == CPU or (not text and gpu_count == 0):
        return _cpu_streams(cpu_streams, games_per_stream)
    games = games_per_stream or GAMES_PER_GPU_STREAM
    return [Stream(f"gpu{number}", f"cuda:{number}", 1, None, games) for number in _gpu_numbers(text, gpu_count)]


def _gpu_numbers(text: str, gpu_count: int) -> list[int]:
    if not text:
        return list(range(gpu_count))
    there = _gpus_there(gpu_count)
    numbers = []
    for part in text.split(","):
        if not part.strip().isdecimal():
            raise DeviceError(
                f"--gpus {text!r}: {part.strip()!r} is not a GPU number; say for example --gpus 0,1 or --gpus cpu"
            )
        number = int(part)
        if number >= gpu_count:
            raise DeviceError(
                f"--gpus {text!r}: there is no GPU {number}; {there}. Say --gpus cpu to use the processor"
            )
        if number in numbers:
            raise DeviceError(f"--gpus {text!r}: GPU {number} is named twice")
        numbers.append(number)
    return numbers


def check_device(device: str) -> None:
    """Refuse a device for evaluations that is not there; by the names that `nets.evaluation.evaluator` takes.

    Raises:
        DeviceError: no device, or a GPU that is not there.
    """
    if device == CPU:
        return
    named = re.fullmatch(r"cuda|(?:cuda:)?(\d{1,4})", device, re.ASCII)
    if named is None:
        raise DeviceError(f"there is no device {device!r}; say cpu, or cuda with the number of a GPU as in cuda:0")
    count = gpu_count(device)
    if int(named[1] or 0) >= count:
        raise DeviceError(f"device {device}: {_gpus_there(count)}; say cpu to use the processor")


def _gpus_there(count: int) -> str:
    return f"this machine has GPUs 0 to {count - 1}" if count else "this machine has no GPU that torch can use"


def _cpu_streams(cpu_streams: int, games_per_stream: int) -> list[Stream]:
    # Only Linux tells which cores may be used, and lets a process be pinned.
    cores: list[int | None] = [None] * (os.cpu_count() or 1)
    if hasattr(os, "sched_getaffinity"):
        cores = [*sorted(os.sched_getaffinity(0))]
    count = cpu_streams or len(cores)
    games = games_per_stream or GAMES_PER_CPU_STREAM
    return [Stream(f"cpu{i}", CPU, 1, cores[i] if i < len(cores) else None, games) for i in range(count)]


def gpu_count(gpus: str) -> int:
    """GPUs that torch sees; torch, which is slow to import, is asked only if the answer matters."""
    if gpus.strip().lower() == CPU:
        return 0
    with interrupts_end_the_program():
        import torch

    return int(torch.cuda.device_count())
