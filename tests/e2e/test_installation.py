"""The passwords of an installation: made once, kept whole, and made again where a power cut left half a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deploy.installation import CONTRIBUTOR, SECRETS_FILE, Installation, RunPlan, load_secrets

WHOLE = {"secret_key": "s" * 50, "contributor": "c" * 12, "maintainer": "m" * 12}


class Recorded(Installation):
    """An installation whose commands of manage.py are noted, not run."""

    def __init__(self, folder: Path) -> None:
        self.commands: list[tuple[tuple[str, ...], str]] = []
        super().__init__(folder)

    def manage(self, *arguments: str, typed: str = "") -> str:
        self.commands.append((arguments, typed))
        return "tengen_a-token\n" if arguments[0] == "add_token" else ""


@pytest.mark.parametrize(
    "content",
    [b"", bytes(200), b'{"secret_key": "a', b"[]", b"null", b"\xff\xfe", json.dumps({"secret_key": "a"}).encode()],
    ids=["empty", "zeros", "truncated", "list", "null", "garbage", "incomplete"],
)
def test_damaged_passwords_are_made_again_and_given_to_the_accounts(content: bytes, tmp_path: Path) -> None:
    (tmp_path / SECRETS_FILE).write_bytes(content)
    (tmp_path / SECRETS_FILE).chmod(0o644)
    first = load_secrets(tmp_path / SECRETS_FILE)
    assert first.keys() >= WHOLE.keys()
    assert (tmp_path / SECRETS_FILE).stat().st_mode & 0o777 == 0o600
    assert load_secrets(tmp_path / SECRETS_FILE) == first, "a start that ended before the accounts had them"

    installation = Recorded(tmp_path)
    installation.set_up(RunPlan("run", ()))
    given = [(arguments, typed) for arguments, typed in installation.commands if "add_contributor" in arguments]
    assert all("--set-password" in arguments for arguments, _ in given)
    assert [typed for arguments, typed in given if CONTRIBUTOR in arguments] == [first["contributor"]]

    again = Recorded(tmp_path)
    again.set_up(RunPlan("run", ()))
    assert again.secrets == {name: first[name] for name in WHOLE}
    assert not any("--set-password" in arguments for arguments, _ in again.commands)


def test_whole_passwords_are_kept(tmp_path: Path) -> None:
    (tmp_path / SECRETS_FILE).write_text(json.dumps(WHOLE))
    assert load_secrets(tmp_path / SECRETS_FILE) == WHOLE
    assert [path.name for path in tmp_path.iterdir()] == [SECRETS_FILE]


def test_the_client_logs_in_by_a_token_of_its_own(tmp_path: Path) -> None:
    installation = Recorded(tmp_path)
    installation.set_up(RunPlan("run", ()))
    assert (("add_token", CONTRIBUTOR, "--label", "this machine", "--replace"), "") in installation.commands
    client = installation.client_program()
    assert client.environment["TENGEN_TOKEN"] == "tengen_a-token"
    assert "TENGEN_PASSWORD" not in client.environment
    assert "--username" not in client.command
