"""Documents that are nearly the same text: one of them is shown, with their number."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

import lpisearch
from lpisearch.index.build import build_index
from lpisearch.index.twins import version_groups
from lpisearch.options import IndexOptions, SearchOptions
from tests.indexing import open_index
from tests.searching import run_batch

if TYPE_CHECKING:
    from collections.abc import Callable
from pathlib import Path

WORDS = np.random.default_rng(3).permutation([f"{a}{b}{c}" for a in "bdfgk" for b in "aeiou"
                                              for c in "lmnrst"]).tolist()  # fmt: skip


def _page(number: int) -> str:
    """Return a page of forty words, a few of which are in other pages too."""
    own = np.random.default_rng(number).choice(WORDS, 40, replace=False)
    return f"Harbour {' '.join(own)}."


PAGES = {f"{number:02}.txt": _page(number) for number in range(30)}
TWINS = {
    "00.html": f"<title>Page</title><p>{PAGES['00.txt']}</p>",
    "00-copy.txt": PAGES["00.txt"],
    "01-later.txt": f"{PAGES['01.txt']} Changed.",
    "02-half.txt": " ".join(PAGES["02.txt"].split()[:25] + PAGES["03.txt"].split()[1:15]),
    "short-1.txt": "Harbour zeppelin",
    "short-2.txt": "Harbour zeppelin",
}
ALIKE = {"00.txt": 2, "01.txt": 1}


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a library with twins, with an index."""
    folder = tmp_path_factory.mktemp("twins")
    for name, text in (PAGES | TWINS).items():
        (folder / name).write_text(text)
    place = tmp_path_factory.mktemp("library") / "library.db"
    with lpisearch.open(place) as library:
        library.ingest(folder)
    build_index(place, IndexOptions())
    return place


def _names(name: str) -> str:
    """Return the first twin of a document."""
    begin = name[:2]
    return f"{begin}.txt" if begin in {"00", "01"} else name


@pytest.mark.parametrize("by", ["lexical", "hybrid"])
def test_one_of_several_is_shown_and_the_others_counted(alike: Path, by: str) -> None:
    with lpisearch.open(alike) as library:
        every = library.search("harbour", by=by, k=99, collapse=False)
        shown = library.search("harbour", options=SearchOptions(by=by, k=99, facets=True))
    assert not any(hit.alike for hit in every)
    assert {_names(hit.id): hit.alike for hit in shown if hit.alike} == ALIKE
    assert len(shown) + shown.hidden == len(every)
    firsts = list(dict.fromkeys(_names(hit.id) for hit in every))
    assert [_names(hit.id) for hit in shown] == firsts


def test_pages_are_parts_of_the_whole(alike: Path) -> None:
    with lpisearch.open(alike) as library:
        whole = library.search("harbour", k=99).hits
        pages = [library.search("harbour", k=7, offset=at).hits for at in range(0, 42, 7)]
    assert [hit for page in pages for hit in page] == list(whole)


def test_runs_are_not_collapsed(alike: Path) -> None:
    (run,) = run_batch(alike, [("1", "harbour")], SearchOptions(k=99))
    assert len(run[1]) == len(PAGES | TWINS)


def test_an_index_without_twins_finds_them(alike: Path) -> None:
    index = open_index(alike)
    stored = index.arrays.pop("twins")
    assert np.array_equal(index.arrays.pop("twin_keys"), index.twin_keys)
    assert np.array_equal(index.twins, stored)


def test_twins_of_documents_added_later(put: Callable[..., object], library: Path) -> None:
    put([{"id": name, "text": text} for name, text in PAGES.items()])
    build_index(library, IndexOptions())
    put([{"id": "again", "text": PAGES["05.txt"]}], name="more")
    with lpisearch.open(library) as opened:
        hits = opened.search(PAGES["05.txt"]).hits
    assert {hit.id: hit.alike for hit in hits}.get("05.txt", hits[0].alike) == 1
    assert not {"again", "05.txt"} <= {hit.id for hit in hits}


