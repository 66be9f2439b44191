from __future__ import annotations

import csv
from io import StringIO

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lpisearch.messages import printable
from lpisearch.model.report_text import as_csv
from lpisearch.model.reports import Table

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


def _read(text: str) -> list[list[str]]:
    return list(csv.reader(StringIO(text, newline="")))


def test_numbers_are_in_full_precision() -> None:
    values = (0.1 + 0.2, -1e-17, 18846, -3)
    table = Table("t", "", ({f"c{at}": value for at, value in enumerate(values)},))
    assert tuple(map(float, _read(as_csv([table]))[1])) == values


def test_one_table_has_its_columns_and_empty_cells() -> None:
    table = Table("t", "", ({"a": 1, "b": None}, {"c": float("nan"), "a": True}))
    assert as_csv([table]) == "a,b,c\n1,,\nTrue,,\n"


def test_several_tables_lie_below_each_other() -> None:
    tables = Table("x", "", ({"a": 1},)), Table("y", "", ({"b": 2}, {"a": 3}))
    assert as_csv(tables) == "table,a,b\nx,1,\ny,,2\ny,3,\n"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", " =", "\uff1d"])
def test_a_label_is_not_run_as_a_formula(start: str) -> None:
    text = f'{start}cmd("x")'
    read = _read(as_csv([Table("t", "", ({text: text, "n": -1.5},))]))
    assert read == [[f"'{text}", "n"], [f"'{text}", "-1.5"]]


@given(st.lists(_TEXTS, min_size=1, max_size=4))
@example(["a\rb", "a\nb", 'a"b', "a,b", " ", ""])
def test_any_text_is_read_back(texts: list[str]) -> None:
    rows = tuple({"label": text} for text in texts)
    read = [cells[0] for cells in _read(as_csv([Table("t", "", rows)]))[1:]]
    shown = [printable(text, lines=True) for text in texts]
    assert [text.removeprefix("'") for text in read] == [text.removeprefix("'") for text in shown]


def test_nothing_is_nothing() -> None:
    assert not as_csv([])
    assert not as_csv([Table("t", "", ())])
