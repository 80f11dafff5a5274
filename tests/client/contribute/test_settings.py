"""Settings come from flags, environment and file in that order, and a wrong one is named with its remedy."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from client import devices
from client.contribute import command
from client.contribute.settings import (
    ClientSettings,
    Login,
    SettingsError,
    add_arguments,
    load_settings,
    prepare_data_directory,
)
from client.devices import DeviceError, plan_streams
from common.precision import Precision

LOGIN = ["--username", "u", "--password", "p"]


def settings(arguments: list[str], environment: dict[str, str] | None = None) -> ClientSettings:
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    return load_settings(parser.parse_args(arguments), environment or {})


def test_flags_go_before_environment_before_file(tmp_path: Path) -> None:
    file = tmp_path / "contribute.cfg"
    file.write_text('serverUrl = http://file/\nusername = file\npassword = "a#b"\ntaskRepFactor = 7\nuseFP16 = False')
    found = settings(
        ["--config", str(file), "--username", "flag"],
        {"TENGEN_USERNAME": "environment", "TENGEN_TASK_REP_FACTOR": "9"},
    )
    assert (found.server_url, found.login) == ("http://file", Login(username="flag", password="a#b"))
    assert found.task_rep_factor == 9
    assert found.precision is Precision.FLOAT32


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "give --server-url, or set TENGEN_SERVER_URL"),
        (["--server-url", "http://x"], "the token of your account is not set: give --token, or set TENGEN_TOKEN"),
        (["--server-url", "http://x", "--password", "p"], "give --username, or set TENGEN_USERNAME"),
        (["--server-url", "http://x", "--username", "u"], "give --password, or set TENGEN_PASSWORD"),
        (["--server-url", "http://x", *LOGIN, "--task-rep-factor", "65"], "from 1 to 64, not '65'"),
        (["--server-url", "http://x", *LOGIN, "--only-rating", "maybe"], "true or false, not 'maybe'"),
        (["--server-url", "http://x", *LOGIN, "--use-fp16", "some"], "useFP16 must be one of auto, false, true, not"),
        (["--config", "/does/not/exist"], "cannot read the settings file /does/not/exist"),
    ],
)
def test_what_is_wrong_is_named_with_its_remedy(arguments: list[str], text: str) -> None:
    with pytest.raises(SettingsError, match=text):
        settings(arguments)


def test_a_token_takes_the_place_of_a_password_wherever_it_is_told(tmp_path: Path) -> None:
    """Who changes over may leave the password where it is; who has not is told how, and no line shows either."""
    file = tmp_path / "contribute.cfg"
    file.write_text("serverUrl = http://x\nusername = u\npassword = p\n")
    by_password = settings(["--config", str(file)])
    (told,) = by_password.advice()
    assert "http://x/account/" in told
    assert "--token, TENGEN_TOKEN or `token = ...`" in told
    ways: list[tuple[list[str], dict[str, str]]] = [
        (["--config", str(file), "--token", "tengen_t"], {}),
        (["--config", str(file)], {"TENGEN_TOKEN": "tengen_t"}),
        (["--server-url", "http://x", "--token", "tengen_t"], {}),
    ]
    for arguments, environment in ways:
        found = settings(arguments, environment)
        assert (found.login.token, found.login.password) == ("tengen_t", "")
        assert found.advice() == []
        assert "tengen_t" not in repr(found)
    file.write_text(file.read_text() + "token = tengen_t\n")
    assert settings(["--config", str(file)]).login == Login(token="tengen_t", username="u")
    assert settings(["--config", str(file)]).login.told == "u"
    assert Login(token="tengen_t").told == "the holder of a token"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_file_of_any_editor(tmp_path: Path, encoding: str, end: str) -> None:
    file = tmp_path / "contribute.cfg"
    text = end.join(["serverUrl = http://x", "username = ünal", "password = p"])
    mark = "\ufeff" if encoding in ("utf-16-le", "utf-16-be") else ""
    file.write_bytes((mark + text).encode(encoding))
    assert settings(["--config", str(file)]).login.username == "ünal"


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("password = ä".encode("latin-1"), "line 1: the byte 0xE4 is not UTF-8; save it as UTF-8"),
        ("# x\npassword = p".encode("utf-16-le"), "line 1: a zero byte: .*UTF-16 without its mark; save it as UTF-8"),
        (b"username = u\n\xff\xfe", "line 2: the byte 0xFF is not UTF-8"),
    ],
)
def test_a_file_that_is_no_text_of_ours(tmp_path: Path, content: bytes, text: str) -> None:
    file = tmp_path / "contribute.cfg"
    file.write_bytes(content)
    with pytest.raises(SettingsError, match=f"settings file {file}: {text}"):
        settings(["--config", str(file)])


@pytest.mark.parametrize("key", ["token", "password", "username", "serverUrl", "dataDirectory"])
def test_a_value_is_not_cut_in_silence(tmp_path: Path, key: str) -> None:
    file = tmp_path / "contribute.cfg"
    values = {"serverUrl": "http://x", "token": "t", "username": "u", "password": "p", "dataDirectory": "/d"}
    lines = [f"{name} = {value}" for name, value in values.items() if name != key]
    file.write_text("\n".join([*lines, f"{key} = {values[key]}#123"]))
    with pytest.raises(SettingsError, match=rf'line 5: {key}: a .#. begins a comment.*{key} = "abc#123"'):
        settings(["--config", str(file)])
    file.write_text("\n".join([*lines, f"{key} = {values[key]} # 123", "gpus = 0#the first"]))
    assert settings(["--config", str(file)]).gpus == "0"


def test_no_home_for_the_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", no_home)
    with pytest.raises(SettingsError, match=r"no home folder .*--data-dir or TENGEN_DATA_DIR"):
        settings(["--server-url", "http://x", *LOGIN])


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("x", "must begin with http"),
        ("ftp://x", "must begin with http"),
        ("http://", "names no host"),
        ("https:///path", "names no host"),
        ("http://:8000", "names no host"),
        ("http://[bad", "is wrong: "),
        ("http://x:99999", "is wrong: Port out of range"),
        ("http://x:0", "no host and port"),
        ("http://x:port", "is wrong: "),
        ("http://two words/", "no host and port"),
        ("http://x/?run=1", "must end before"),
    ],
)
def test_what_can_never_be_an_address_is_refused(url: str, text: str) -> None:
    with pytest.raises(SettingsError, match=rf"server address .*{text}.*for example https://tengen.example.org"):
        settings(["--server-url", url, *LOGIN])


@pytest.mark.parametrize(
    "url", ["http://localhost:8000", "https://go.example.org/base", "http://[::1]:80", "http://10.0.0.7", "http://a_b"]
)
def test_addresses_of_all_forms(url: str) -> None:
    assert settings(["--server-url", url + "/", *LOGIN]).server_url == url


def test_keys_that_only_katago_has_are_ignored_and_named(tmp_path: Path) -> None:
    file = tmp_path / "contribute.cfg"
    file.write_text(
        "serverUrl = http://x\nusername = u\npassword = p\nlogDir = logs\ncudaDeviceToUseThread0 = 1\n"
        "maxRatingMatches = 1\nmaxSimultaneousGames = 8\n"
    )
    found = settings(["--config", str(file)])
    assert found.ignored == ("logDir", "cudaDeviceToUseThread0", "maxRatingMatches")
    assert found.advice()[1:] == [
        "ignored settings, which have no meaning here: logDir, cudaDeviceToUseThread0, maxRatingMatches"
    ]
    assert found.games_per_stream == 8
    file.write_text("serverUrl = http://x\nlogDirr = logs\n")
    with pytest.raises(SettingsError, match="unknown key 'logDirr'"):
        settings(["--config", str(file)])


@pytest.mark.parametrize("key", ["proxyHost", "proxyPort", "proxyBasicAuthUsername", "proxyBasicAuthPassword"])
def test_who_names_katagos_proxy_is_told_how_it_is_named_here(tmp_path: Path, key: str) -> None:
    file = tmp_path / "contribute.cfg"
    file.write_text(f"serverUrl = http://x\nusername = u\npassword = p\n{key} = 8080\n")
    _, ignored, instead = settings(["--config", str(file)]).advice()
    assert key in ignored
    assert "HTTPS_PROXY=http://name:password@host:port" in instead


def test_a_data_folder_that_cannot_be_used(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "file"
    file.write_text("")
    prepare_data_directory(tmp_path / "new" / "folder")
    # a file, a path below one, and a folder in which nobody can make a file
    for path in (file, file / "below", Path("/proc/self/fdinfo"), Path("/proc/none/such")):
        with pytest.raises(SettingsError, match=f"{path}.* cannot be used: .*by --data-dir or TENGEN_DATA_DIR"):
            prepare_data_directory(path)
    occupied = tmp_path / "occupied"
    occupied.mkdir()
    (occupied / "spool").write_text("")
    for path in (file, occupied):
        words = ["--server-url", "http://x", *LOGIN, "--gpus", "cpu", "--data-dir", str(path)]
        parser = argparse.ArgumentParser()
        add_arguments(parser)
        assert command.run(parser.parse_args(words)) == 2
        assert "cannot be used" in capsys.readouterr().out


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


@pytest.mark.parametrize(
    ("device", "gpus", "message"),
    [
        ("cpu", 0, ""),
        ("cuda", 1, ""),
        ("cuda:1", 2, ""),
        ("1", 2, ""),
        ("cuda", 0, "device cuda: this machine has no GPU that torch can use; say cpu"),
        ("cuda:0", 0, "device cuda:0: this machine has no GPU"),
        ("cuda:2", 2, "device cuda:2: this machine has GPUs 0 to 1"),
        ("gpu", 2, "there is no device 'gpu'; say cpu, or cuda with the number"),
        ("cuda:", 2, "there is no device 'cuda:'"),
        ("cuda0", 2, "there is no device 'cuda0'"),
    ],
)
def test_the_device_of_an_engine(device: str, gpus: int, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "gpu_count", lambda _: gpus)
    if not message:
        devices.check_device(device)
        return
    with pytest.raises(DeviceError) as refused:
        devices.check_device(device)
    assert str(refused.value).startswith(message)
