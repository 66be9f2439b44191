"""Texts that name options and calls, and how each face says them."""

import copy
import json
from pathlib import Path

import pytest

from lpisearch.cli.output import render_message, render_messages
from lpisearch.errors import BadOption, IndexNotFound, LibraryNotFound, LpiSearchError
from lpisearch.messages import Call, Message, Option, as_plain, call, from_plain
from lpisearch.model.documents import Filter
from lpisearch.options import CategoriesOptions

_SAID = [
    (Option("subset_size"), "subset_size", "--subset-size"),
    (Option("subset_size", (50, 500)), "subset_size=(50, 500)", "--subset-size 50..500"),
    (Option("dims", 5), "dims=5", "--dims 5"),
    (Option("wait_seconds", "SECONDS"), "wait_seconds=SECONDS", "--wait SECONDS"),
    (Option("k"), "k", "-k"),
    (Call("index"), "library.index()", "lpisearch index"),
    (Call("ingest", ("PATH",)), "library.ingest(PATH)", "lpisearch ingest PATH"),
    (Call("entries"), "library.entries()", "lpisearch docs list"),
    (Call("open", ("FILE",)), "lpisearch.open(FILE)", "lpisearch --db FILE …"),
    (Call("help", ("index",)), "help(lpisearch.Library.index)", "lpisearch index --help"),
    (Call("help"), "help(lpisearch.Library)", "lpisearch --help"),
    (
        Call("entries", options=(Option("path", "a b"),)),
        'library.entries(path="a b")',
        "lpisearch docs list --path 'a b'",
    ),
    (
        Call("examine", options=(Option("repair", True),)),  # noqa: FBT003 (the value of an option)
        "library.examine(repair=True)",
        "lpisearch doctor --repair",
    ),
    (
        Call("evaluate", ("classify",), (Option("wanted", CategoriesOptions(train=(0.5, 0.1))),)),
        'library.evaluate("classify", wanted=CategoriesOptions(train=(0.5, 0.1)))',
        "lpisearch evaluate classify --train 0.5,0.1",
    ),
    (
        Call("index", options=(Option("where", Filter(labels=("a", "b"), split="train")),)),
        "library.index(where=Filter(labels=('a', 'b'), split=\"train\"))",
        "lpisearch index --where label=a --where label=b --where split=train",
    ),
]


@pytest.mark.parametrize(("part", "python", "typed"), _SAID)
def test_each_face_has_its_words(part: Option | Call, python: str, typed: str) -> None:
    message = Message("before ", part, ", after")
    assert message == f"before {python}, after"
    assert render_message(message) == f"before {typed}, after"


def test_messages_within_messages_keep_their_parts() -> None:
    message = Message("a ", Message("b ", call("index")), Message(Option("dims"), "."))
    assert render_message(message) == "a b lpisearch index--dims."
    assert render_message(copy.deepcopy(message)) == render_message(message)
    fields = Message("raise it with ", Option("max_document_bytes"), ")")
    assert render_message(from_plain(json.loads(json.dumps(as_plain(fields))))) == render_message(
        fields
    )
    assert render_message(from_plain(as_plain("plain"))) == "plain"


def test_values_of_json_are_said_whole() -> None:
    value = {"notes": (call("index"), "plain"), "number": 3, "inner": [{"next": call("status")}]}
    assert render_messages(value) == {
        "notes": ["lpisearch index", "plain"],
        "number": 3,
        "inner": [{"next": "lpisearch status"}],
    }


@pytest.mark.parametrize(
    ("error", "python", "typed"),
    [
        (
            BadOption("min_df", "0 is not a number"),
            "min_df: 0 is not a number. Next: help(lpisearch.Library)",
            "--min-df: 0 is not a number. Next: lpisearch --help",
        ),
        (
            BadOption(("terms", "documents"), "must be 0 or more", ["1", "2"]),
            "terms, documents: must be 0 or more. Next: choose one of: 1, 2",
            "--terms, --documents: must be 0 or more. Next: choose one of: 1, 2",
        ),
        (
            IndexNotFound("b", ["a"]),
            'The library has no index “b”; it has: a. Next: library.index(name="b")',
            "The library has no index “b”; it has: a. Next: lpisearch index --name b",
        ),
        (LpiSearchError("It is so."), "It is so.", "It is so."),
    ],
)
def test_errors(error: LpiSearchError, python: str, typed: str) -> None:
    """An error names the field and the call; each face says them in its words."""
    assert str(error) == python
    assert render_message(error.message) == typed


def test_an_error_that_names_several_calls(tmp_path: Path) -> None:
    error = LibraryNotFound(tmp_path)
    assert render_message(error.next_step) == (
        "lpisearch ingest PATH creates one; to use another: lpisearch --db FILE …, "
        "LPISEARCH_DB=FILE, or for all folders lpisearch config set library FILE"
    )
    assert "library.ingest(PATH)" in error.next_step
