"""A client of the protocol's own library: on standard input and output, and over HTTP."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import ResourceTemplateReference

import lpisearch
from lpisearch.agents.calls import DOCUMENTS, INSTRUCTIONS
from lpisearch.options import ServeLimits, ServeSettings
from tests.serving import served

T = TypeVar("T")
_TOKEN = "a-secret-of-the-tests"  # noqa: S105 (of this test alone)
_BREAD = {"query": "why does my bread stay flat"}
_OPENING = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    },
}
_HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}

pytestmark = pytest.mark.timeout(300)


def _program(library: Path, *words: str) -> StdioServerParameters:
    command = ["-m", "lpisearch", "mcp", "--db", str(library), *words]
    keep = {name: value for name, value in os.environ.items() if name.startswith(("XDG", "OMP"))}
    return StdioServerParameters(command=sys.executable, args=command, env=keep)


def _with(server: Any, work: Callable[[Client], Awaitable[T]], mode: str = "auto") -> T:
    async def run() -> T:
        async with Client(server, mode=mode, read_timeout_seconds=120) as client:
            return await work(client)

    return asyncio.run(run())


async def _session(client: Client) -> dict[str, Any]:
    """Use all that the server offers; return what it said."""
    tools = await client.list_tools()
    found = await client.call_tool("search", _BREAD | {"k": 2})
    assert found.structured_content is not None
    first = found.structured_content["results"][0]
    fetched = await client.call_tool("fetch", {"id": first["id"], "budget_tokens": 200})
    text = await client.read_resource(first["url"])
    template = (await client.list_resource_templates()).resource_templates[0]
    reference = ResourceTemplateReference(type="ref/resource", uri=template.uri_template)
    ids = await client.complete(reference, {"name": "id", "value": first["id"][:-4]})
    wrong = await client.call_tool("search", {"query": "bread", "label": "none"})
    assert wrong.is_error
    with pytest.raises(MCPError, match="No document has the id"):
        await client.read_resource(f"{DOCUMENTS}none")
    return {
        "instructions": client.instructions,
        "tools": {
            one.name: one.annotations and one.annotations.read_only_hint for one in tools.tools
        },
        "found": found.structured_content,
        "same": json.loads(found.content[0].text),  # type: ignore[union-attr]
        "fetched": fetched.structured_content,
        "text": text.contents[0].text,  # type: ignore[union-attr]
        "listed": len((await client.list_resources()).resources),
        "ids": ids.completion.values,
        "wrong": wrong.content[0].text,  # type: ignore[union-attr]
    }


def _check(said: dict[str, Any]) -> None:
    assert said["instructions"] == INSTRUCTIONS
    assert said["tools"] == dict.fromkeys(
        ("search", "fetch", "similar", "overview", "classify"), True
    )
    assert said["same"] == said["found"]
    first = said["found"]["results"][0]
    assert first["id"] == "baking/too-long-in-the-basket.txt"
    assert said["fetched"]["id"] == first["id"]
    assert said["fetched"]["text"][1:50] in said["text"]
    assert said["ids"] == [first["id"]]
    assert said["listed"] == 50
    assert said["wrong"].startswith("label: no document has the label “none”")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_on_standard_input(own_sample: Path, mode: str) -> None:
    _check(_with(_program(own_sample), _session, mode))


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_over_http(own_sample: Path, mode: str) -> None:
    with lpisearch.open(own_sample) as library, served(library) as url:
        _check(_with(f"{url}/mcp", _session, mode))


def test_both_ways_answer_the_same(own_sample: Path) -> None:
    stdio = _with(_program(own_sample), _session)
    with lpisearch.open(own_sample) as library, served(library) as url:
        assert _with(f"{url}/mcp", _session) == stdio


def test_two_clients_at_once(own_sample: Path) -> None:
    async def both(*servers: Any) -> list[dict[str, Any]]:
        async def one(server: Any) -> dict[str, Any]:
            async with Client(server, read_timeout_seconds=120) as client:
                return await _session(client)

        return await asyncio.gather(*map(one, servers))

    first, second = asyncio.run(both(_program(own_sample), _program(own_sample)))
    assert first == second
    with lpisearch.open(own_sample) as library, served(library) as url:
        for said in asyncio.run(both(f"{url}/mcp", f"{url}/mcp")):
            assert said == first


@contextmanager
def _started(*words: str, text: bytes = b"") -> Iterator[subprocess.Popen[bytes]]:
    """Start the server as a plain process."""
    command = [sys.executable, "-m", "lpisearch", "mcp", *words]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes) as server:  # type: ignore[call-overload]
        try:
            assert server.stdin is not None
            server.stdin.write(text)
            server.stdin.flush()
            yield server
        finally:
            if server.poll() is None:
                server.kill()


def _lines(*messages: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(one).encode() + b"\n" for one in messages)


def _calling(number: int, tool: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def test_the_library_is_opened_after_the_beginning(tmp_path: Path) -> None:
    """A library that is damaged, or none at all, is reported by the calls."""
    damaged = tmp_path / "damaged.db"
    damaged.write_bytes(b"This is no library." * 100)
    for library, reason in (
        (damaged, "is not an lpisearch library"),
        (tmp_path / "none.db", "No library"),
    ):
        opened = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        text = _lines(_OPENING, opened, _calling(2, "search", query="a"))
        with _started("--db", str(library), text=text) as server:
            assert server.stdout is not None
            begun = json.loads(server.stdout.readline())
            assert begun["result"]["serverInfo"]["name"] == "lpisearch"
            answer = json.loads(server.stdout.readline())["result"]
            assert answer["isError"]
            assert reason in answer["content"][0]["text"]
            server.communicate(timeout=60)
            assert server.returncode == 0
    assert not (tmp_path / "none.db").exists()


def test_it_ends_with_its_client(own_sample: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for number in range(3000):
        (root / f"{number}.txt").write_text(f"ship {number} anchor harbour", encoding="utf-8")
    words = ("--db", str(own_sample), "--allow-writes", "--root", str(root))
    with _started(*words, text=_lines(_OPENING)) as server:
        assert server.stdout is not None
        server.stdout.readline()
        _, errors = server.communicate(_lines(_calling(2, "ingest", path=".")), timeout=120)
        assert server.returncode == 0, errors
    with lpisearch.open(own_sample) as library:
        assert not library.writer()
        assert len(library) < 236 + 3000
        assert all(one.ok for one in library.examine())


def test_nothing_is_lost_by_kills_during_an_ingest(own_sample: Path, tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for number in range(400):
        (root / f"{number}.txt").write_text(f"ship {number} anchor harbour", encoding="utf-8")
    words = ("--db", str(own_sample), "--allow-writes", "--root", str(root))
    for wait in (0.0, 0.2, 0.5, 1.0, 1.5):
        text = _lines(_OPENING, _calling(2, "ingest", path="."))
        with _started(*words, text=text) as server:
            assert server.stdout is not None
            server.stdout.readline()
            time.sleep(wait)
            server.send_signal(signal.SIGKILL)
        with lpisearch.open(own_sample) as library:
            assert not library.writer()
            assert all(one.ok for one in library.examine())
            assert len(library.entries(path="baking")) == 30
    report = _with(_program(own_sample, *words[2:]), _ingest)
    assert report["added"] + report["unchanged"] == 400
    with lpisearch.open(own_sample) as library:
        assert len(library) == 236 + 400


async def _ingest(client: Client) -> dict[str, Any]:
    answer = await client.call_tool("ingest", {"path": "."})
    assert answer.structured_content is not None
    return dict(answer.structured_content)


def _post(url: str, **headers: str) -> httpx2.Response:
    return httpx2.post(f"{url}/mcp", json=_OPENING, headers=_HEADERS | headers, timeout=60)


def test_the_checks_of_the_server_come_first(own_sample: Path) -> None:
    settings = ServeSettings(token=_TOKEN)
    with lpisearch.open(own_sample) as library, served(library, settings) as url:
        right = {"authorization": f"Bearer {_TOKEN}"}
        for headers, status in (
            ({}, 401),
            ({"authorization": "Bearer another"}, 401),
            (right | {"host": "evil.example"}, 421),
            (right | {"origin": "http://evil.example"}, 403),
            (right | {"sec-fetch-site": "cross-site"}, 403),
        ):
            refused = _post(url, **headers)
            assert refused.status_code == status
            assert refused.headers["content-type"] == "application/problem+json"
        assert httpx2.get(f"{url}/mcp", headers=_HEADERS).status_code == 401
        assert httpx2.get(f"{url}/mcp", headers=_HEADERS | right).status_code == 405
        large = httpx2.post(f"{url}/mcp", content=b" " * 2_000_000, headers=_HEADERS | right)
        assert large.status_code == 413
        assert _post(url, **right).json()["result"]["serverInfo"]["name"] == "lpisearch"

        async def connected() -> int:
            async with httpx2.AsyncClient(headers=right) as http:
                transport = streamable_http_client(f"{url}/mcp", http_client=http)
                async with Client(transport) as client:
                    return len((await client.list_tools()).tools)

        assert asyncio.run(connected()) == 5


def test_an_assistant_from_elsewhere_waits_its_turn(
    own_sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lpisearch.web.security.is_loopback", lambda _address: False)
    settings = ServeSettings(limits=ServeLimits(requests_per_second=0.01, burst=2))
    with lpisearch.open(own_sample) as library, served(library, settings) as url:
        assert [_post(url).status_code for _ in range(3)] == [200, 200, 429]


def test_it_changes_nothing_over_http(own_sample: Path) -> None:
    async def label(client: Client) -> str:
        answer = await client.call_tool(
            "label", {"id": "baking/soda-bread-no-yeast.txt", "add": "x"}
        )
        assert answer.is_error
        return answer.content[0].text  # type: ignore[union-attr]

    with lpisearch.open(own_sample) as library, served(library) as url:
        before = library.state()
        assert _with(f"{url}/mcp", label).startswith("name: there is no tool “label”")
        assert library.state() == before


_IMPORTS = """
import sys
sys.argv = ["lpisearch", *{words!r}]
from lpisearch.cli import main
try:
    main()
