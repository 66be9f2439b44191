from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import lpisearch
from lpisearch.classifiers.classifier import CLASSIFIERS
from lpisearch.errors import BadOption, ClassifierNotFound, IndexNotFound, NothingThere
from lpisearch.index.build import build_index
from lpisearch.options import ClassifyOptions, IndexOptions
from lpisearch.search import classification
from tests.indexing import open_index
from tests.searching import judge_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lpisearch.model.answers import Classification
    from lpisearch.model.documents import IngestReport


def classify(library: Path, arguments: list[str]) -> Iterator[Classification]:
    """Judge what the arguments mean, at the defaults."""
    return lpisearch.open(library).classify_each(arguments, ClassifyOptions())


def _first(found: Iterable[Classification]) -> Classification:
    (only,) = found
    return only


def _texts(records: list[dict[str, Any]], split: str) -> list[tuple[str, str]]:
    return [(each["text"], each["labels"][0]) for each in records if each["split"] == split]


@pytest.mark.parametrize("by", ["auto", *CLASSIFIERS])
def test_held_out_records(indexed: Path, records: list[dict[str, Any]], by: str) -> None:
    judge = judge_of(indexed, ClassifyOptions(by, k=99))
    for text, label in _texts(records, "test"):
        found = judge.text(text)
        assert found.labels[0].label == label
        assert len(found.labels) == 4
        assert sum(each.share for each in found.labels) == pytest.approx(1)
        assert sorted(found.labels, key=lambda each: -each.share) == list(found.labels)


def test_the_name_of_a_file_says_nothing(
    indexed: Path, records: list[dict[str, Any]], tmp_path: Path
) -> None:
    text, label = _texts(records, "test")[0]
    other = next(each["text"] for each in records if each["labels"] != [label])
    shares = []
    for name in ("plain", other):
        path = tmp_path / f"{name}.txt"
        path.write_text(text, encoding="utf-8")
        shares.append([each.share for each in _first(classify(indexed, [str(path)])).labels])
    assert shares[0] == shares[1]


def test_only_the_best(indexed: Path, records: list[dict[str, Any]]) -> None:
    text = records[0]["text"]
    two = judge_of(indexed, ClassifyOptions(k=2)).text(text)
    assert two.labels == judge_of(indexed, ClassifyOptions(k=4)).text(text).labels[:2]


def test_the_words_of_a_text_may_be_arguments(indexed: Path, records: list[dict[str, Any]]) -> None:
    words = records[0]["text"].split()
    assert _first(classify(indexed, words)) == _first(classify(indexed, [" ".join(words)]))


@pytest.mark.parametrize("by", CLASSIFIERS)
@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("", "the text has no words"),
        (" \n\t", "the text has no words"),
        ("the of and", "the text has no words"),
        ("!?… 🙂", "the text has no words"),
        ("zyzzyva qwertyuiop", "none of its words is in the index"),
    ],
)
def test_texts_without_an_answer(indexed: Path, by: str, text: str, note: str) -> None:
    """Without a known word there is no label, and the reason is said."""
    found = judge_of(indexed, ClassifyOptions(by)).text(text)
    assert (found.labels, found.note, found.failed) == ((), note, False)


@pytest.mark.parametrize(
    "text", ["\0 \ud800", "x" * 1_000_000, "ship " * 200_000, 'שלום *AND* "multi-agent" \'']
)
def test_odd_texts(indexed: Path, text: str) -> None:
    """Any text has an answer or a reason."""
    found = _first(classify(indexed, [text]))
    assert bool(found.labels) != bool(found.note)


def test_files(indexed: Path, records: list[dict[str, Any]], folder: Callable[..., Path]) -> None:
    """Files of any format are read as ingest reads them; one of many documents gives many."""
    (text, label), (other, second) = _texts(records, "test")[:2]
    root = folder(
        {
            "a.txt": text,
            "b.md": f"---\ntitle: {text}\n---\n",
            "c.html": f"<p>{text}</p>",
            "d.csv": f'id,text\nx,"{text}"\ny,"{other}"\n',
            "e.unknown": b"\x00\x01",
        }
    )
    found = list(classify(indexed, [str(root)]))
    names = [str(root / name) for name in ("a.txt", "b.md", "c.html")]
    assert [each.input for each in found] == [*names, "x", "y"]
    assert [each.labels[0].label for each in found] == [label, label, label, label, second]
    assert found[0].labels == found[2].labels
    assert [each.input for each in classify(indexed, [f"{root}/*.html", names[0]])] == [
        names[2],
        names[0],
    ]


