from __future__ import annotations

import gzip
import json
import tracemalloc
from email.message import EmailMessage
from functools import partial
from pathlib import Path

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem
from lpisearch.options import ReadOptions
from lpisearch.readers.base import HEAD_BYTES, SourceFile
from lpisearch.readers.mail import MAIL_READER, MBOX_READER, MEDIA_TYPE, NEWSGROUPS_READER, sniff
from tests.readers import read, read_document

_HEADERS = (
    b"From: Ann <ann@example.org>\nTo: Bo <bo@example.org>, Cy <cy@example.org>\n"
    b"Subject: The boat\nDate: Wed, 31 Jan 2024 12:30:45 +0100\nMessage-ID: <1@example.org>\n"
)


_read = partial(read, MAIL_READER)
_document = partial(read_document, MAIL_READER)


def test_headers_give_title_date_and_metadata(tmp_path: Path) -> None:
    document = _document(tmp_path / "a.eml", _HEADERS + b"\nSold.\n\n> Is it sold?\n")
    assert document.title == "The boat"
    assert document.date == "2024-01-31T12:30:45+01:00"
    assert document.text == "Sold.\n\n> Is it sold?"
    assert document.media_type == MEDIA_TYPE
    assert document.id is None
    assert document.metadata == {
        "from": "Ann <ann@example.org>",
        "to": "Bo <bo@example.org>, Cy <cy@example.org>",
        "message_id": "<1@example.org>",
    }


def test_gzipped_message_is_read(tmp_path: Path) -> None:
    assert _document(tmp_path / "a.eml.gz", gzip.compress(_HEADERS + b"\nSold.")).text == "Sold."


def test_plain_text_is_preferred_to_html(tmp_path: Path) -> None:
    message = EmailMessage()
    message["Subject"] = "Both"
    message.set_content("<p>as a page</p>", subtype="html")
    message.add_alternative("as text")
    assert _document(tmp_path / "a.eml", message.as_bytes()).text == "as text"


def test_html_is_read_where_plain_text_is_missing_or_blank(tmp_path: Path) -> None:
    message = EmailMessage()
    message["Subject"] = "Page"
    message.set_content("<p>as a <b>page</b></p>", subtype="html")
    assert _document(tmp_path / "a.eml", message.as_bytes()).text == "as a page"
    message.add_alternative(" \n")
    assert _document(tmp_path / "b.eml", message.as_bytes()).text == "as a page"


def test_attachments_are_named(tmp_path: Path) -> None:
    message = EmailMessage()
    message["Subject"] = "Papers"
    message.set_content("See below.")
    message.add_attachment("not to be read", filename="Verträge.txt")
    message.add_attachment(b"\0", maintype="image", subtype="png")
    document, attached = read(MAIL_READER, tmp_path / "a.eml", message.as_bytes())
    assert isinstance(document, Document)
    assert isinstance(attached, Document)
    assert (document.text, attached.text) == ("See below.", "not to be read")
    assert document.metadata["attachments"] == ["Verträge.txt", "image/png"]


def test_forwarded_message_is_part_of_the_text(tmp_path: Path) -> None:
    inner = EmailMessage()
    inner["Subject"] = "Old news"
    inner.set_content("The boat leaks.")
    data = (
        _HEADERS
        + b"Content-Type: multipart/mixed; boundary=b\n\n--b\n\nLook:\n--b\n"
        + b"Content-Type: message/rfc822\n\n"
        + inner.as_bytes()
        + b"\n--b--\n"
    )
    assert _document(tmp_path / "a.eml", data).text == "Look:\n\nOld news\n\nThe boat leaks."


@pytest.mark.parametrize(
    ("subject", "title"),
    [
        (b"=?utf-8?q?B=C3=A4r?= and =?iso-8859-1?b?5w==?=", "Bär and ç"),
        (b"=?gb2312?b?1tDOxA==?=", "中文"),
        (b"=?no-such-charset?q?caf=C3=A9?=", "café"),
        (b"folded\n  over lines", "folded over lines"),
        ("raw café".encode(), "raw café"),
        (b"raw caf\xe9", "raw café"),
        (b"=?utf-8?b?broken", "=?utf-8?b?broken"),
    ],
)
def test_subjects_are_decoded(tmp_path: Path, subject: bytes, title: str) -> None:
    assert _document(tmp_path / "a.eml", b"Subject: " + subject + b"\n\ntext").title == title


@pytest.mark.parametrize(
    ("charset", "body", "text"),
    [
        (b"iso-8859-1", b"caf\xe9", "café"),
        (b"utf-8", "naïve".encode(), "naïve"),
        (b"us-ascii", "naïve".encode(), "naïve"),
        (b"gb2312", "电子邮件".encode("gb18030"), "电子邮件"),
        (b"no-such-charset", "naïve".encode(), "naïve"),
        (b"utf-8", b"a\0b", "ab"),
    ],
)
def test_bodies_are_decoded(tmp_path: Path, charset: bytes, body: bytes, text: str) -> None:
    data = b"Subject: x\nContent-Type: text/plain; charset=" + charset + b"\n\n" + body
    assert _read(tmp_path / "a.eml", data)[-1] == Document(
        "x", text, media_type=MEDIA_TYPE, metadata={}
    )


