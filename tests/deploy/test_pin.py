"""Digests of images, asked of a registry that answers as the specification says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from deploy import pin

DIGEST = "sha256:" + "5a" * 32


class Registry(BaseHTTPRequestHandler):
    """Knows one image, and wants a token that it gives to everybody."""

    def do_GET(self) -> None:
        assert "scope=repository%3Alibrary%2Fpostgres%3Apull" in self.path
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"token": "let-me-in"}).encode())

    def do_HEAD(self) -> None:
        if self.headers.get("Authorization") != "Bearer let-me-in":
            self.send_response(401)
            here = f"http://{self.headers['Host']}/token"
            self.send_header("WWW-Authenticate", f'Bearer realm="{here}",service="here"')
        elif self.path == "/v2/library/postgres/manifests/18":
            assert "vnd.oci.image.index" in self.headers["Accept"]
            self.send_response(200)
            self.send_header("Docker-Content-Digest", DIGEST)
        elif self.path.endswith("/nonsense"):
            self.send_response(200)
            self.send_header("Docker-Content-Digest", "sha256:none")
        else:
            self.send_response(404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def registry() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Registry) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def test_the_digest_of_a_tag(registry: str) -> None:
    assert pin.digest_of("postgres", "18", registry) == DIGEST


@pytest.mark.parametrize(("tag", "text"), [("17", "404"), ("nonsense", "no digest in the answer")])
def test_what_the_registry_does_not_know_is_told(registry: str, tag: str, text: str) -> None:
    with pytest.raises(pin.PinError, match=text):
        pin.digest_of("postgres", tag, registry)


def test_the_images_of_compose_are_printed_for_the_file_of_settings(
    registry: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pin, "digest_of", lambda name, tag: DIGEST)
    assert pin.main() == 0
    told = dict(line.split("=", 1) for line in capsys.readouterr().out.splitlines())
    assert told.keys() == {"POSTGRES_IMAGE", "RABBITMQ_IMAGE", "NGINX_IMAGE", "PYTHON_IMAGE"}
    assert told["POSTGRES_IMAGE"].startswith("postgres:")
    assert told["POSTGRES_IMAGE"].endswith("@" + DIGEST)


def test_a_registry_that_is_away_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def away(name: str, tag: str) -> str:
        raise OSError("no route")

    monkeypatch.setattr(pin, "digest_of", away)
    assert pin.main() == 1
    assert "cannot be pinned: no route" in capsys.readouterr().err
