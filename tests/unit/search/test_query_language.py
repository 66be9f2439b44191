"""What a query may say, on a small library: with and without an index, by every leg."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.errors import BadOption, QueryFieldInvalid
from lpisearch.index.build import build_index
from lpisearch.library import Library
from lpisearch.model.documents import Filter
from lpisearch.options import IndexOptions, SearchOptions
from lpisearch.search import query as search_query
from lpisearch.text.spelling import SPELLED, WRITTEN

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

    def ask(text: str, by: str = "hybrid", **fields: Any) -> Answer:
        return _search(shop, text, SearchOptions(by=by, k=50, **fields))

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
    assert orders == {"date": "bcad", "oldest": "dacb", "title": "abcd", "path": orders["path"]}
    assert pages == [[(1, "b"), (2, "c")], [(3, "a"), (4, "d")]]


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
        ("strasburg", "maker"),
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
    told = answer(typed, literal=True)
    assert told.suggestions[0].word == typed
    assert told.suggestions[0].nearest[0] == meant
    assert any(f"“{typed}” (did you mean “{meant}”?)" in note for note in told.notes)
    assert (told.hits, told.corrected) == ((), "")


@pytest.mark.parametrize(
    ("typed", "corrected"),
    [
        ("postgrse bankk", "postgres bank"),
        ("zzyzx postgrse -report", "zzyzx postgres -report"),
        ("bread acounts*", ""),
        ('"postgrse" bread', ""),
        ("title:postgrse", ""),
        ("agent reposts", ""),
    ],
)
def test_the_search_goes_on_with_a_correction(
    answer: Callable[..., Answer], typed: str, corrected: str
) -> None:
    """Unless the word is demanded as it is, or is a common one of its language."""
    told = answer(typed, "lexical")
    assert told.corrected == corrected
    if corrected:
        assert told.hits == answer(corrected, "lexical").hits
        assert told.notes[0] == (
            f"Showing results for “{corrected}”; to search instead for “{typed}”, use literal"
        )


def test_no_part_of_a_word_is_suggested(shop: Path, put: Callable[..., IngestReport]) -> None:
    """And none that was only in documents that are gone."""
    put([{"id": "new", "text": "Replication to the den of a lion."}], name="new.jsonl")
    assert _search(shop, "replicaton", SearchOptions()).corrected == "replication"
    assert _search(shop, "dentist", SearchOptions()).suggestions[0].nearest == ()
    with Library(shop) as library:
        library.delete("new")
        for typed in ("replicaton", "replication", "lion"):
            gone = library.search(typed)
            assert (gone.corrected, gone.hits) == ("", ())
            assert gone.suggestions[0].nearest == ()


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("computerise", {"maker"}),
        ("tires", {"plain"}),
        ("Colour", {"agents"}),
        ("swam", {"bee"}),
        ("travelled", set()),
    ],
)
def test_british_and_american_spellings_meet(
    library: Path, put: Callable[..., IngestReport], typed: str, found: set[str]
) -> None:
    put(
        [
            {"id": "maker", "text": "We computerize ovens; bread"},
            {"id": "plain", "text": "a flat tyre; bread"},
            {"id": "agents", "text": "colors of birds; ship"},
            {"id": "art", "text": "ship and sea; bread"},
            {"id": "bee", "text": "sea birds swimming"},
        ]
    )
    for _ in range(2):
        hits = _search(library, typed, SearchOptions(by="lexical")).hits
        assert {hit.id for hit in hits} == found
        build_index(library, IndexOptions(dims=1))


def test_an_index_without_a_table_of_words(shop: Path) -> None:
    """An index of an earlier version corrects by what documents say."""
    with Library(shop) as library:
        library.search("bread")
        for _, engine in library._session._engines.values():
            for name in (*WRITTEN, *SPELLED):
                engine.index.arrays.pop(name)
        assert library.search("postgrse").corrected == "postgres"
        assert library.search("broemmelmeier", by="lexical")[0].id == "maker"


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
        names = [name for name, _ in hit.explanation.weights]  # the rarest first
        assert 0 < names.index("bread") == len(names) - 2
        assert hit.explanation.cosine == pytest.approx(hit.cosine, abs=1e-4)


def _search(path: Path, text: str, options: SearchOptions) -> Answer:
    with Library(path) as library:
        return library.search(text, options=options)


@pytest.fixture
def shelves(folder: Callable[..., Path], ingest: Callable[..., IngestReport]) -> None:
    """Fill the library with files of several folders, endings and times."""
    row = '{"id": "row", "text": "Bread", "date": "2019-02-03", "labels": ["x", "y z"]}'
    files = {
        "a/letters/b.txt": "Bread",
        "letters/c.MD": "Bread",
        "d.html": "<p>Bread",
        "e.jsonl": row,
    }
    root = folder(files)
    os.utime(root / "d.html", (1.5e9, 1.5e9))  # July 2017
    ingest(root)


@pytest.mark.usefixtures("shelves")
@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("bread ext:md", {"letters/c.MD"}),
        ("bread ext:txt EXT:md", {"a/letters/b.txt", "letters/c.MD"}),
        ("bread -ext:html -ext:jsonl", {"a/letters/b.txt", "letters/c.MD"}),
        ("bread dir:letters", {"a/letters/b.txt", "letters/c.MD"}),
        ("bread dir:a/letters", {"a/letters/b.txt"}),
        ("bread date:2017", {"d.html"}),
        ("date:2016-05..2019", {"d.html", "row"}),
        ('bread label:"y z" label:x', {"row"}),
        ("bread (ext:md OR date:2019)", {"letters/c.MD", "row"}),
        ('bread "ext:md"', set()),
    ],
)
def test_fields_name_documents(query: str, names: set[str], library: Path) -> None:
    with Library(library) as opened:
        answer = opened.search(query)
        assert {hit.id for hit in answer} == names
        assert "no words" not in " ".join(answer.notes)


@pytest.mark.usefixtures("shelves")
def test_the_time_of_a_file_counts_where_a_text_has_no_date(library: Path) -> None:
    with Library(library) as opened:
        answer = opened.search("bread", sort="date")
        assert [hit.id for hit in answer][-2:] == ["row", "d.html"]
        assert answer[-1].date == ""
        assert answer[-1].file_date.startswith("2017-07-1")
        assert "time of the file counts" in " ".join(answer.notes)
        assert opened.entries(sort="oldest")[0].id == "d.html"
        assert [hit.id for hit in opened.search("bread", where=Filter(until="2018"))] == ["d.html"]


@pytest.mark.usefixtures("shelves")
def test_a_path_is_any_folder_of_that_name_but_for_a_deletion(library: Path) -> None:
    with Library(library) as opened:
        wanted = Filter(path="letters")
        assert len(opened.search("bread", where=wanted)) == 2
        assert opened.delete(where=wanted) == 1


@pytest.mark.usefixtures("shelves")
def test_a_field_that_names_nothing_says_so(library: Path) -> None:
    with Library(library) as opened:
        assert "No document matches ext:xyz" in opened.search("bread ext:xyz").notes
        with pytest.raises(QueryFieldInvalid, match="“soon” is not a date"):
            opened.search("date:soon")
        with pytest.raises(BadOption, match="no document has the label “z”"):
            opened.search("label:z")
