from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.model.report_text import as_markdown
from lpisearch.model.reports import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lpisearch.model.reports import Cell


def test_a_table_has_a_heading_aligned_columns_and_notes() -> None:
    rows: tuple[Mapping[str, Cell], ...] = (
        {"representation": "rlpi", "accuracy": 0.86712, "fit_s": 12.3456, "documents": 18846},
        {"representation": "terms", "accuracy": None, "fit_s": 0.5},
    )
    assert as_markdown([Table("t", "Classifiers", rows, ("12 left out", "5 repeats"))]) == (
        "## Classifiers\n\n"
        "| representation | accuracy | fit_s | documents |\n"
        "| :------------- | -------: | ----: | --------: |\n"
        "| rlpi           |   0.8671 |  12.3 |     18846 |\n"
        "| terms          |          | 0.500 |           |\n"
        "\n- 12 left out\n- 5 repeats\n"
    )


def test_marks_in_a_label_are_only_letters() -> None:
    rows = ({"label": r"a\|b <script> [x](y) *z* _u_ `c`"},)
    line = as_markdown([Table("t", "t", rows)]).splitlines()[4]
    assert line == r"| a\\\|b \<script\> \[x\](y) \*z\* \_u\_ \`c\` |"


def test_a_label_stays_on_its_line() -> None:
    lines = as_markdown([Table("t", "one\n# two", ({"a": "x\n| y"},))]).splitlines()
    assert lines[0] == "## one # two"
    assert lines[4] == r"| x \| y |"


def test_wide_letters_take_two_columns() -> None:
    rows = ({"label": "日本"}, {"label": "cafe\u0301s"})
    lines = as_markdown([Table("t", "t", rows)]).splitlines()[2:]
    assert lines == ["| label |", "| :---- |", "| 日本  |", "| cafe\u0301s |"]


def test_several_tables_are_apart() -> None:
    tables = Table("a", "A", (), ("nothing",)), Table("b", "", ({"x": 1},))
    assert as_markdown(tables).startswith("## A\n\n- nothing\n\n## b\n\n|   x |\n")
    assert not as_markdown([])
