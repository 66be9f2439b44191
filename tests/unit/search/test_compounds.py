"""Compound words on a small library: with and without an index, by words and in hybrid."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpisearch.index.build import build_index
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.library import Library
from lpisearch.options import IndexOptions, IngestOptions, SearchOptions
from lpisearch.search.compounds import Compound, compounds_of
from lpisearch.text.tokeniser import Tokeniser

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.model.answers import Answer

ENGLISH = Tokeniser()
IDENTIFIERS = (
    *("O_NONBLOCK", "PATH_MAX", "os.path.join", "--no-install-recommends", "192.168.178.1"),
    *("TCP/IP", "LX-88213", "C++", "C#", ".NET", "F#", "parseXMLHeader"),
)
FORMS = (*IDENTIFIERS, "e-mail")
_FILLER = (
    "Some long remarks on gardens and weather follow, as they do in every letter of ours. " * 3
)


def _other_spelling(form: str) -> str:
    """Return a form in other capitals and with other joints."""
    joined = re.sub(r"(?<=\w)[-_./](?=\w)", "/" if "-" in form else "-", form)
    return joined.swapcase() if joined.swapcase() != joined else joined


@pytest.fixture(scope="module", params=["no index", "index"])
def library(request: pytest.FixtureRequest, shared: Callable[..., Path]) -> Path:
    """Return a library with each form in one spelling, in another, and its parts apart."""

    def make(folder: Path) -> None:
        records = []
        for number, form in enumerate(FORMS):
            parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+|\d+", form)
            apart = " gardens ".join(reversed(parts))
            records += [
                {"id": f"same {form}", "text": f"{_FILLER} We use {form}, here. {_FILLER}"},
                {"id": f"other {form}", "text": f"{_FILLER} We use {_other_spelling(form)}. Yes."},
                {"id": f"apart {number}", "text": f"{apart} near {apart} near {apart}"},
                {"id": f"apart {number} twice", "text": f"{apart} near {apart}. {_FILLER}"},
            ]
        lines = "".join(json.dumps(record) + "\n" for record in records)
        (folder / "records.jsonl").write_text(lines, encoding="utf-8")
        run_ingest(folder / "library.db", [str(folder / "records.jsonl")], IngestOptions())
        if request.param == "index":
            build_index(folder / "library.db", IndexOptions(dims=4))

    return shared(f"compounds, {request.param}", make) / "library.db"


def _search(library: Path, text: str, by: str = "hybrid", k: int = 60) -> Answer:
    with Library(library) as opened:
        return opened.search(text, options=SearchOptions(by=by, k=k, collapse=False))


@pytest.mark.parametrize("by", ["hybrid", "lexical"])
@pytest.mark.parametrize("form", FORMS)
def test_the_same_spelling_is_first_and_its_parts_apart_are_last(
    library: Path, form: str, by: str
) -> None:
    ids = [hit.id for hit in _search(library, form, by).hits]
    number = FORMS.index(form)
    assert ids[0] == f"same {form}"
    if form not in {"--no-install-recommends", "C++", "C#", ".NET", "F#"}:  # the other is no word
        assert ids[1] == f"other {form}"
    assert f"apart {number}" not in ids[:2]


@pytest.mark.parametrize("form", FORMS)
def test_a_compound_in_a_sentence_is_marked_as_a_whole(library: Path, form: str) -> None:
    hits = _search(library, f"remarks on the use of {form}").hits
    (passage,) = (hit.snippet for hit in hits if hit.id == f"same {form}")
    assert form in [passage.text[start:end] for start, end in passage.marks]


def test_a_batch_ranks_as_a_search_does(library: Path) -> None:
    with Library(library) as opened:
        options, notes = SearchOptions(k=10, collapse=False), list[str]()
        runs = dict(
            opened.batch([(one, one) for one in FORMS], options=options, on_note=notes.append)
        )
    for form in FORMS:
        hits = _search(library, form, k=1).hits
        assert [name for name, _ in runs[form][:1]] == [hit.id for hit in hits]
        scores = [score for _, score in runs[form][:1]]
        np.testing.assert_allclose(scores, [hit.score for hit in hits], rtol=1e-4)


@pytest.mark.parametrize("by", ["hybrid", "lexical"])
def test_the_parts_of_a_score_sum_to_it(library: Path, by: str) -> None:
    with Library(library) as opened:
        for text in ("PATH_MAX", "a letter on e-mail"):
            name = f"same {text.split()[-1]}"
            hits = opened.search(text, options=SearchOptions(by=by, k=60)).hits
            reason = opened.reason(text, name, options=SearchOptions(by=by))
            legs = {leg.name: leg.share for leg in reason.legs}
            (score,) = (hit.score for hit in hits if hit.id == name)
            assert sum(legs.values()) == pytest.approx(score, abs=1e-4)
            assert legs["compounds"] > 0
            assert ("feedback" in legs) == ("e-mail" in text and "place" in legs)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("e.g. the U.S. and, of course, don't stop.", []),
        ("(see os.path.join(), PATH_MAX; or “e-mail”)", ["os.path.join", "PATH_MAX", "e-mail"]),
        (
            "apt --no-install-recommends -y C++ in c++17",
            ["--no-install-recommends", "C++", "c++"],
        ),
        ("parseXMLHeader iPhone", ["parseXMLHeader"]),
        ("/etc/fstab or /slip and theory--that, std::sort", ["/etc/fstab", "std::sort"]),
        ("3.5 of .NET, F#", ["3.5", ".NET", "F#"]),
    ],
)
def test_what_is_a_compound(text: str, written: list[str]) -> None:
    assert [compound.written for compound in compounds_of(text, ENGLISH)] == written


@given(st.text(st.sampled_from("aB1_-./:+# é東'\n"), max_size=30))
def test_a_compound_is_found_in_the_text_that_it_is_from(text: str) -> None:
    for compound in compounds_of(text, ENGLISH):
        assert compound.is_in(text)
        start, end = compound.find(text) or (0, 0)
        assert text[start:end] == compound.written


def test_only_whole_words_are_the_same_spelling() -> None:
    assert not Compound("PATH_MAX", ("path", "max")).is_in("MY_PATH_MAX PATH_MAXIMUM path_max")
    assert Compound("e-mail", ("e", "mail")).is_in("E-mail")