def test_without_an_index_equal_words_are_alike(put: Callable[..., object], library: Path) -> None:
    put([{"id": "a", "text": "a ship left the old harbour at dawn"},
         {"id": "b", "text": "A ship left the old harbour, at dawn!"},
         {"id": "c", "text": "a ship left the new harbour at dawn"}])  # fmt: skip
    with lpisearch.open(library) as opened:
        answer = opened.search("ship", facets=True)
    assert sorted(hit.alike for hit in answer) == [0, 1]
    assert answer.hidden == 1


@pytest.mark.parametrize(
    ("paths", "languages", "groups"),
    [
        (["g/de/a.html", "g/a.en.html", "g/b.html"], ["german", "english", "english"], [0, 0, 2]),
        (["m/man1/ls.1", "m/pt_BR/man1/ls.1"], ["english", "portuguese"], [0, 0]),
        (["doc-de/ch.de.html", "doc-en/ch.en.html"], ["german", "english"], [0, 0]),
        (["d.zh-cn.pdf", "d.zh-tw.pdf", "d.pdf"], ["chinese", "chinese", "english"], [0, 0, 0]),
        # The code is not that of the language of the text; all are of one language; one file.
        (["what-it-is.html", "what-it.html"], ["english", "german"], [0, 1]),
        (["a/en/b.txt", "a/b.txt"], ["english", "english"], [0, 1]),
        (["a.jsonl", "a.jsonl"], ["english", "german"], [0, 1]),
        (["", ""], ["english", "german"], [0, 1]),
    ],
)
def test_versions_differ_by_the_code_of_their_language(
    paths: list[str], languages: list[str], groups: list[int]
) -> None:
    alone = np.arange(len(paths), dtype=np.int32)
    assert version_groups(paths, languages, alone).tolist() == groups


def test_versions_join_twins() -> None:
    """A version of a twin is in the group of both."""
    paths, languages = ["x.txt", "de/a.txt", "a.txt"], ["german", "german", "english"]
    leaders = np.array([0, 0, 2], np.int32)
    assert version_groups(paths, languages, leaders).tolist() == [0, 0, 0]


def test_a_page_in_several_languages_is_one_result(tmp_path: Path) -> None:
    """That in the language of the question is shown, with the number of the others."""
    pages = {
        "en": "The lighthouse stands on the cliff, and its keeper who lives there came in 1904.",
        "de": "Der Leuchtturm steht auf der Klippe, und sein Wärter, der dort lebt, kam 1904.",
        "fr": "Le phare est sur la falaise, et son gardien qui habite dans la tour vint en 1904.",
    }
    for code, text in pages.items():
        (tmp_path / "guide" / code).mkdir(parents=True)
        (tmp_path / "guide" / code / "keeper.txt").write_text(text, encoding="utf-8")
        (tmp_path / "guide" / code / f"other-{code}-page.txt").write_text(f"{text} {text}")
    with lpisearch.open(tmp_path / "library.db") as library:
        library.ingest(tmp_path / "guide")
        library.index()
        for query, code in (
            ("who is the keeper of the lighthouse 1904", "en"),
            ("wer ist der Wärter auf dem Leuchtturm 1904", "de"),
        ):
            hits = [hit for hit in library.search(query) if hit.id.endswith("keeper.txt")]
            assert [(hit.id, hit.versions) for hit in hits] == [(f"{code}/keeper.txt", 2)]
            every = library.search(query, collapse=False)
            assert sum(hit.id.endswith("keeper.txt") for hit in every) == 3
            assert not any(hit.versions for hit in every)
        with library._session.reading() as transaction:
            assert transaction.documents.paths("english")


def test_documents_of_one_file_are_no_versions(tmp_path: Path) -> None:
    """Their paths need not be read."""
    texts = [
        "The lighthouse stands on the cliff, and its keeper who lives there came in 1904.",
        "Der Leuchtturm steht auf der Klippe, und sein Wärter, der dort lebt, kam 1904.",
    ] * 3
    lines = [json.dumps({"id": str(at), "text": text}) for at, text in enumerate(texts)]
    (tmp_path / "records.de.jsonl").write_text("\n".join(lines), encoding="utf-8")
    with lpisearch.open(tmp_path / "library.db") as library:
        library.ingest(tmp_path / "records.de.jsonl")
        with library._session.reading() as transaction:
            assert set(transaction.documents.languages()) == {"english", "german"}
            assert not transaction.documents.paths("english")
