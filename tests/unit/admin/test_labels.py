"""Labels by hand, and labels that are predicted and kept."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.errors import BadOption, DocumentNotFound
from lpisearch.library import Library
from lpisearch.model.documents import Filter
from lpisearch.options import ClassifyOptions, IndexOptions, SearchOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Put = Callable[..., Any]


@pytest.fixture
def notes(folder: Callable[..., Path], ingest: Callable[..., Any]) -> Path:
    """Return a folder in the library: two files in folders that are their labels."""
    root = folder({"work/a.txt": "A ship.", "home/b.txt": "A cake."})
    ingest(root, labels="folder")
    return root


@pytest.fixture
def opened(library: Path) -> Iterator[Library]:
    """Open the library."""
    with Library(library) as opened:
        yield opened


@pytest.fixture
def half(records: list[dict[str, Any]], put: Put, library: Path) -> Iterator[Library]:
    """Open a library of which every fifth document has no label, with an index."""
    put([each | {"labels": each["labels"] if each["split"] == "train" else []} for each in records])
    with Library(library) as opened:
        opened.index(dims=8)
        yield opened


def _labels(library: Library) -> dict[str, tuple[str, ...]]:
    return {entry.id: entry.labels for entry in library.entries()}


def _predicted(library: Library) -> dict[str, list[str]]:
    return {entry.id: [each.label for each in entry.predicted] for entry in library.entries()}


@pytest.mark.usefixtures("notes")
def test_labels_come_and_go(opened: Library) -> None:
    assert opened.label("home/b.txt", add=["sweet", "home"], remove="nothing").added == 1
    assert opened.label(where=Filter(path="*"), add="read", remove="home").documents == 2
    assert _labels(opened) == {"home/b.txt": ("sweet", "read"), "work/a.txt": ("work", "read")}
    assert [entry.id for entry in opened.entries(Filter(labels=("sweet",)))] == ["home/b.txt"]
    assert [hit.id for hit in opened.search("cake ship", label="sweet")] == ["home/b.txt"]


def test_what_is_said_by_hand_survives_another_ingest(
    opened: Library, notes: Path, ingest: Callable[..., Any]
) -> None:
    opened.label("work/a.txt", add="read", remove="work")
    (notes / "work/a.txt").write_text("Another ship.")
    assert ingest(notes, labels="folder").updated == 1
    assert _labels(opened)["work/a.txt"] == ("read",)
    opened.label("work/a.txt", add="work")
    (notes / "work/a.txt").write_text("A third ship.")
    ingest(notes, labels="none")
    assert _labels(opened)["work/a.txt"] == ("read", "work")
    assert ingest(notes, labels="none").unchanged == 2


@pytest.mark.usefixtures("notes")
@pytest.mark.parametrize(
    ("names", "asked", "said"),
    [
        (["home/b.txt"], {}, "give at least one label"),
        (["home/b.txt"], {"add": " "}, "a label cannot be empty"),
        (["home/b.txt"], {"add": "a\0b"}, "contains invisible characters"),
        (
            ["home/b.txt"],
            {"add": "x", "remove": ("y", "x")},
            "“x” cannot be both added and removed",
        ),
        ([], {"add": "x"}, "give document ids"),
        (["home/b.txt"], {"add": "x", "where": Filter(path="home")}, "not both"),
    ],
)
def test_what_cannot_be_meant_is_stated(
    opened: Library, names: list[str], asked: dict[str, Any], said: str
) -> None:
    before = _labels(opened)
    with pytest.raises(BadOption, match=said):
        opened.label(*names, **asked)
    assert _labels(opened) == before


@pytest.mark.usefixtures("notes")
def test_a_name_of_no_document_changes_nothing(opened: Library) -> None:
    with pytest.raises(DocumentNotFound, match="nope"):
        opened.label("home/b.txt", "nope", add="x")
    assert _labels(opened)["home/b.txt"] == ("home",)


def test_predicted_labels_are_kept_apart(half: Library, records: list[dict[str, Any]]) -> None:
    given = half.status()["labels"]
    report = half.predict_labels()
    unlabelled = {each["id"]: each["labels"] for each in records if each["split"] == "test"}
    assert (report.documents, report.predicted) == (8, 8)
    assert {name: own for name, own in _predicted(half).items() if own} == unlabelled
    assert half.status()["labels"] == given
    (said,) = half.predicted("sea/0")
    assert (said.label, said.classifier) == ("sea", report.classifier)
    assert 0.5 <= said.confidence <= 1
    sea = half.entries(Filter(predicted=("sea",)))
    assert [entry.id for entry in sea] == ["sea/0", "sea/20"]
    either = half.entries(Filter(labels=("sea",), predicted=("sea",)))
    assert len(either) == 10
    assert all(hit.predicted for hit in half.search("ship", k=9) if not hit.labels)
    nowhere = SearchOptions(where=Filter(predicted=("seas",)))
    with pytest.raises(
        BadOption, match=r"no document has the predicted label “seas” .did you mean sea"
    ):
        half.search("ship", options=nowhere)


def test_predictions_are_undone(half: Library) -> None:
    half.predict_labels()
    before = _labels(half)
    assert half.forget_predicted("sea/0") == 1
    assert half.forget_predicted(where=Filter(predicted=("sea",))) == 1
    assert half.forget_predicted() == 6
    assert not any(_predicted(half).values())
    assert _labels(half) == before


def test_people_have_the_last_word(half: Library) -> None:
    half.predict_labels()
    half.label("sea/0", add="sea")
    half.label("sea/20", remove="sea")
    assert (_labels(half)["sea/0"], _labels(half)["sea/20"]) == (("sea",), ())
    assert _predicted(half)["sea/0"] == _predicted(half)["sea/20"] == []
    report = half.predict_labels(where=Filter(path="sea"))
    assert (report.documents, report.predicted) == (1, 0)


def test_a_prediction_goes_with_its_content(
    half: Library, records: list[dict[str, Any]], put: Put
) -> None:
    half.predict_labels()
    changed = [each | {"labels": [], "text": "Bread."} for each in records if each["id"] == "sea/0"]
    put(changed, prune=False)
    assert half.predicted("sea/0") == ()


def test_an_index_learns_predicted_labels_only_when_it_is_asked_to(half: Library) -> None:
    half.predict_labels()

    def learned(**options: Any) -> int:
        report = half.index(options=IndexOptions(dims=8, train="all", **options))
        assert report.classifier is not None
        number: int = report.classifier["documents"]
        return number

    assert learned() == 32
    assert learned(learn_predicted=True) == 40


def test_a_document_may_get_several_labels(
    put: Put, library: Path, records: list[dict[str, Any]]
) -> None:
    both = [
        {
            "id": f"both/{at}",
            "text": f"{first['text']} {second['text']}",
            "labels": [*first["labels"], *second["labels"]] if at else [],
        }
        for at, (first, second) in enumerate(zip(records[::4], records[1::4], strict=True))
    ]
    put([*({**each, "split": ""} for each in records), *both])
    with Library(library) as opened:
        facts = opened.index(dims=8).classifier
        assert facts is not None
        assert 0 < facts["further"]["svm"] < 0.5
        opened.predict_labels("both/0")
        assert sorted(_predicted(opened)["both/0"]) == ["kitchen", "sea"]
        judged = opened.classify(str(records[0]["text"]))
        assert judged.decided == ("sea",)
        sure = opened.classify(str(both[0]["text"]), confidence=1.0)
        assert (sure.none_of_these, sure.decided) == (True, ())


def test_none_of_these_is_counted(half: Library) -> None:
    report = half.predict_labels(options=ClassifyOptions(confidence=1.0))
    assert (report.documents, report.predicted) == (8, 0)
    assert report.none_of_these == 8
