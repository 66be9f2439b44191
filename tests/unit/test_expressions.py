"""Regular expressions take time in proportion to their input, whatever it is."""

import re
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from lpisearch.ingest.ignore import IgnorePatterns
from lpisearch.readers.encoding import _SCRIPTS
from lpisearch.readers.records import split_labels
from lpisearch.storage.dialects import Glob
from lpisearch.text.characters import WrittenPhrase
from tests.expressions import (
    compiled_expressions,
    hostile_units,
    inline_expressions,
    way_of_use,
)

EXPRESSIONS = compiled_expressions()
INLINE, MAKERS = inline_expressions()
_LENGTH = 3000
_QUICK_SECONDS = 0.003
"""So many characters in less are no stall, at whatever rate they grow: the others are grown."""
_GROWTH = 4
_MOST_GROWTH = 8.0
"""Of the time for a text four times as long: linear is 4, quadratic is 16."""
_TRIES = 4


def _seconds(search: Callable[[str | bytes], object], text: str | bytes) -> float:
    begun = time.thread_time()
    search(text)
    return time.thread_time() - begun


def _stalls(expression: Any, search: Callable[..., object]) -> tuple[str, str] | None:
    """Return what makes an expression take more than its share of time, if anything does."""

    def text(length: int) -> str | bytes:
        given = beginning + piece * (length // len(piece)) + "\0"
        return given.encode() if isinstance(expression.pattern, bytes) else given

    def stalls() -> bool:
        shorter = min(_seconds(search, text(_LENGTH)) for _ in range(2))
        if shorter < _QUICK_SECONDS:
            return False
        longer = _seconds(search, text(_GROWTH * _LENGTH))
        return longer > shorter * _MOST_GROWTH

    for beginning, piece in hostile_units(expression):
        # A busy machine may stretch one measurement, but not all of them.
        if _seconds(search, text(_LENGTH)) > _QUICK_SECONDS and all(
            stalls() for _ in range(_TRIES)
        ):
            return beginning, piece
    return None


def test_there_are_expressions_of_every_room() -> None:
    names = "\n".join(EXPRESSIONS)
    assert len(EXPRESSIONS) > 60
    assert "lpisearch.text.characters._patterns()" in names
    assert "lpisearch.readers.markdown._LINK" in names


@pytest.mark.parametrize("name", sorted(EXPRESSIONS))
def test_an_expression_takes_time_in_proportion(name: str) -> None:
    expression = EXPRESSIONS[name]
    assert _stalls(expression, way_of_use(name, expression)) is None


@pytest.mark.parametrize("name", sorted(INLINE))
def test_an_expression_within_a_function_takes_time_in_proportion(name: str) -> None:
    assert _stalls(INLINE[name], INLINE[name].findall) is None


_PATTERNS = IgnorePatterns.of("/x", ["*a*a*a*a*b", "**/*a*/**/*b", "[[[[", "*[ab]*[ab]*[ab]c"])
# What a person or a file says becomes part of these: the worst that can be said, and on what.
_MADE: dict[str, tuple[Callable[[str], object], ...]] = {
    "lpisearch.text.characters._pattern": (
        WrittenPhrase("a a a a").count,
        WrittenPhrase("a-a-a").count,
        WrittenPhrase("中 a 中").count,
    ),
    "lpisearch.storage.dialects.matches": (
        Glob("*a" * 20 + "b").matches,
        Glob("*?*?[ab]*" * 10).matches,
        Glob("[" * 100).matches,
        lambda text: Glob(f"[{text}]").matches("a"),
    ),
    "lpisearch.ingest.ignore._segment": (
        lambda text: _PATTERNS.verdict(f"/x/{text}", is_folder=False),
    ),
    "lpisearch.readers.records.split_labels": (partial(split_labels, separators=";,|^-]"),),
    "lpisearch.readers.encoding._usual_share": tuple(
        re.compile(f"[{script}\\W]+").findall
        for script in _SCRIPTS.values()
        if isinstance(script, str)
    ),
}
# These are compiled once, and are among `EXPRESSIONS`, or take nothing but names of files, or the
# escaped words of one query.
_ELSEWHERE = {
    "lpisearch.cli.hits._position",
    "lpisearch.search.query._corrected",
    "lpisearch.text.tokeniser._camel_case",
    "lpisearch.search.compounds._exact",
    "lpisearch.search.compounds._is_joined",
    "lpisearch.search.compounds._loose",
    "lpisearch.text.spelling._patterns",
    "lpisearch.text.tokeniser.__init__",
    "lpisearch.text.characters._marks",
    "lpisearch.text.characters.compiled",
    "lpisearch.text.characters._patterns",
    "lpisearch.files._sweep",
}


def test_every_maker_of_expressions_is_known_here() -> None:
    assert set(_MADE) | _ELSEWHERE == MAKERS


@pytest.mark.parametrize("name", sorted(_MADE))
def test_a_made_expression_takes_time_in_proportion(name: str) -> None:
    for search in _MADE[name]:
        assert _stalls(_PLAIN, search) is None


_PLAIN = re.compile("a*b[ab;] -")


def test_a_quadratic_expression_is_found_out() -> None:
    bad = re.compile(r"(\w+)\s*=")
    assert _stalls(bad, bad.findall) is not None
