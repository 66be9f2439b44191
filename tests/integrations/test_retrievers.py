"""Retrievers for other frameworks, each driven by the framework itself."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import lpisearch
from lpisearch.retrievers import address_of, library_at, retrieved
from tests.serving import served

_QUERY = "why does my bread stay flat"
_FIRST = "baking/too-long-in-the-basket.txt"
_REASON = "needs `make test-integrations`"


@pytest.fixture
def library(indexed: Path) -> Iterator[lpisearch.Library]:
    """Open the sample corpus."""
    with lpisearch.open(indexed) as opened:
        yield opened


def test_langchain(library: lpisearch.Library, indexed: Path) -> None:
    pytest.importorskip("langchain_core", reason=_REASON)
    from lpisearch.retrievers.langchain import LpiSearchRetriever

    found = LpiSearchRetriever(library=str(indexed), k=3).invoke(_QUERY)
    assert [one.id for one in found] == [hit.id for hit in library.search(_QUERY, k=3)]
    assert found[0].metadata["id"] == _FIRST
    assert found[0].page_content in library.document(_FIRST).text
    narrow = LpiSearchRetriever(library=library, k=3, search={"path": "sailing"})
    assert all(one.id.startswith("sailing/") for one in narrow.invoke(_QUERY))
    answers = asyncio.run(narrow.abatch([_QUERY, "anchor"]))
    assert [len(one) for one in answers] == [3, 3]


def test_llama_index(library: lpisearch.Library) -> None:
    pytest.importorskip("llama_index.core", reason=_REASON)
    from lpisearch.retrievers.llama_index import LpiSearchRetriever

    retriever = LpiSearchRetriever(library, k=2, characters=200, by="lexical")
    found = retriever.retrieve(_QUERY)
    assert [one.score for one in found] == [
        hit.score for hit in library.search(_QUERY, k=2, by="lexical")
    ]
    assert all(0 < len(one.text) <= 200 for one in found)
    assert [one.node_id for one in asyncio.run(retriever.aretrieve(_QUERY))] == [
        one.node_id for one in found
    ]


def test_haystack(library: lpisearch.Library, indexed: Path) -> None:
    pytest.importorskip("haystack", reason=_REASON)
    from haystack import Pipeline

    from lpisearch.retrievers.haystack import LpiSearchRetriever

    pipeline = Pipeline()
    pipeline.add_component("retriever", LpiSearchRetriever(indexed, top_k=2))
    found = pipeline.run({"retriever": {"query": _QUERY}})["retriever"]["documents"]
    assert [one.id for one in found] == [hit.id for hit in library.search(_QUERY, k=2)]
    assert found[0].meta["path"].endswith(_FIRST)
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=[LpiSearchRetriever.__module__])
    asked = {"retriever": {"query": _QUERY, "top_k": 1}}
    assert again.run(asked)["retriever"]["documents"] == found[:1]


def test_the_text_around_a_passage(library: lpisearch.Library, tmp_path: Path) -> None:
    """A short document is whole; of a long one the text contains its best passage."""
    (one,) = retrieved(library, _QUERY, k=1, characters=100_000)
    assert one.content == library.document(one.id).text
    folder = tmp_path / "books"
    folder.mkdir()
    lines = [f"Line {number} says nothing at all of note." for number in range(4000)]
    lines[3000] = "Here the walrus meets a lighthouse keeper."
    (folder / "book.txt").write_text("\n".join(lines), encoding="utf-8")
    with lpisearch.open(tmp_path / "books.db") as books:
        books.ingest(folder)
        (one,) = retrieved(books, "walrus lighthouse", k=1, characters=400)
        text = books.document(one.id).text
    assert "walrus meets a lighthouse" in one.content
    assert len(one.content) <= 400
    assert text[one.metadata["start"] : one.metadata["end"]] == one.content


def test_a_server_is_a_place(library: lpisearch.Library, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LPISEARCH_TOKEN", raising=False)
    with served(library) as url:
        remote: Any = library_at(url)
        assert address_of(remote) == url
        assert retrieved(remote, _QUERY, k=1, characters=200) == retrieved(
            library, _QUERY, k=1, characters=200
        )
        remote.close()
    assert address_of(library_at(library)) == str(library.path)


@pytest.mark.parametrize("name", ["langchain", "llama_index", "haystack"])
def test_nothing_is_imported_before_it_is_needed(name: str) -> None:
    import subprocess
    import sys

    code = f"import sys, lpisearch.retrievers; sys.exit('{name}' in ' '.join(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
