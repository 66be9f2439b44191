from __future__ import annotations

from io import BytesIO

import pytest

from lpisearch import messages
from lpisearch.model.documents import Document, Problem, Section
from lpisearch.readers.worker import Frame, pack, receive, word


def _sent(message: bytes, most_bytes: int = 10_000) -> Frame | None:
    return receive(BytesIO(message), most_bytes)


@pytest.mark.parametrize("text", ["", "line\nbreak", "\x00\x1f", "雨", "\udce9", "\u2028"])
def test_any_text_comes_back(text: str) -> None:
    """Control characters and lone surrogates of file names too, as a fact or as a text."""
    said = _sent(word({"failed": text}))
    assert said is not None
    assert (said.is_pack, said.facts()) == (False, {"failed": text})
    records = [Document("t", text), Document("u", text)]
    assert _records(pack(records)) == records


def _records(message: bytes) -> list[Document | Problem]:
    received = _sent(message)
    assert received is not None
    assert received.is_pack
    return list(received.records(received.facts()))


@pytest.mark.parametrize(
    "stream", [b"", b"pack 10 10\nshort", b"noise\n", b"word 2000000 0\n{}", b"x" * 100_000]
)
def test_what_is_no_message_is_none(stream: bytes) -> None:
    """A worker that died half-way, or that writes without end, is told from an answer."""
    assert _sent(stream) is None


def test_records_come_back_as_they_were() -> None:
    """A document keeps its sections and labels, a problem the option that it names."""
    sections = (Section(0, "page", "1"), Section(5, "page", "2"))
    full = Document("t", "one\n\ntwo", "i", ("a", "b"), "test", "2024", metadata={"k": [1, None]})
    reason = messages.Message(
        "is too large (raise it with ", messages.Option("max_document_bytes"), ")"
    )
    given: list[Document | Problem] = [
        Document("", ""),
        full,
        Document("t", "text", sections=sections),
        Problem(reason, "line 3"),
        Problem("odd", warning=True),
    ]
    back = _records(pack(given, seconds=1.0))
    assert back == given
    problem = back[3]
    assert isinstance(problem.reason, messages.Message)  # type: ignore[union-attr]
    assert problem.reason.parts == reason.parts  # type: ignore[union-attr]
