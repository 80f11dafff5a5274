"""Settings come from flags, environment and file in that order, and a wrong one is named with its remedy."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from client.contribute.devices import DeviceError, plan_streams
from client.contribute.settings import ClientSettings, SettingsError, add_arguments, load_settings


def settings(arguments: list[str], environment: dict[str, str] | None = None) -> ClientSettings:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return load_settings(parser.parse_args(arguments), environment or {})


def test_flags_go_before_environment_before_file(tmp_path: Path) -> None:
    file = tmp_path / "contribute.cfg"
    file.write_text('serverUrl = http://file/\nusername = file\npassword = "a#b"\ntaskRepFactor = 7\n')
    found = settings(
        ["--config", str(file), "--username", "flag"],
        {"TENGEN_USERNAME": "environment", "TENGEN_TASK_REP_FACTOR": "9"},
    )
    assert (found.server_url, found.username, found.password) == ("http://file", "flag", "a#b")
    assert found.task_rep_factor == 9


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "give --server-url, or set TENGEN_SERVER_URL"),
        (["--server-url", "http://x"], "give --username, or set TENGEN_USERNAME"),
        (["--server-url", "x", "--username", "u"], "must begin with http"),
        (["--server-url", "http://x", "--username", "u", "--task-rep-factor", "65"], "from 1 to 64, not '65'"),
        (["--server-url", "http://x", "--username", "u", "--only-rating", "maybe"], "true or false, not 'maybe'"),
        (["--config", "/does/not/exist"], "cannot read the settings file /does/not/exist"),
    ],
)
def test_what_is_wrong_is_named_with_its_remedy(arguments: list[str], text: str) -> None:
    with pytest.raises(SettingsError, match=text):
        settings(arguments)


def test_an_unknown_key_of_the_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "contribute.cfg"
    file.write_text("serverURL = http://x\n")
    with pytest.raises(SettingsError, match="unknown key 'serverURL'"):
        settings(["--config", str(file)])


def test_gpus_are_one_stream_each() -> None:
    streams = plan_streams("0,2", 0, 0, gpu_count=3)
    assert [(stream.name, stream.device) for stream in streams] == [("gpu0", "cuda:0"), ("gpu2", "cuda:2")]
    assert [stream.device for stream in plan_streams("", 0, 0, gpu_count=2)] == ["cuda:0", "cuda:1"]


def test_a_cpu_has_a_stream_per_core_unless_told_otherwise() -> None:
    assert {stream.device for stream in plan_streams("", 0, 5, gpu_count=0)} == {"cpu"}
    two = plan_streams("cpu", 2, 5, gpu_count=4)
    assert [(stream.name, stream.games, stream.threads) for stream in two] == [("cpu0", 5, 1), ("cpu1", 5, 1)]


@pytest.mark.parametrize(
    ("gpus", "text"),
    [
        ("3", "no GPU 3; this machine has GPUs 0 to 1"),
        ("0,0", "GPU 0 is named twice"),
        ("all", "'all' is not a GPU number"),
    ],
)
def test_devices_that_are_not_there(gpus: str, text: str) -> None:
    with pytest.raises(DeviceError, match=text):
        plan_streams(gpus, 0, 0, gpu_count=2)


def test_no_gpu_at_all_says_so() -> None:
    with pytest.raises(DeviceError, match=r"no GPU that torch can use. Say --gpus cpu"):
        plan_streams("0", 0, 0, gpu_count=0)
