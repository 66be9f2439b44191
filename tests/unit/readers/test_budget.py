from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING

import pytest

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem
from lpisearch.options import MEBIBYTE, ReadOptions
from lpisearch.readers.base import (
    MEMORY_BYTES,
    MOST_DIFFERENT_WORDS,
    MOST_PROBLEMS,
    MOST_REMARKS,
    Reader,
    document_bytes,
    has_too_many_words,
    memory_bytes,
    within_budget,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lpisearch.readers.base import ReadFunction


def _nothing(*_: object) -> Iterable[Document | Problem]:
    return ()


_READ: ReadFunction = _nothing  # type: ignore[assignment]
_ONE = Reader("one", (), _READ)
_MANY = Reader("many", (), _READ, many=True)
_OPTIONS = ReadOptions(max_document_bytes=100)
_BAD = Problem("bad", "line 7")


def _passed(items: Iterable[Document | Problem], reader: Reader = _MANY) -> list[object]:
    return list(within_budget(items, reader, _OPTIONS))


def test_a_document_over_the_limit_is_a_problem_among_many() -> None:
    large = (Document("t" * 50, "é" * 26), Document("", "", metadata={"k": "v" * 100}))
    passed = _passed([Document("a", "b"), *large, Document("c", "d")])
    assert [type(item) for item in passed] == [Document, Problem, Problem, Document]
    assert [item.where for item in passed if isinstance(item, Problem)] == [
        "document 2",
        "document 3",
    ]


def test_the_one_document_of_a_file_over_the_limit_ends_it() -> None:
    """The reason names the option that raises the limit."""
    with pytest.raises(ReaderError, match="max_document_bytes"):
        _passed([Document("", "a" * 101)], _ONE)


def test_a_file_of_bad_records_is_given_up() -> None:
    """It would otherwise be read to its end for nothing; the place is named."""
    with pytest.raises(ReaderError, match="gave up at line 7: 10,001 records"):
        _passed(repeat(_BAD))


def test_a_file_with_more_good_records_is_read_to_its_end() -> None:
    good = Document("a", "b")
    mixed: list[Document | Problem] = [good, good, _BAD] * (MOST_PROBLEMS + 1)
    assert _passed(mixed) == mixed
    remarks: list[Document | Problem] = [Problem("odd", warning=True)] * (MOST_PROBLEMS + 2)
    passed = _passed([*remarks, good])
    assert passed[:-2] == remarks[: MOST_REMARKS - 1]
    assert passed[-1] == good


@pytest.mark.parametrize(
    ("text", "most", "many"),
    [
        ("a b a b c", 3, False),
        ("a b a b c d", 3, True),
        ("a,b.c-d", 3, True),
        ("東京都東京都", 3, False),
        ("東京都庁前東", 3, True),
        ("aaaaaaaaaaaaa", 3, False),
    ],
)
def test_different_words_and_pairs_are_counted(text: str, most: int, *, many: bool) -> None:
    assert has_too_many_words(text, most) is many


def test_a_document_of_numbers_is_refused() -> None:
    numbers = " ".join(map(str, range(MOST_DIFFERENT_WORDS + 100_000)))
    with pytest.raises(ReaderError, match="more than 1,500,000 different words"):
        list(within_budget([Document("", numbers)], _ONE, ReadOptions()))


def test_memory_grows_with_what_a_document_may_have() -> None:
    assert memory_bytes(ReadOptions()) == MEMORY_BYTES
    assert memory_bytes(ReadOptions(max_document_bytes=MEBIBYTE)) == MEMORY_BYTES
    doubled = ReadOptions(max_document_bytes=2 * ReadOptions().max_document_bytes)
    assert memory_bytes(doubled) == 2 * MEMORY_BYTES


@pytest.mark.parametrize("text", ["plain", "é", "雨", "\udce9", "😀"])
def test_size_is_that_of_utf8(text: str) -> None:
    assert document_bytes(Document("", text)) == len(text.encode("utf-8", "surrogatepass"))
