"""Archives and attachments: files inside other files."""

from __future__ import annotations

import io
import tarfile
import zipfile
from email.message import EmailMessage
from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import PART, Document, Problem
from lpisearch.options import MEBIBYTE, ReadOptions
from lpisearch.readers import archives
from lpisearch.readers.base import ArchiveLimits
from lpisearch.readers.registry import READERS
from tests.contracts.test_readers import EXAMPLES
from tests.readers import read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from lpisearch.model.documents import IngestReport

_OPTIONS = ReadOptions(archives=True)


def _zip(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def _tar(files: Mapping[str, bytes], mode: str = "w") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        link = tarfile.TarInfo("link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def _mail(subject: str, **files: bytes) -> EmailMessage:
    message = EmailMessage()
    message["From"], message["Subject"] = "ann@example.org", subject
    message["Date"] = "Wed, 31 Jan 2024 12:30:45 +0000"
    message.set_content("A letter.")
    for name, content in files.items():
        message.add_attachment(
            content, maintype="application", subtype="x", filename=name.replace("_", ".")
        )
    return message


_FILES = {
    "d/a.txt": b"One",
    "../../up.md": b"# Two\n\nText",
    ".hidden.txt": b"no",
    "__MACOSX/a.txt": b"no",
    "pic.png": b"\x89PNG",
    "t.csv": b"what,n\nTrain,1\nBus,2\n",
}
_PARTS = ["/d/a.txt", "/up.md", "/t.csv#1", "/t.csv#2"]


def _parts(items: list[Document | Problem]) -> list[str]:
    return [str(one.metadata[PART]) for one in items if isinstance(one, Document)]


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.zip", _zip(_FILES)),
        *((f"a.tar{ending}", _tar(_FILES, f"w{ending.replace('.', ':')}"))
          for ending in ("", ".gz", ".bz2", ".xz")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_members_are_documents(name: str, data: bytes, tmp_path: Path) -> None:
    reader = READERS["zip" if name.endswith("zip") else "tar"]
    assert _parts(read(reader, tmp_path / name, data, _OPTIONS)) == _PARTS


def test_archives_are_read_where_that_is_said(
    folder: Callable[..., Path], ingest: Callable[..., IngestReport]
) -> None:
    root = folder({"a.zip": _zip(_FILES), "b.txt": "Three"})
    report = ingest(root)
    assert (report.added, report.skipped) == (1, {".zip": 1})
    assert "archives" in report.notes[-1]
    assert ingest(root, archives=True).added == len(_PARTS)
    assert ingest(root).unchanged == 1 + len(_PARTS)


def test_attachments_are_documents_after_their_message(
    folder: Callable[..., Path], ingest: Callable[..., IngestReport], sql: Callable[..., list[str]]
) -> None:
    pdf = EXAMPLES["pdf"][1]
    forwarded = _mail("Old", boat_pdf=pdf)
    message = _mail("Invoice", a_pdf=pdf, b_docx=EXAMPLES["docx"][1], bad_pdf=b"%PDF-", c_jpg=b"x")
    message.add_attachment(forwarded)
    box = [_mail("first"), _mail("second", x_txt=b"Of boats"), _mail("third")]
    lines = (b"From ann Wed Jan 31 12:30:45 2024\n" + one.as_bytes() + b"\n" for one in box)
    root = folder({"m.eml": message.as_bytes(), "box.mbox": b"".join(lines)})
    report = ingest(root)
    assert (report.failed, [one.where for one in report.warnings]) == (0, ["bad.pdf"])
    named: list[Any] = sql("SELECT external_id, title FROM documents ORDER BY id")
    assert [row[:2] for row in named] == [
        *((f"box.mbox#{at}", title) for at, title in enumerate(("first", "second", "third"), 1)),
        ("box.mbox#2/x.txt", "second: x.txt"),
        ("m.eml", "Invoice"),
        ("m.eml/a.pdf", "Invoice: a.pdf"),
        ("m.eml/b.docx", "Invoice: b.docx"),
        ("m.eml/mail.eml", "Old"),
        ("m.eml/mail.eml/boat.pdf", "Old: boat.pdf"),
    ]
    # One more message moves the attachments, not the messages.
    more = b"".join(b"From ann Wed Jan 31 12:30:45 2024\n" + one.as_bytes() + b"\n"
                    for one in [*box, _mail("fourth")])  # fmt: skip
    (root / "box.mbox").write_bytes(more)
    report = ingest(root)
    assert (report.added, report.updated, report.missing) == (1, 0, 0)


def _nested(depth: int) -> bytes:
    data = _zip({"a.txt": b"words"})
    for _ in range(depth):
        data = _zip({"a.zip": data})
    return data


def test_deeper_archives_are_not_read(tmp_path: Path) -> None:
    assert _parts(read(READERS["zip"], tmp_path / "a.zip", _nested(2), _OPTIONS)) == [
        "/a.zip/a.zip/a.txt"
    ]
    (problem,) = read(READERS["zip"], tmp_path / "b.zip", _nested(9), _OPTIONS)
    assert isinstance(problem, Problem)
    assert "too many archives" in problem.reason


_ZEROS = bytes(300 * MEBIBYTE)
_HOSTILE = {
    "bomb.zip": lambda: _zip({"a.txt": _ZEROS}),
    "bomb.tar.gz": lambda: _tar({"a.txt": _ZEROS[: 60 * MEBIBYTE]}, "w:gz"),
    "bomb.tar.xz": lambda: _tar({"a.txt": _ZEROS[: 60 * MEBIBYTE]}, "w:xz"),
    "cut.tar.gz": lambda: _tar(_FILES, "w:gz")[:60],
    "no.tar": lambda: b"x" * 5000,
    "no.zip": lambda: b"PK\x03\x04" + b"x" * 5000,
}


@pytest.mark.parametrize("name", _HOSTILE)
def test_hostile_archives_are_refused(name: str, tmp_path: Path) -> None:
    reader = READERS["zip" if name.endswith("zip") else "tar"]
    try:
        items = read(reader, tmp_path / name, _HOSTILE[name](), _OPTIONS)
    except ReaderError:
        return
    assert [type(item) for item in items] == [Problem]


def test_an_archive_may_not_have_too_many_members(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "_LIMITS", ArchiveLimits(entries=3))
    with pytest.raises(ReaderError, match="more than 3 members"):
        read(READERS["tar"], tmp_path / "a.tar", _tar(_FILES), _OPTIONS)
