"""Shards behind servers: what crosses the wire, and who is unavailable."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest
from starlette.testclient import TestClient

import lpisearch
from lpisearch import BadOption, DocumentNotFound, SearchOptions
from lpisearch.client.transport import Transport
from lpisearch.errors import ServerUnreachable, ShardsAway, ShardsUnusable
from lpisearch.settings.serving import ServeSettings
from lpisearch.sharded import connect_shards
from lpisearch.sharded import panel as panel_module
from lpisearch.web.app import create_app
from tests.serving import served
from tests.unit.sharded.test_answers import assert_same

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lpisearch import Library

TOKEN = "a-token-of-more-than-sixteen"  # noqa: S105 (of a test)


@pytest.fixture
def urls(made: Path) -> Iterator[list[str]]:
    """Serve three shards."""
    settings = ServeSettings(token=TOKEN, read_only=True)
    with lpisearch.open(made / "parts") as parts:
        shards = [parts.shard(f"{number}/3") for number in (1, 2, 3)]
        with (
            served(shards[0], settings) as first,
            served(shards[1], settings) as second,
            served(shards[2], settings) as third,
        ):
            yield [first, second, third]


def test_servers_answer_as_the_whole(whole: Library, urls: list[str]) -> None:
    """Questions, explanations, filters, similar documents, listings: nothing differs."""
    with connect_shards(urls, TOKEN) as front:
        asked = SearchOptions(collapse=True, k=8, facets=True, explain=True)
        for question in ("ship harbour", '"old harbour lamp"'):
            assert_same(
                whole.search(question, options=asked), front.search(question, options=asked)
            )
        assert_same(whole.similar("sea/00"), front.similar("sea/00"))
        listed = {"limit": 5, "offset": 30, "sort": "title"}
        assert front.listing(**listed) == whole.listing(**listed)  # type: ignore[arg-type]
        assert front.document("sky/59") == whole.document("sky/59")
        assert front.state() == front.state()


def test_little_crosses_the_wire(urls: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Never a score for every document: what is said grows with the hits and the dimensions."""
    asked: list[str] = []
    once = Transport.ask

    def counted(self: Transport, method: str, path: str, *rest: object, **named: object) -> object:
        asked.append(path)
        return once(self, method, path, *rest, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Transport, "ask", counted)
    with connect_shards(urls, TOKEN) as front:
        front.search("ship harbour", k=3)
    steps = [path for path in asked if path == "/shard/step"]
    assert len(steps) == 5 * 3
    assert len(asked) == 7 * 3


def test_a_shard_that_is_away_is_named_until_it_is_back(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rest is answered at once; marks of answers change when it goes and when it comes."""
    monkeypatch.setattr(panel_module, "_AWAY_SECONDS", 0.0)
    with lpisearch.open(made / "parts") as parts, served(parts.shard("1/3")) as first:
        with served(parts.shard("2/3")) as second:
            front = connect_shards([first, second])
            answer = front.search("ship", k=62)
            assert answer.missing == ("shard 3/3",)
            before = front.state()
        front.close()
        rest = front.search("ship", k=62)
        assert rest.missing == (second, "shard 3/3")
        assert rest.notes[0].startswith(f"{second}, shard 3/3 are away")
        assert 0 < len(rest) < len(answer)
        assert front.state() != before
        with pytest.raises(DocumentNotFound, match=f"wait for {second}"):
            front.document("sea/30")
        front.close()


def test_a_listing_says_who_is_away(made: Path) -> None:
    """Documents of a shard that does not answer are not listed, and that is said everywhere."""
    with lpisearch.open(made / "parts") as parts, served(parts.shard("1/3")) as first:
        gone = "http://127.0.0.1:9"
        with connect_shards([first, gone]) as front:
            assert front.away() == ()  # nobody was asked yet
            _, total = front.listing(limit=1)
            assert 0 < total < len(parts)
            assert front.away() == (gone,)
            app = create_app(front)
            with TestClient(app, "http://127.0.0.1:8077") as client:
                assert client.get("/api/v1/documents").json()["missing"] == [gone]
                assert f"{gone} is unavailable" in client.get("/").text
    with lpisearch.open(made / "parts") as parts:
        assert parts.away() == parts.shard("1/3").away() == ()


def test_nobody_waits_for_a_shard_that_hangs(made: Path) -> None:
    """It is given up after the seconds that are allowed, and then not asked for a while."""
    import socket

    with (
        lpisearch.open(made / "parts") as parts,
        served(parts.shard("1/3")) as first,
        socket.socket() as deaf,
    ):
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(8)
        hanging = f"http://127.0.0.1:{deaf.getsockname()[1]}"
        with connect_shards([first, hanging], seconds=0.5) as front:
            assert hanging in front.search("ship").missing
            assert hanging in front.search("ship").missing
            assert front.status()["shards"][1]["state"] == "away"


def test_when_none_answers_it_is_said() -> None:
    """With the addresses, and no traceback."""
    with (
        connect_shards(["http://127.0.0.1:9", "http://127.0.0.1:1"]) as front,
        pytest.raises(ShardsAway, match=r"No shard is responding: .*:9, .*:1"),
    ):
        front.search("ship")


def test_servers_that_do_not_fit_together_are_refused(made: Path) -> None:
    """The same shard twice, or a library that is whole."""
    with (
        lpisearch.open(made / "parts") as parts,
        lpisearch.open(made / "notes.db") as whole,
        served(parts.shard("1/3")) as first,
        served(whole) as other,
    ):
        same = first.replace("127.0.0.1", "localhost")
        for second, said in ((other, "another build"), (same, "the same shard")):
            with (
                connect_shards([first, second]) as front,
                pytest.raises(ShardsUnusable, match=said),
            ):
                front.search("ship")
    with pytest.raises(BadOption, match="once"):
        connect_shards([])
    with pytest.raises(ServerUnreachable, match="http"):
        connect_shards(["nonsense"])


def test_many_ask_at_once(urls: list[str], whole: Library) -> None:
    """Conversations do not meet."""
    expected = {each: [hit.id for hit in whole.search(each)] for each in ("ship", "star", "bread")}
    found: dict[str, list[str]] = {}
    with connect_shards(urls, TOKEN) as front:

        def ask(question: str) -> None:
            found[question] = [hit.id for hit in front.search(question)]

        threads = [threading.Thread(target=ask, args=(each,)) for each in expected]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == expected
