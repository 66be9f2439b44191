"""The container file, the compose file and the proxy of deploy/, as far as this machine can say."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.serving import serving

_ROOT = Path(__file__).parents[2]
_DEPLOY = _ROOT / "deploy"
_PINNED = re.compile(r"[\w./-]+:[\w.]*\d+\.\d+[\w.-]*")
_TOKEN = "a-token-that-nobody-guesses"  # noqa: S105 (of a test)
_SH = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)


def _instructions() -> list[tuple[str, str]]:
    text = (_DEPLOY / "Containerfile").read_text("utf-8").replace("\\\n", " ")
    lines = (line.strip() for line in text.splitlines())
    return [
        (w, rest) for w, _, rest in (one.partition(" ") for one in lines if one[:1] != "#") if w
    ]


def _compose() -> dict[str, Any]:
    named: dict[str, Any] = yaml.safe_load((_DEPLOY / "compose.yaml").read_text("utf-8"))
    return named


def test_the_container_is_pinned_and_has_no_rights() -> None:
    instructions = _instructions()
    named = dict(instructions)
    for word, rest in instructions:
        if word == "FROM":
            assert _PINNED.fullmatch(rest.split()[0]), rest
        assert word != "ADD"
    assert named["USER"].isdecimal()
    assert int(named["USER"]) >= 1000
    words = [word for word, _ in instructions]
    assert words.index("USER") < words.index("ENTRYPOINT")
    assert not any("TOKEN" in rest or "PASSWORD" in rest for _, rest in instructions)
    health = json.loads(named["HEALTHCHECK"].partition("CMD ")[2])
    assert health[0] == "python"
    compile(health[2], "health", "exec")
    assert "/health" in health[2]
    extras = re.search(r"'\.\[([\w,]+)\]'", dict(reversed(instructions))["RUN"] + str(instructions))
    assert extras is not None
    assert set(extras[1].split(",")) == {"postgres", "web"}
    kept = (_ROOT / ".dockerignore").read_text("utf-8").split()
    assert kept[0] == "**"
    assert all((_ROOT / path.removeprefix("!")).exists() for path in kept[1:])


def test_the_command_of_the_container_serves(shelf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That of the container file and that of the compose file start the real program."""
    monkeypatch.setenv("LPISEARCH_TOKEN", _TOKEN)
    named = dict(_instructions())
    assert json.loads(named["ENTRYPOINT"]) == ["lpisearch"]
    commands = [json.loads(named["CMD"]), _compose()["services"]["server-1"]["command"]]
    for verb, *words in commands:
        assert verb == "serve"
        given = [word.replace("${LPISEARCH_NAME:?}", "notes.example") for word in words]
        with serving(shelf, *given) as (server, address):
            port = address.rsplit(":", 1)[1].strip("/")
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=30) as answer:
                assert answer.status == 200
            server.send_signal(signal.SIGTERM)
            assert server.wait(40) == 0


def test_the_compose_file() -> None:
    compose = _compose()
    services = compose["services"]
    servers = [name for name in services if name.startswith("server-")]
    assert len(servers) == 3
    proxies = (_DEPLOY / "nginx.conf").read_text("utf-8")
    for name in servers:
        one = services[name]
        assert one["read_only"]
        assert one["cap_drop"] == ["ALL"]
        assert f"--name={name}" in one["command"]
        assert f"server {name}:8077 " in proxies
        assert "ports" not in one
    subnet = compose["networks"]["inside"]["ipam"]["config"][0]["subnet"]
    assert f"--behind-proxy={subnet}" in services["server-1"]["command"]
    assert "ports" not in services["database"]
    for name in ("database", "proxy"):
        assert _PINNED.fullmatch(services[name]["image"])
    for one in services.values():  # secrets come from the environment alone
        for key, value in one.get("environment", {}).items():
            assert not re.search("TOKEN|PASSWORD", key) or value.startswith("${")
    used = {volume.partition(":")[0] for one in services.values() for volume in one["volumes"]}
    assert {name for name in used if name[0] not in "./"} == set(compose["volumes"])


