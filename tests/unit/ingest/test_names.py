from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import BadOption
from lpisearch.ingest.names import (
    FileLabels,
    FileNames,
    LabelRules,
    read_label_file,
    split_folder,
    top_folder,
)
from lpisearch.model.documents import Document, Source
from lpisearch.options import ReadOptions

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("folders", "label", "split"),
    [
        ((), (), ""),
        (("space",), ("space",), ""),
        (("space", "moon"), ("space",), ""),
        (("train", "space"), ("space",), "train"),
        (("20news-bydate-test", "space"), ("space",), "test"),
        (("space", "Validation"), ("space",), "validation"),
        (("testament",), ("testament",), ""),
        (("train",), (), "train"),
    ],
)
def test_labels_and_splits_of_folders(
    folders: tuple[str, ...], label: tuple[str, ...], split: str
) -> None:
    assert top_folder(folders) == label
    assert split_folder(folders) == split


@pytest.mark.parametrize(
    ("option", "stated", "expected"),
    [
        ("auto", ("own",), ("own",)),
        ("auto", (), ("space",)),  # of an earlier version
        ("stated", ("own",), ("own",)),
        ("stated", (), ()),
        ("folder", ("own",), ("space",)),
        ("none", (), ()),
        ("topic", ("own",), ("own",)),
        ("topic", (), ()),
    ],
)
def test_where_labels_come_from(
    option: str, stated: tuple[str, ...], expected: tuple[str, ...]
) -> None:
    rules = LabelRules(ReadOptions(labels=option))
    document = rules.apply(Document("", "", labels=stated), ("space/a.txt",), "space/a.txt")
    assert document.labels == expected


@pytest.mark.parametrize("key", ["a7", "train/space/a.txt", "a.txt", "a"])
def test_labels_of_a_file_of_labels(key: str) -> None:
    rules = LabelRules(ReadOptions(labels="l.csv"), {key: FileLabels(("x", "y"))})
    document = rules.apply(Document("", "", "a7"), ("a7",), "train/space/a.txt")
    assert (document.labels, document.split) == (("x", "y"), "train")


def test_a_document_that_the_file_of_labels_leaves_out_has_none() -> None:
    rules = LabelRules(ReadOptions(labels="l.csv"), {"other": FileLabels(("x",))})
    assert rules.apply(Document("", "", labels=("own",)), ("a",), "space/a").labels == ()


def test_derived_ids_grow_longer() -> None:
    names = FileNames()
    assert names.derived("a/b.txt", "/home/notes", None) == (
        "a/b.txt",
        "notes/a/b.txt",
        "/home/notes/a/b.txt",
    )
    assert names.derived("b.csv", "/notes", 3)[0] == "b.csv#3"
    assert names.stated("7", "b.csv", "/notes") == (
        "7",
        "b.csv:7",
        "notes/b.csv:7",
        "/notes/b.csv:7",
    )


def test_a_name_that_two_files_would_have_goes_to_neither() -> None:
    files = [("a.txt", "/x/one"), ("a.txt", "/x/two"), ("b.txt", "/x/one")]
    names = FileNames.of(files)
    assert [names.derived(*file, None)[0] for file in files] == ["one/a.txt", "two/a.txt", "b.txt"]
    deeper = FileNames.of([("a.txt", "/x/one"), ("a.txt", "/y/one")])
    assert deeper.derived("a.txt", "/y/one", None) == ("/y/one/a.txt",)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("l.csv", "path,label\na.txt,x\n", {"a.txt": FileLabels(("x",))}),
        ("l.csv", "\ufeffid,labels,split\na,x;y|x,test\n", {"a": FileLabels(("x", "y"), "test")}),
        ("l.tsv", "file\ttopics\na b\tx, y\n", {"a b": FileLabels(("x, y",))}),
        ("l.csv", 'Path , Category\n"a\nb",x\n', {"a\nb": FileLabels(("x",))}),
        ("l.csv", "label,path\nx\ny,b\n", {"b": FileLabels(("y",))}),
        ("l.csv", "path,label\na\nb,y\n", {"a": FileLabels(()), "b": FileLabels(("y",))}),
        ("l.csv", "path,label,split\na,x\n", {"a": FileLabels(("x",))}),
    ],
    ids=["plain", "bom-split", "tsv", "quoted", "no-path", "no-label", "short-row"],
)
def test_files_of_labels(
    tmp_path: Path, name: str, text: str, expected: dict[str, FileLabels]
) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8", newline="")
    assert read_label_file(path) == expected
    assert LabelRules(ReadOptions(), expected).fingerprint


def test_labels_in_a_cell_are_parted_as_asked(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text('path,label\na,"x, y;z]"\n', encoding="utf-8")
    assert read_label_file(path)["a"].labels == ("x, y", "z]")
    assert read_label_file(path, ",]")["a"].labels == ("x", "y;z")
    assert read_label_file(path, "")["a"].labels == ("x, y;z]",)


@pytest.mark.parametrize(
    "content",
    [b"", b"path,colour\na,x\n", b"a,b\n1,2\n", b"path,label\ncaf\xe9,x\n", None],
    ids=["empty", "no-label", "no-columns", "not-utf8", "missing"],
)  # fmt: skip
def test_a_bad_file_of_labels_is_named(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "labels.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(BadOption, match=str(path)):
        read_label_file(path)


def test_the_fingerprint_follows_what_shapes_documents() -> None:
    plain = LabelRules(ReadOptions()).fingerprint
    assert LabelRules(ReadOptions(max_document_bytes=1)).fingerprint == plain
    # As version 0.1 wrote it: its libraries are not read anew.
    assert plain == "a3ab959dbb94525c"
    changed = [
        LabelRules(ReadOptions(labels="none")),
        LabelRules(ReadOptions(split="none")),
        LabelRules(ReadOptions(format="text")),
        LabelRules(ReadOptions(id_field="key")),
        LabelRules(ReadOptions(), {"a": FileLabels(("x",))}),
        LabelRules(ReadOptions(), {"a": FileLabels(("y",))}),
    ]
    assert len({plain, *(one.fingerprint for one in changed)}) == 7


@pytest.mark.parametrize(
    ("read_with", "asked", "format_", "current"),
    [
        ("", "", "pdf", True),
        ("", "eng", "pdf", False),
        ("", "eng", "text", True),
        ("eng", "", "pdf", True),
        ("eng", "eng", "pdf", True),
        ("eng", "deu", "pdf", False),
    ],
)
def test_what_was_recognised_stays(
    read_with: str, asked: str, format_: str, *, current: bool
) -> None:
    then = LabelRules(ReadOptions(ocr=read_with)).fingerprint
    source = Source(1, "/a", "/", format_, 1, 1, then)
    assert LabelRules(ReadOptions(ocr=asked)).is_current(source) is current
    assert LabelRules(ReadOptions(ocr=asked, labels="none")).is_current(source) is False