def test_undecodable_bytes_are_replaced_with_a_warning(tmp_path: Path) -> None:
    data = b"Subject: x\nContent-Type: text/plain; charset=utf-8\n\ncaf\xe9 \x81 \x8d"
    problem, document = _read(tmp_path / "a.eml", data)
    assert isinstance(problem, Problem)
    assert problem.warning
    assert isinstance(document, Document)
    assert document.text.startswith("caf")


def test_transfer_encodings_are_undone(tmp_path: Path) -> None:
    quoted = b"Subject: x\nContent-Transfer-Encoding: quoted-printable\n\na long =\nline =C3=A9"
    assert _document(tmp_path / "a.eml", quoted).text == "a long line é"
    broken = b"Subject: x\nContent-Transfer-Encoding: base64\n\nSGVsbG8gdGhlcmU"
    assert _document(tmp_path / "b.eml", broken).text == "Hello there"


def test_message_without_subject_is_called_like_its_file(tmp_path: Path) -> None:
    document = _document(tmp_path / "letter.eml", b"From: a@example.org\nDate: soon\n\ntext")
    assert (document.title, document.date) == ("letter", "")


@pytest.mark.parametrize(
    "headers",
    [
        b"Subject: x\nTo: <<<@@,;:\nFrom: =?utf-8?q?=ZZ?= <\nDate: 99 Foo 20x4 99:99\n",
        b"Subject: x\nContent-Type: multipart/mixed\n",
        b"Subject: x\nContent-Type: ;;;=\nContent-Disposition: ===\n",
        b"Subject: x\nContent-Type: text/plain; name*0*=x''%ff; charset*=a'b'c\n",
        b"Subject: x\nContent-Type: text/plain; charset*0*=a; charset*=b\n",
        b"Subject: x\nContent-Type: text/plain; charset*=a\0b'c'd\n",
        b"Subject: x\nbroken line without colon\nFrom: a\n",
    ],
)
def test_broken_headers_do_not_cost_the_message(tmp_path: Path, headers: bytes) -> None:
    assert _document(tmp_path / "a.eml", headers + b"\nthe text").title == "x"


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b"just a sentence, no header", "it has no headers"),
        (b"\n\nbody only", "it has no headers"),
        (b"From: a@example.org\n\n", "has no text"),
    ],
)
def test_what_is_no_message_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    with pytest.raises(ReaderError, match=reason):
        _read(tmp_path / "a.eml", data)


def test_deeply_nested_parts_are_refused_or_read(tmp_path: Path) -> None:
    data = b"Subject: x\n" + b"Content-Type: message/rfc822\n\n" * 2000 + b"\ntext"
    try:
        assert _document(tmp_path / "a.eml", data).title == "x"
    except ReaderError as error:
        assert "cannot be read as a mail message" in error.what  # noqa: PT017 - either will do


_FROM = b"From ann@example.org Wed Jan 31 12:30:45 2024\n"


def _message(subject: bytes, body: bytes) -> bytes:
    return _FROM + b"Subject: " + subject + b"\n\n" + body + b"\n\n"