except SystemExit:
    pass
print(sorted(name for name in sys.modules if name in {{"mcp", "mcp_types"}}), file=sys.stderr)
"""


@pytest.mark.parametrize("words", [("search", "bread"), ("--help",), ("skill",), ("mcp", "--help")])
def test_nothing_else_imports_the_protocol(own_sample: Path, words: tuple[str, ...]) -> None:
    command = [sys.executable, "-c", _IMPORTS.format(words=words)]
    environment = os.environ | {"LPISEARCH_DB": str(own_sample)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert done.stderr.splitlines()[-1] == "[]"


def test_a_server_imports_it_at_the_first_request(own_sample: Path) -> None:
    program = """
import sys, lpisearch, httpx2
from tests.serving import served
with lpisearch.open(sys.argv[1]) as library, served(library) as url:
    httpx2.get(url + "/api/v1/status")
    print("mcp" in sys.modules)
    print(httpx2.post(url + "/mcp", json={}, headers={"accept": "application/json"}).status_code)
    print("mcp" in sys.modules)
"""
    command = [sys.executable, "-c", program, str(own_sample)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "400", "True"]


def test_without_the_extra_it_says_what_to_install(own_sample: Path) -> None:
    missing = """
import sys
from importlib import util
find = util.find_spec
util.find_spec = lambda name, *rest: None if name == "mcp" else find(name, *rest)
sys.modules["mcp"] = None
sys.argv = ["lpisearch", "mcp", "--db", sys.argv[1]]
from lpisearch.cli import main
main()
"""
    command = [sys.executable, "-c", missing, str(own_sample)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Next: pip install 'lpisearch[mcp]'" in done.stderr
    program = """