def test_the_proxy_passes_over_a_server_that_is_killed(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Here without encryption, of which tests/unit/web/test_proxy.py has a test."""
    nginx = shutil.which("nginx") or pytest.skip("no nginx here")
    monkeypatch.setenv("LPISEARCH_TOKEN", _TOKEN)
    conf = (_DEPLOY / "nginx.conf").read_text("utf-8")
    with ExitStack() as stack:
        words = ("--name", "notes.example", "--behind-proxy", "127.0.0.1")
        servers = []
        for number in range(1, 4):
            server, address = stack.enter_context(serving(shelf, *words))
            servers.append(server)
            conf = conf.replace(f"server-{number}:8077", address.split("//")[1].rstrip("/"))
        conf = re.sub(r"listen 8443 ssl;", f"listen unix:{tmp_path}/socket;", conf)
        conf = re.sub(r"    ssl_certificate.*\n", "", conf)
        conf = conf.replace("${LPISEARCH_NAME}", "notes.example")
        conf = conf.replace("X-Forwarded-For $remote_addr", "X-Forwarded-For 192.0.2.7")
        places = "".join(
            f"{kind}_temp_path {tmp_path}/{kind};"
            for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (tmp_path / "nginx.conf").write_text(
            f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/log;"
            f"events {{}} http {{ access_log off; {places} {conf} }}"
        )
        command = [nginx, "-e", f"{tmp_path}/log", "-p", str(tmp_path)]
        proxy = subprocess.Popen([*command, "-c", f"{tmp_path}/nginx.conf"])
        stack.callback(proxy.wait)
        stack.callback(proxy.terminate)
        deadline = time.monotonic() + 30
        while not (tmp_path / "socket").exists():
            assert proxy.poll() is None, (tmp_path / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.05)
        for number in range(40):
            if number == 10:
                servers[0].kill()
            assert _status(tmp_path, f"/api/v1/search?q=ship+{number}") == 200, number
        for path in ("/metrics", "/ready", "/health"):
            assert _status(tmp_path, path) == 404


def _status(folder: Path, path: str) -> int:
    import socket

    with socket.socket(socket.AF_UNIX) as made:
        made.settimeout(60)
        made.connect(str(folder / "socket"))
        head = f"GET {path} HTTP/1.1\r\nHost: notes.example\r\nAuthorization: Bearer {_TOKEN}\r\n"
        made.sendall(f"{head}Connection: close\r\n\r\n".encode())
        return int(made.makefile("rb").readline().split()[1])


_DOCKER = """#!{python}
import subprocess, sys, yaml
words = sys.argv[1:]
assert words[:2] == ["compose", "--file"], words
services = yaml.safe_load(open(words[2]))["services"]
verb, rest = words[3], words[4:]
if verb == "exec":
    assert rest[0] in services, rest
    program = rest[1:]
    if program[0] == "lpisearch":
        program = [each.replace("/data/shared", {files!r}) for each in program]
        sys.exit(subprocess.call([sys.executable, "-m", *program]))
    assert program[0] == "pg_dump", program
elif verb == "cp":
    assert rest[0].split(":")[0] in services, rest
else:
    assert verb in ("up", "build"), verb
    named = [each for each in rest if not each.startswith("--")]
    assert set(named) <= set(services), named
"""


def test_the_commands_of_the_page_run(
    shelf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each `lpisearch` of the page, on a file; the others name services that there are."""
    files, programs = tmp_path / "files", tmp_path / "programs"
    for folder in (files, programs):
        folder.mkdir()
    (files / "one.txt").write_text("a harbour")
    docker = programs / "docker"
    docker.write_text(_DOCKER.format(python=sys.executable, files=str(files)))
    docker.chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("LPISEARCH_DB", str(shelf))
    page = (_ROOT / "docs" / "operations.md").read_text("utf-8")
    backup = tmp_path / "backup.db"
    for block in _SH.findall(page):
        script = block.replace("/tmp/library.db", str(backup))  # noqa: S108 (of the page)
        command = ["bash", "-euc", script]
        done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    assert backup.exists()
