from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem
from lpisearch.options import ReadOptions
from lpisearch.readers.base import HEAD_BYTES, SourceFile
from lpisearch.readers.mail import NEWSGROUPS_READER, sniff

NEWSGROUPS = Path(__file__).parents[4] / "shared/data/20newsgroups/docs.jsonl.gz"
MESSAGE = b"""Path: a!b!c
From: ann@example.org (Ann)
Newsgroups: sci.space,alt.boats
Subject: Re: Of
 Boats
Date: 5 Apr 93 10:11:12 GMT
Lines: 2

In article <1@x>, bo writes:
> They float.

Subject: is not a header here.
"""


def _read(path: Path, data: bytes, options: ReadOptions | None = None) -> list[Document | Problem]:
    path.write_bytes(data)
    return list(NEWSGROUPS_READER.read(SourceFile.at(path), options or ReadOptions()))


def test_message_becomes_a_document(tmp_path: Path) -> None:
    """Subject is the title, the body the text, the other headers metadata; no labels."""
    assert _read(tmp_path / "49960", MESSAGE) == [
        Document(
            "Re: Of Boats",
            "In article <1@x>, bo writes:\n> They float.\n\nSubject: is not a header here.",
            date="1993-04-05T10:11:12+00:00",
            media_type="message/rfc822",
            metadata={
                "Path": "a!b!c",
                "From": "ann@example.org (Ann)",
                "Newsgroups": "sci.space,alt.boats",
                "Lines": "2",
            },
        )
    ]


def test_headers_can_be_asked_for(tmp_path: Path) -> None:
    """A header can be the id, or the labels: one for each group."""
    options = ReadOptions(labels="newsgroups", id_field="path")
    (document,) = _read(tmp_path / "49960", MESSAGE, options)
    assert isinstance(document, Document)
    assert (document.id, document.labels) == ("a!b!c", ("sci.space", "alt.boats"))


def test_latin_text_is_told(tmp_path: Path) -> None:
    """The encoding rule is that of any text."""
    warning, document = _read(tmp_path / "1", MESSAGE.replace(b"float", b"flo\xe4t"))
    assert isinstance(warning, Problem)
    assert isinstance(document, Document)
    assert document.metadata["encoding"] == "cp1252"


def test_message_without_subject_has_the_file_name(tmp_path: Path) -> None:
    """A title there must be."""
    (document,) = _read(tmp_path / "49960", b"From: ann\n\nbody\n")
    assert isinstance(document, Document)
    assert document.title == "49960"


def test_file_without_headers_is_an_error(tmp_path: Path) -> None:
    """A line before the first blank one that is no header ends it."""
    with pytest.raises(ReaderError, match="it does not start with header lines"):
        _read(tmp_path / "1", b"From: ann\nwords\n\nbody\n")


@pytest.mark.parametrize(
    ("head", "known"),
    [
        (MESSAGE, True),
        (MESSAGE.replace(b"\n", b"\r\n"), True),
        (b"From: a\nSubject: b\n\nc", True),
        (b" cut!off!path\nSubject: b\nFrom: a\n\nc", True),
        (b"Received: x\nFrom: a\nSubject: b\n\nc", False),
        (b"From: here to there\n\nc", False),
        (b"Note: this is\nplain text\n", False),
        (b"", False),
    ],
)
def test_message_is_known_by_its_headers(head: bytes, known: bool) -> None:  # noqa: FBT001 (a table)
    """From and Subject tell a message; what mail servers add tells a mail."""
    assert sniff(head) is known


@pytest.mark.data
def test_every_message_of_the_public_collection_is_known() -> None:
    """All 18,846 messages of 20 Newsgroups, odd headers and all."""
    if not NEWSGROUPS.exists():
        pytest.skip("../shared/data is absent")
    with gzip.open(NEWSGROUPS) as stream:
        heads = [json.loads(line)["text"].encode()[:HEAD_BYTES] for line in stream]
    assert sum(map(sniff, heads)) == 18_846
