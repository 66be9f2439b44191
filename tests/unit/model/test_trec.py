"""Names as fields of TREC files."""

from __future__ import annotations

import hypothesis.strategies as st
from hypothesis import given

from lpisearch.model.reports import as_field, named, run_lines

_NAMES = st.text(st.characters(codec=None), min_size=1) | st.text("% 2\t\u00e5\u2028", min_size=1)


@given(_NAMES, _NAMES)
def test_any_name_comes_back_from_a_run(query: str, document: str) -> None:
    (line,) = run_lines([(query, [(document, 1.0)])])
    assert line.splitlines() == [line]
    fields = line.split()
    assert len(fields) == 6
    assert fields == line.split(" ")
    assert named(fields[0], {query}) == query
    assert named(fields[2], {document, fields[2]}) == document


@given(_NAMES, _NAMES)
def test_no_two_names_are_written_alike(first: str, second: str) -> None:
    assert (as_field(first) == as_field(second)) == (first == second)


def test_names_of_other_files_are_taken_as_they_are() -> None:
    assert named("100%25", {"100%25"}) == "100%25"
    assert named("100%25", {"100%25", "100%"}) == "100%"
    assert named("%ff", {"%ff"}) == "%ff"
    assert named("plain_name.txt", set()) == "plain_name.txt"