def test_paths_are_shown_as_typed(
    indexed: Path, folder: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder({"sub/a.txt": "a ship"}))
    assert _first(classify(indexed, ["sub"])).input == str(Path("sub/a.txt"))


def test_files_that_cannot_be_read(indexed: Path, folder: Callable[..., Path]) -> None:
    """Each is said with its reason; the others are judged."""
    files = {
        "a.bin": b"\x00\x01\x02",
        "b.pdf": b"%PDF-",
        "c.txt": "",
        "d.jsonl": '{"text": "x"}\n{',
    }
    root = folder(files)
    found = list(classify(indexed, [str(root / name) for name in files]))
    failed = {each.input: each.note for each in found if each.failed}
    assert failed[str(root / "a.bin")] == "unsupported file type"
    assert str(root / "b.pdf") in failed
    assert failed[str(root / "c.txt")] == "is empty"
    assert "not valid JSON" in failed[f"{root / 'd.jsonl'}, line 2"]
    assert [each.input for each in found if not each.failed] == [f"{root / 'd.jsonl'}#1"]


@pytest.mark.parametrize(
    "arguments",
    [["nowhere.txt"], ["./nowhere"], ["/nowhere/at/all"], ["a.txt", "words"], ["*.pdf"], ["e"]],
)
def test_missing_files(
    indexed: Path,
    folder: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
) -> None:
    """What looks like a path, or stands beside one, must be there; an empty folder has nothing."""
    root = folder({"a.txt": "ship"})
    (root / "e").mkdir()
    monkeypatch.chdir(root)
    with pytest.raises(NothingThere):
        list(classify(indexed, arguments))


