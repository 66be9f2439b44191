"""What a query may say, on a small library: with and without an index, by every leg."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import BadOption
from lpisearch.index.build import build_index
from lpisearch.library import Library
from lpisearch.options import IndexOptions, SearchOptions
from lpisearch.search import query as search_query

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.model.answers import Answer
    from lpisearch.model.documents import IngestReport

    Ask = Callable[..., set[str]]

_TEXTS = {
    "ledger": ("", "An accountant keeps the ledger of a shop and adds up every account."),
    "bank": ("", "Open an account at the bank; accounts are free."),
    "play": ("", "To be, or not to be: that is the question of the play."),
    "bee": ("", "Not to be a bee is to be or to be nothing."),
    "art": ("", "The state of the art in computing is what computers compute."),
    "state": ("", "Art of the state; a state art museum."),
    "maker": ("Brömmelmeier", "The firm of that name makes bread ovens in Straßburg."),
    "plain": ("", "Mr Brommelmeier wrote about bread without an umlaut."),
    "agents": ("", "Multi-agent systems: agents that draft reports together."),
    "report": ("Draft report", "A report on postgres, the database; postgres is free."),
    "résumé": ("", "A résumé lists what somebody has done, résumés are short."),
    "tokyo": ("", "東京都の天気は晴れです。"),
}


@pytest.fixture(params=["no index", "index"])
def shop(request: pytest.FixtureRequest, put: Callable[..., IngestReport], library: Path) -> Path:
    """Return a library of a dozen documents, with and without an index."""
    put([{"id": name, "title": title, "text": text} for name, (title, text) in _TEXTS.items()])
    if request.param == "index":
        build_index(library, IndexOptions(dims=4))
    return library


@pytest.fixture
def answer(shop: Path) -> Callable[..., Answer]:
    """Return a way to ask the library."""

    def ask(text: str, by: str = "hybrid") -> Answer:
        return _search(shop, text, SearchOptions(by=by, k=50))

    return ask


@pytest.fixture
def found(answer: Callable[..., Answer]) -> Ask:
    """Return a way to ask which documents are found."""

    def ask(text: str, by: str = "hybrid") -> set[str]:
        return {hit.id for hit in answer(text, by).hits}

    return ask


@pytest.mark.parametrize("by", ["hybrid", "semantic", "lexical"])
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ('"accountant"', {"ledger"}),
        ('"account"', {"ledger", "bank"}),
        ('"accounts"', {"bank"}),
        ('"ACCOUNT at the Bank"', {"bank"}),
        ('"account the bank"', set()),
        ('"multi agent"', {"agents"}),
        ('"brömmelmeier"', {"maker", "plain"}),
        ('"Brommelmeier"', {"maker", "plain"}),
        ('"strassburg"', {"maker"}),
        ('"draft report"', {"report"}),
        ('"report a report"', set()),
        ('"resume"', {"résumé"}),
        ('"東京"', {"tokyo"}),
        ('"state of the art"', {"art"}),
        ('"state art"', {"state"}),
        ('"state art"~', {"art", "state"}),
        ('"accounts"~', {"ledger", "bank"}),
    ],
)
def test_a_quoted_phrase_is_found_as_it_is_written(
    found: Ask, text: str, ids: set[str], by: str
) -> None:
    assert found(text, by) == ids


@pytest.mark.parametrize("by", ["hybrid", "semantic", "lexical"])
def test_a_phrase_of_stop_words_is_found(found: Ask, by: str) -> None:
    assert found('"to be or not to be"', by) == {"play"}
    assert found('"not to be"', by) == {"play", "bee"}
    assert found('"to be" bread', by) <= {"play", "bee"}


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ('"to be or not to be"', "To be, or not to be"),
        ('"that is the question"', "that is the question"),
        ('"strassburg"', "Straßburg"),
        ('"RESUME lists"', "résumé lists"),
    ],
)
def test_the_phrase_is_shown_and_marked(
    answer: Callable[..., Answer], text: str, marked: str
) -> None:
    passage = answer(text).hits[0].snippet
    assert marked in [passage.text[start:end] for start, end in passage.marks]


def test_what_is_nowhere_as_it_is_written_is_said(answer: Callable[..., Answer]) -> None:
    none = answer('"accountants"')
    assert none.hits == ()
    assert any('"accountants"~ also matches other word forms' in note for note in none.notes)
    assert answer('"was it or not"').hits == ()


@pytest.mark.parametrize("by", ["hybrid", "semantic", "lexical"])
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("title:report", {"report"}),
        ("title:drafts", {"report"}),
        ('title:"draft report"', {"report"}),
        ('title:"drafts"', set()),
        ("title:postgres", set()),
        ("title:repo*", {"report"}),
        ("title:brommelmeier", {"maker"}),
        ("report -title:report", {"agents"}),
        ('"a report" OR ledger', {"report", "ledger"}),
        ("(postgres database OR shop)", {"report", "ledger"}),
        ("(postgres museum OR shop)", {"ledger"}),
        ("title:report OR brommelmeier", {"report", "maker", "plain"}),
        ("accounta* OR comput*", {"ledger", "bank", "art"}),
        ("bread -(umlaut OR nowhere)", {"maker"}),
        ("zzyzx OR qqqx", set()),
    ],
)
def test_titles_and_alternatives(found: Ask, text: str, ids: set[str], by: str) -> None:
    if by == "semantic":  # a word may say nothing in so few dimensions
        assert found(text, by) <= ids
    else:
        assert found(text, by) == ids


def test_what_no_title_has_is_said(answer: Callable[..., Answer]) -> None:
    assert "No title contains “Postgres”" in answer("title:Postgres").notes
    meant = answer("title:postgrse OR (umlaut ledgre)").suggestions
    assert {one.word: one.nearest[:1] for one in meant} == {
        "postgrse": ("postgres",),
        "ledgre": ("ledger",),
    }
    notes = answer("(zzyzx OR qqqx)").notes
    assert "No document contains any of: (zzyzx OR qqqx)" in notes


def test_hits_are_sorted_by_date_or_title(put: Callable[..., IngestReport], library: Path) -> None:
    dates = {"a": "2024-05", "b": "", "c": "2024-05-03", "d": "2023-12-31"}
    put(
        [
            {"id": name, "title": f"Bread {name}", "text": f"bread {'oven ' * at}", "date": date}
            for at, (name, date) in enumerate(dates.items())
        ]
    )
    with Library(library) as opened:
        orders = {
            sort: "".join(hit.id for hit in opened.search("bread oven", sort=sort))
            for sort in ("date", "oldest", "title", "path")
        }
        pages = [
            [(hit.rank, hit.id) for hit in opened.search("bread", options=options)]
            for options in (SearchOptions(k=2, sort="date", offset=at) for at in (0, 2))
        ]
        with pytest.raises(BadOption, match=r"unknown sort order “dates” .did you mean date"):
            opened.search("bread", sort="dates")
        with pytest.raises(BadOption, match="sorted by score"):
            list(opened.batch([("1", "bread")], options=SearchOptions(sort="date")))
    assert orders == {"date": "cadb", "oldest": "dacb", "title": "abcd", "path": orders["path"]}
    assert pages == [[(1, "c"), (2, "a")], [(3, "d"), (4, "b")]]


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("-draft report", {"agents", "report"}),
        ("report -draft", {"agents", "report"}),
        ("report -drafts", {"agents", "report"}),
        ('report -"draft report"', {"report"}),
        ('report -"drafts"', set()),
        ("report -draf*", {"agents", "report"}),
        ("bread -brommelmeier", {"maker", "plain"}),
        ('bread -"that is the question"', {"play"}),
    ],
)
def test_exclusions(found: Ask, text: str, without: set[str]) -> None:
    """A word is excluded in all its forms and spellings, a phrase as it is written."""
    everything = found(text.partition("-")[0] or text.partition(" ")[2])
    assert found(text) == everything - without


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("comput*", {"art"}),
        ("computi*", {"art"}),
        ("accounta*", {"ledger", "bank"}),
        ("brömm*", {"maker"}),
        ("agen*", {"agents"}),
    ],
)
def test_a_prefix_stands_for_all_words_that_begin_so(found: Ask, text: str, ids: set[str]) -> None:
    assert found(text, "lexical") == ids


def test_a_prefix_of_no_word_is_said(answer: Callable[..., Answer]) -> None:
    none = answer("xyz*")
    assert none.hits == ()
    assert "No document contains a word starting with “xyz”" in none.notes


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("strasburg", ""),
        ("straßburg", "maker"),
        ("strassburg", "maker"),
        ("broemmelmeier", "maker"),
        ("resumes", "résumé"),
        ("RESUME", "résumé"),
    ],
)
def test_another_spelling_of_accents_finds(
    answer: Callable[..., Answer], text: str, first: str
) -> None:
    hits = answer(text, "lexical").hits
    assert (hits[0].id if hits else "") == first


def test_the_exact_spelling_ranks_first(put: Callable[..., IngestReport], library: Path) -> None:
    texts = {
        "Muller": "bakes bread",
        "Müller": "bakes bread",
        "Meier": "sails",
        "Roth": "sails away",
    }
    put([{"id": name, "text": f"{name} {text}"} for name, text in texts.items()])
    build_index(library, IndexOptions(dims=2))
    for typed, other in (("Muller", "Müller"), ("Müller", "Muller")):
        hits = _search(library, typed, SearchOptions(by="lexical")).hits
        assert [hit.id for hit in hits] == [typed, other]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("postgrse", "postgres"), ("acount", "account"), ("bankk", "bank"), ("qestion", "question")],
)
def test_a_word_that_no_document_has_is_answered_with_the_nearest(
    answer: Callable[..., Answer], typed: str, meant: str
) -> None:
    told = answer(typed)
    assert told.suggestions[0].word == typed
    assert told.suggestions[0].nearest[0] == meant
    assert any(f"“{typed}” (did you mean “{meant}”?)" in note for note in told.notes)


def test_a_word_like_no_other_has_no_suggestion(answer: Callable[..., Answer]) -> None:
    told = answer("xylophonist")
    assert told.suggestions[0].nearest == ()
    assert any("“xylophonist”" in note and "mean" not in note for note in told.notes)


def test_the_texts_that_are_read_are_bounded(
    answer: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_query, "MOST_READ", 1)
    told = answer('"account"')
    assert [hit.id for hit in told.hits] == ["bank"]
    assert any(
        "2 documents may contain it; only the first 1 were checked" in note for note in told.notes
    )


def test_a_prefix_stands_for_so_many_words_at_most(
    put: Callable[..., IngestReport], library: Path
) -> None:
    words = " ".join(f"word{number}" for number in range(120))
    texts = [words, "word7 word8 bread", "bread oven", "ship sea", "sea wave ship"]
    put([{"text": text} for text in texts])
    build_index(library, IndexOptions(dims=1))
    answer = _search(library, "word*", SearchOptions())
    assert any("“word*” matches 120 words; only the 100" in note for note in answer.notes)


def test_a_batch_takes_other_spellings_but_no_signs(shop: Path) -> None:
    options = SearchOptions(by="lexical")
    with Library(shop) as library:
        asked = [("1", "broemmelmeier"), ("2", '"accountant"')]
        runs = dict(library.batch(asked, options=options, on_note=lambda _note: None))
    assert [name for name, _ in runs["1"]] == ["maker"]
    assert {name for name, _ in runs["2"]} == {"ledger", "bank"}


def test_explanations_add_up_for_expanded_words(shop: Path) -> None:
    query = "comput* broemmelmeier bread"
    hits = _search(shop, query, SearchOptions(explain=True)).hits
    explained = [hit for hit in hits if hit.explanation is not None]
    assert bool(explained) == any(hit.cosine is not None for hit in hits)
    for hit in explained:
        assert hit.explanation is not None
        assert hit.explanation.cosine == pytest.approx(hit.cosine, abs=1e-4)


def _search(path: Path, text: str, options: SearchOptions) -> Answer:
    with Library(path) as library:
        return library.search(text, options=options)
