"""The nginx of docs/nginx.conf before a server: encrypted, and limits count who asks.

Skipped where nginx or openssl is not installed; LPISEARCH_TEST_NGINX names a program elsewhere.
"""

import json
import os
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPSConnection
from pathlib import Path

import pytest

from tests.serving import serving

_CONF = Path(__file__).parents[3] / "docs" / "nginx.conf"
_TOKEN = "a-token-that-nobody-guesses"  # noqa: S105 (of a test)
_NAME = "notes.example"


def _program(name: str) -> str:
    found = os.environ.get(f"LPISEARCH_TEST_{name.upper()}") or shutil.which(name)
    return found or pytest.skip(f"no {name} here")


@pytest.fixture
def proxy(shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """Run a server and nginx before it; give the port of nginx."""
    nginx, openssl = _program("nginx"), _program("openssl")
    monkeypatch.setenv("LPISEARCH_TOKEN", _TOKEN)
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key)]
    subprocess.run(
        [openssl, *made, "-out", str(certificate), "-subj", f"/CN={_NAME}"],
        check=True,
        capture_output=True,
    )
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with serving(shelf, "--name", _NAME, "--behind-proxy", "127.0.0.1") as (_, address):
        conf = _CONF.read_text("utf-8")
        for written, here in (
            ("listen 443", f"listen 127.0.0.1:{port}"),
            ("/etc/ssl/notes.example.pem", str(certificate)),
            ("/etc/ssl/notes.example.key", str(key)),
            ("http://127.0.0.1:8077", address.rstrip("/")),
        ):
            assert written in conf
            conf = conf.replace(written, here)
        places = "".join(
            f"{kind}_temp_path {tmp_path}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (tmp_path / "nginx.conf").write_text(
            f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/log;"
            f"events {{}} http {{ access_log off; {places} {conf} }}",
            "utf-8",
        )
        command = [
            nginx,
            "-e",
            f"{tmp_path}/log",
            "-p",
            f"{tmp_path}",
            "-c",
            f"{tmp_path}/nginx.conf",
        ]
        running = subprocess.Popen(command, stderr=subprocess.PIPE)
        try:
            _wait_for(port)
            yield port
        finally:
            running.terminate()
            running.communicate()


def _wait_for(port: int) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    pytest.fail("nginx did not start")


def _get(port: int, path: str, **headers: str) -> tuple[int, str, str]:
    made = HTTPSConnection("127.0.0.1", port, timeout=20, context=_unchecked())
    with closing(made):
        made.request("GET", path, headers={"Host": _NAME, **headers})
        with made.getresponse() as answer:
            text = answer.read().decode()
    return answer.status, answer.headers.get("Set-Cookie", ""), text


def test_nginx_encrypts_before_a_server(proxy: int) -> None:
    bearer = {"Authorization": f"Bearer {_TOKEN}"}
    status, cookie, _ = _get(proxy, "/login")
    assert (status, cookie.endswith("; Secure")) == (200, True)
    assert _get(proxy, "/api/v1/status")[0] == 401
    status, _, text = _get(proxy, "/api/v1/search?q=ship", **bearer)
    assert status == 200
    assert json.loads(text)["hits"]


def test_nginx_says_who_asks(proxy: int) -> None:
    """Who asks too often is told to wait, whoever he says he is; through nginx nobody is local."""

    def ask(first: int) -> bool:
        https = HTTPSConnection("127.0.0.1", proxy, timeout=20, context=_unchecked())
        with closing(https) as made:
            for number in range(first, first + 1000):
                named = {"Host": _NAME, "X-Forwarded-For": f"10.0.{number // 250}.{number % 250}"}
                made.request("GET", "/static/icon.svg", headers=named)
                with made.getresponse() as answer:
                    answer.read()
                if answer.status == 429:
                    return True
        return False

    with ThreadPoolExecutor(4) as threads:
        assert any(threads.map(ask, range(0, 4000, 1000)))


def _unchecked() -> ssl.SSLContext:
    return ssl._create_unverified_context()  # noqa: S323 (its own certificate)
