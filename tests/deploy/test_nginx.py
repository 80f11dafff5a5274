"""The limits of ``deploy/nginx``: who is one customer, what is counted for whom, and what KataGo's client is told."""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests

from deploy.processes import Child
from tests.e2e.services import Nginx, free_port, program_path

pytestmark = pytest.mark.skipif(not program_path("nginx"), reason="not installed: nginx")

BEHIND_A_PROXY = "    set_real_ip_from 127.0.0.1;\n    real_ip_header X-Forwarded-For;\n"
"""What deploy/README.md has an operator add; here it lets a test come from any address."""


class Server:
    """nginx before a web process that says yes to all."""

    def __init__(self, folder: Path) -> None:
        class Yes(BaseHTTPRequestHandler):
            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def do_GET(self) -> None:
                self.answer()

            def do_POST(self) -> None:
                self.answer()

            def log_message(self, *_: object) -> None: ...

        self.web = ThreadingHTTPServer(("127.0.0.1", 0), Yes)
        self.thread = threading.Thread(target=self.web.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        self.port = free_port()
        program = Nginx(folder, self.port, self.web.server_port, BEHIND_A_PROXY).program()
        site = folder / "tengen.conf"
        site.write_text(re.sub(r"rate=\d+r/[sm]", "rate=1r/m", site.read_text()))  # a burst ends, however slow we are
        self.session = requests.Session()
        self.log = folder / "access.log"
        self.nginx = Child(program, folder, program.environment)

    def stop(self) -> None:
        self.nginx.stop()
        self.web.shutdown()
        self.thread.join()
        self.web.server_close()

    def ask(self, path: str, address: str, method: str = "GET") -> requests.Response:
        url = f"http://127.0.0.1:{self.port}{path}"
        return self.session.request(method, url, headers={"X-Forwarded-For": address}, timeout=30)

    def statuses(self, count: int, path: str, address: str, method: str = "GET") -> list[int]:
        return [self.ask(path, address.format(number), method).status_code for number in range(count)]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("nginx"))
    try:
        while True:
            try:
                running.ask("/healthz/", "192.0.2.200")
                break
            except requests.ConnectionError:
                assert running.nginx.running(), running.nginx.log_path.read_text()
        yield running
    finally:
        running.stop()


@pytest.mark.parametrize("path", ["/account/login/", "/account/sign-up/", "/account/reset/", "/admin/login/"])
def test_forms_are_limited_by_customer(server: Server, path: str) -> None:
    place = "2001:db8:0:" + format(abs(hash(path)) % 60_000, "x")
    assert server.statuses(23, path, place + "::{}", "POST") == [200] * 21 + [429] * 2
    refused = server.ask(path, place + ":ffff::1", "POST")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "60")
    assert refused.json()["code"] == "retry"
    assert server.ask(path, "2001:db8:1::1", "POST").status_code == 200, "another customer"


def test_each_ipv4_address_is_a_customer(server: Server) -> None:
    assert set(server.statuses(25, "/account/login/", "198.51.100.{}", "POST")) == {200}


def test_pages_are_limited_sooner_than_the_api(server: Server) -> None:
    assert server.statuses(63, "/games/seven/", "192.0.2.1") == [200] * 61 + [429] * 2
    assert set(server.statuses(70, "/api/runs/current_for_client/", "192.0.2.1")) == {200}
    assert set(server.statuses(70, "/", "192.0.2.1")) == {200}, "by it KataGo's client tests the connection"


def test_what_is_too_much_has_no_body_at_a_networks_address(server: Server) -> None:
    """The body would be written into the file by KataGo's client."""
    site = (server.log.parent / "tengen.conf").read_text()
    assert "~/models/[^/]+ '';" in site.partition("map $uri $tengen_too_many")[2].partition("\n}")[0]
    assert server.ask("/models/a.bin.gz", "192.0.2.3").status_code == 200


def test_what_opens_an_account_is_not_written_down(server: Server) -> None:
    server.ask("/account/reset/MQ/secret-of-a-letter/", "192.0.2.4")
    server.ask("/account/verify/secret-of-a-letter/", "192.0.2.4")
    server.ask("/runs/written-down/", "192.0.2.4")
    server.nginx.signal(signal.SIGUSR1)  # logs are opened anew, after what is there was written
    log = server.log.read_text()
    assert "written-down" in log
    assert "secret-of-a-letter" not in log