def _mbox_read(path: Path, data: bytes, limit: int = 1 << 20) -> list[Document | Problem]:
    path.write_bytes(data)
    return list(MBOX_READER.read(SourceFile.at(path), ReadOptions(max_document_bytes=limit // 2)))


def _titles(records: list[Document | Problem]) -> list[str]:
    return [record.title for record in records if isinstance(record, Document)]


def test_each_message_is_a_document(tmp_path: Path) -> None:
    data = _message(b"one", b"1") + _message(b"two", b"2\n\n2") + _message(b"three", b"3")
    records = _mbox_read(tmp_path / "a.mbox", data)
    assert _titles(records) == ["one", "two", "three"]
    texts = [record.text for record in records if isinstance(record, Document)]
    assert texts == ["1", "2\n\n2", "3"]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
def test_both_kinds_of_newline_are_read(tmp_path: Path, newline: bytes) -> None:
    data = (_message(b"one", b"1") + _message(b"two", b"2")).replace(b"\n", newline)
    assert _titles(_mbox_read(tmp_path / "a.mbox", data)) == ["one", "two"]


def test_broken_message_is_a_problem_of_its_own(tmp_path: Path) -> None:
    data = _message(b"one", b"1") + _FROM + b"no header here\n\n" + _message(b"three", b"3")
    first, broken, third = _mbox_read(tmp_path / "a.mbox", data)
    assert broken == Problem("is not a mail message: it has no headers", "message 2")
    assert _titles([first, third]) == ["one", "three"]


def test_sentence_that_begins_with_the_word_is_text(tmp_path: Path) -> None:
    body = b"Dear Bo,\n\nFrom now on we sail.\n\n>From noon at 12:00 it rains.\n>>From x"
    (document,) = _mbox_read(tmp_path / "a.mbox", _message(b"one", body))
    assert isinstance(document, Document)
    assert document.text == (
        "Dear Bo,\n\nFrom now on we sail.\n\nFrom noon at 12:00 it rains.\n>From x"
    )


def test_separator_without_a_time_is_told_by_the_header_after_it(tmp_path: Path) -> None:
    data = b"From ann\nSubject: one\n\n1\n\nFrom bo\nSubject: two\n\n2\n"
    assert _titles(_mbox_read(tmp_path / "a.mbox", data)) == ["one", "two"]


def test_warnings_name_their_message(tmp_path: Path) -> None:
    body = b"caf\xe9 \x81 \x8d"
    records = _mbox_read(tmp_path / "a.mbox", _message(b"one", b"1") + _message(b"two", body))
    (warning,) = (record for record in records if isinstance(record, Problem))
    assert (warning.where, warning.warning) == ("message 2", True)


def test_message_without_subject_is_called_by_its_number(tmp_path: Path) -> None:
    (document,) = _mbox_read(tmp_path / "inbox.mbox", _FROM + b"To: bo@example.org\n\ntext\n")
    assert isinstance(document, Document)
    assert document.title == "inbox 1"


@pytest.mark.parametrize("line", [b"x" * 70, b"x" * 5000])
def test_message_over_the_limit_is_a_problem(tmp_path: Path, line: bytes) -> None:
    data = _message(b"one", (line + b"\n") * 100) + _message(b"two", b"2")
    problem, document = _mbox_read(tmp_path / "a.mbox", data, limit=4000)
    assert isinstance(problem, Problem)
    assert problem.where == "message 1"
    assert "over the limit" in problem.reason
    assert not problem.warning
    assert _titles([document]) == ["two"]


def test_memory_is_that_of_one_message(tmp_path: Path) -> None:
    path = tmp_path / "a.mbox"
    path.write_bytes(_message(b"one", b"a line of text\n" * 1000) * 1000)
    tracemalloc.start()
    try:
        count = sum(1 for _ in MBOX_READER.read(SourceFile.at(path), ReadOptions()))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 1000
    assert peak < path.stat().st_size / 4


def test_messages_before_the_damage_of_a_gzip_are_read(tmp_path: Path) -> None:
    path = tmp_path / "a.mbox.gz"
    whole = b"".join(_message(b"%d" % number, b"%d" % number**9) for number in range(5000))
    packed = gzip.compress(whole)
    path.write_bytes(packed[: len(packed) // 2])
    documents: list[Document | Problem] = []
    with pytest.raises(ReaderError, match="gzip data is truncated"):
        documents.extend(MBOX_READER.read(SourceFile.at(path), ReadOptions()))
    assert len(documents) > 1000
    path.write_bytes(packed)
    assert len(list(MBOX_READER.read(SourceFile.at(path), ReadOptions()))) == 5000


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"Subject: one\n\ntext\n", "is not an MBOX file"),
        (b"From the start, it was prose.\nAnd so on.\n", "is not an MBOX file"),
    ],
)
def test_what_is_no_mbox_is_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    with pytest.raises(ReaderError, match=reason):
        _mbox_read(tmp_path / "a.mbox", data)


def test_format_is_told_by_separator_and_header() -> None:
    assert MBOX_READER.sniff
    assert MBOX_READER.sniff(_message(b"one", b"1"))
    assert MBOX_READER.sniff(_message(b"one", b"1").replace(b"\n", b"\r\n"))
    assert not MBOX_READER.sniff(b"From 12:30 on, it rained.\nAnd it went on.\n")
    assert not MBOX_READER.sniff(b"From the desk of: Ann\n")


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


_newsgroups_read = partial(read, NEWSGROUPS_READER)


def test_message_becomes_a_document(tmp_path: Path) -> None:
    assert _newsgroups_read(tmp_path / "49960", MESSAGE) == [
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
    options = ReadOptions(labels="newsgroups", id_field="path")
    (document,) = _newsgroups_read(tmp_path / "49960", MESSAGE, options)
    assert isinstance(document, Document)
    assert (document.id, document.labels) == ("a!b!c", ("sci.space", "alt.boats"))


def test_latin_text_is_stated(tmp_path: Path) -> None:
    warning, document = _newsgroups_read(tmp_path / "1", MESSAGE.replace(b"float", b"flo\xe4t"))
    assert isinstance(warning, Problem)
    assert isinstance(document, Document)
    assert document.metadata["encoding"] == "cp1252"


def test_message_without_subject_has_the_file_name(tmp_path: Path) -> None:
    (document,) = _newsgroups_read(tmp_path / "49960", b"From: ann\n\nbody\n")
    assert isinstance(document, Document)
    assert document.title == "49960"


def test_file_without_headers_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReaderError, match="it does not start with header lines"):
        _newsgroups_read(tmp_path / "1", b"From: ann\nwords\n\nbody\n")


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
    assert sniff(head) is known


@pytest.mark.data
def test_every_message_of_the_public_collection_is_known() -> None:
    if not NEWSGROUPS.exists():
        pytest.skip("../shared/data is absent")
    with gzip.open(NEWSGROUPS) as stream:
        heads = [json.loads(line)["text"].encode()[:HEAD_BYTES] for line in stream]
    assert sum(map(sniff, heads)) == 18_846