import sys, lpisearch, httpx2
sys.modules["mcp"] = None
from tests.serving import served
with lpisearch.open(sys.argv[1]) as library, served(library) as url:
    refused = httpx2.post(url + "/mcp", json={}, headers={"accept": "application/json"})
    print(refused.status_code, refused.json()["next"])
"""
    command = [sys.executable, "-c", program, str(own_sample)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "501 pip install 'lpisearch[mcp]'\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--db", "a.db", "--db", "b.db"), "give each library a name of its own, not “a.db”"),
        (("--db", "x=a.db", "--db", "x=b.db"), "give each library a name of its own, not “x=b.db”"),
    ],
)
def test_libraries_have_names(words: tuple[str, ...], reason: str) -> None:
    with _started(*words) as server:
        _, errors = server.communicate(timeout=60)
    assert server.returncode == 2
    assert f"Error: --db: {reason}" in errors.decode()


def test_several_libraries(own_sample: Path, built: Path) -> None:
    async def search(client: Client) -> set[str]:
        answer = await client.call_tool("search", {"query": "bread"})
        assert answer.structured_content is not None
        return {one["id"].partition(":")[0] for one in answer.structured_content["results"]}

    with lpisearch.open(built / "library.db") as library, served(library) as url:
        command = ["-m", "lpisearch", "mcp", "--db", f"notes={own_sample}", "--db", f"shelf={url}"]
        server = StdioServerParameters(command=sys.executable, args=command)
        assert _with(server, search) == {"notes", "shelf"}


def test_the_skill_names_what_there_is() -> None:
    command = [sys.executable, "-m", "lpisearch", "skill"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    head, name, description, end = text.splitlines()[:4]
    assert (head, end) == ("---", "---")
    assert name == "name: lpisearch"
    assert len(description) < 400
    for word in ("overview()", "search(query)", "fetch(id, start)", "similar(id)", "docs show"):
        assert word in text


_PAGE = Path(__file__).parents[2] / "docs" / "assistants-session.md"
_TRANSCRIPT = re.compile(r"(<!-- transcript -->\n)(.*?)(<!-- end of transcript -->)", re.DOTALL)
_LIST = re.compile(r"\[[^\[\]{}]*\]")  # of words and numbers, shown on one line
_SESSION: tuple[tuple[str, dict[str, Any]], ...] = (
    ("overview", {"budget_tokens": 250}),
    ("search", _BREAD | {"k": 2, "label": "baking"}),
    ("fetch", {"id": "baking/too-long-in-the-basket.txt", "start": 37, "budget_tokens": 200}),
    ("fetch", {"id": "baking/too-long-in-the-basket.txt", "page": "7"}),
    ("classify", {"text": "my chain slips on the smallest sprocket"}),
)


async def _recorded(client: Client) -> str:
    """Return what is asked and answered, as the page shows it."""
    said = [
        f"connected by protocol {client.protocol_version}",
        f"instructions: {client.instructions}",
    ]
    tools = (await client.list_tools()).tools
    said.append(f"tools: {', '.join(one.name for one in tools)}")
    for name, arguments in _SESSION:
        answer = await client.call_tool(name, arguments)
        text = answer.content[0].text  # type: ignore[union-attr]
        if not answer.is_error:
            text = json.dumps(json.loads(text), ensure_ascii=False, indent=1)
            text = _LIST.sub(lambda found: " ".join(found[0].split()), text)
        said.append(f"\n→ {name} {json.dumps(arguments)}\n← {'error: ' * answer.is_error}{text}")
    return "\n".join(said)


def test_the_page_has_a_transcript(own_sample: Path) -> None:
    """Each line of it is answered, but for digits; `LPISEARCH_WRITE_TRANSCRIPT=1` writes it."""
    said = _with(_program(own_sample), _recorded).replace(
        str(_PAGE.parents[1]), "/home/me/lpisearch"
    )
    page = _PAGE.read_text(encoding="utf-8")
    if os.environ.get("LPISEARCH_WRITE_TRANSCRIPT"):
        block = f"```text\n{said}\n```\n"
        _PAGE.write_text(_TRANSCRIPT.sub(lambda found: found[1] + block + found[3], page), "utf-8")
        return
    found = _TRANSCRIPT.search(page)
    assert found is not None
    assert re.sub(r"[\d.]+", "#", said) in re.sub(r"[\d.]+", "#", found[2])