def test_nothing_is_read_as_a_file_by_mistake(indexed: Path) -> None:
    for text in ("and/or", "version 2.0", "Why?", "a * b", "node.js"):
        assert _first(classify(indexed, [text])).input == text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (ClassifyOptions("centriod"), r"unknown classifier “centriod” \(did you mean centroid\?\)"),
        (ClassifyOptions("KNN"), r"did you mean knn"),
        (ClassifyOptions(k=0), "must be at least 1, not 0"),
        (ClassifyOptions(confidence=1.5), "must be between 0 and 1, not 1.5"),
    ],
)
def test_options_that_cannot_work(indexed: Path, options: ClassifyOptions, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        judge_of(indexed, options)


def test_no_index(shelf: Path) -> None:
    """Without an index, the command that builds one is named."""
    with pytest.raises(IndexNotFound) as caught:
        judge_of(shelf)
    assert caught.value.next_step == "library.index()"


def test_no_labels(put: Callable[..., IngestReport], library: Path) -> None:
    """An index without labels says how to come to some."""
    put([{"id": str(n), "text": f"ship sea wave {n % 3} bread"} for n in range(9)])
    build_index(library, IndexOptions())
    with pytest.raises(
        ClassifierNotFound, match="built without labels, so it cannot classify"
    ) as caught:
        judge_of(library)
    assert 'library.ingest(PATH, labels="folder")' in caught.value.next_step


def test_one_label(put: Callable[..., IngestReport], library: Path) -> None:
    """One label cannot be told from others; the index is built all the same."""
    put([{"id": str(n), "text": f"ship sea w{n} x{n % 2}", "labels": ["sea"]} for n in range(9)])
    report = build_index(library, IndexOptions(name="one"))
    assert report.classifier == {"reason": "all labelled documents have the same label, “sea”"}
    with pytest.raises(ClassifierNotFound, match="have the same label, “sea”") as caught:
        judge_of(library, ClassifyOptions(index="one"))
    assert 'library.index(name="one")' in caught.value.next_step


def test_no_training(shelf: Path) -> None:
    """An index built without a classifier says so."""
    report = build_index(shelf, IndexOptions(method="lsi", train="none"))
    assert report.classifier is None
    with pytest.raises(ClassifierNotFound, match='train="none"') as caught:
        judge_of(shelf)
    assert caught.value.next_step == 'library.index(method="lsi")'


def test_an_unknown_split(shelf: Path) -> None:
    with pytest.raises(BadOption, match="no document is in the split “dev”"):
        build_index(shelf, IndexOptions(train="dev"))


def test_an_index_without_an_svm(indexed: Path) -> None:
    index = open_index(indexed)
    facts = index.manifest.result.classifier
    assert facts is not None
    facts["weights"] = {by: weights for by, weights in facts["weights"].items() if by != "svm"}
    with pytest.raises(ClassifierNotFound, match="has no svm") as caught:
        classification._classifier(index, "svm")
    assert 'classifier="auto"' in caught.value.next_step


def test_classifiers_of_an_earlier_version(indexed: Path, records: list[dict[str, Any]]) -> None:
    index = open_index(indexed)
    facts = index.manifest.result.classifier
    assert facts is not None
    new = classification._classifier(index, "auto")
    facts["temperatures"] = {by: facts["weights"][by][0] for by in ("centroid", "knn", "svm")}
    del facts["weights"], facts["chosen"]
    old = classification._classifier(index, "auto")
    counts = index.vocabulary.count(records[0]["text"].split())
    text = (counts.indices, index.weighting.weigh_query(counts.indices, counts.counts))
    assert old.shares([text])[0] == pytest.approx(new.shares([text], "centroid")[0])
    with pytest.raises(ClassifierNotFound, match="has no map-svm"):
        classification._classifier(index, "map-svm")


def test_none_of_these(indexed: Path, records: list[dict[str, Any]]) -> None:
    text = records[0]["text"]
    share = judge_of(indexed).text(text).labels[0].share
    for confidence, expected in ((0.0, False), (share - 0.01, False), (min(share + 0.01, 1), True)):
        found = judge_of(indexed, ClassifyOptions(confidence=confidence)).text(text)
        assert found.none_of_these is expected
        assert found.labels


@pytest.mark.parametrize("method", ["lsi", "olpi", "lpi"])
def test_every_method_has_the_same_classifier(
    shelf: Path, records: list[dict[str, Any]], method: str
) -> None:
    build_index(shelf, IndexOptions())
    build_index(shelf, IndexOptions(name="other", method=method))
    text = records[0]["text"]
    answers = [
        judge_of(shelf, ClassifyOptions(index=name)).text(text) for name in ("default", "other")
    ]
    assert answers[0] == answers[1]


def test_documents_taken_in_later_leave_it_as_it_is(
    indexed: Path, put: Callable[..., IngestReport], records: list[dict[str, Any]]
) -> None:
    before = {
        name: facts
        for name, facts in open_index(indexed).manifest.arrays.items()
        if name.startswith("classifier_")
    }
    put([{"id": "new", "text": "a ship at sea", "labels": ["new"]}], name="more", prune=False)
    after = open_index(indexed)
    assert len(after.vectors) == len(records) + 1
    assert before
    assert {name: after.manifest.arrays[name] for name in before} == before
    assert judge_of(indexed).text(records[0]["text"]).labels[0].label == records[0]["labels"][0]


def test_the_manifest_says_what_was_learned(indexed: Path) -> None:
    facts = open_index(indexed).manifest.result.classifier
    assert facts is not None
    assert set(facts["weights"]) == set(facts["accuracy"]) == set(CLASSIFIERS)
    assert facts["chosen"] in CLASSIFIERS
    assert facts["alpha"] > 0
    assert (facts["labels"], facts["documents"], facts["left_out"]) == (4, 32, 0)


def test_python(indexed: Path, records: list[dict[str, Any]], folder: Callable[..., Path]) -> None:
    """A string is a text, a Path a file."""
    text, label = records[0]["text"], records[0]["labels"][0]
    library = lpisearch.open(indexed)
    found = library.classify(text, k=1)
    assert found.labels[0].label == label
    path = folder({"a.txt": text}) / "a.txt"
    assert library.classify(path, k=1).labels == found.labels
    assert library.classify("a.txt", classifier="svm").note  # a text of unknown words
    with pytest.raises(NothingThere):
        library.classify(path.parent / "b.txt")


def test_nothing_heavy_is_imported(indexed: Path) -> None:
    code = (
        "import sys, lpisearch\n"
        f"library = lpisearch.open({str(indexed)!r})\n"
        "for by in ('auto', 'knn', 'svm+centroid', 'map-svm'):\n"
        "    library.classify('ship sea', classifier=by)\n"
        "print([name for name in ('scipy', 'sklearn', 'alembic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
