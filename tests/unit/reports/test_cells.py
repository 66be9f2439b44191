from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from lpisearch.messages import printable
from lpisearch.model.report_text import higher_is_better, is_numeric, shown
from lpisearch.model.reports import Cell, Table, plain


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("accuracy", 0.86714, "0.8671"),
        ("nDCG@10", 1.0, "1.0000"),
        ("P@10", 0.5, "0.5000"),
        ("accuracy_sd", 0.00412, "0.0041"),
        ("AC", 98.412, "98.41"),
        ("p", 0.0000123, "<0.0001"),
        ("seconds", 12.3456, "12.3"),
        ("fit_s", 0.98765, "0.988"),
        ("fit_s", 0.99999, "1.00"),
        ("fit_s", 1234.5, "1234"),
        ("fit_s", 0.0, "0"),
        ("fit_s", 0.0000123, "1.23e-05"),
        ("documents", 18846, "18846"),
        ("alpha", 1.0, "1"),
        ("alpha", 0.012345, "0.01235"),
        ("pairs", 44123456.7, "44123457"),
        ("covered", True, "yes"),
        ("covered", False, "no"),
        ("accuracy", None, ""),
        ("accuracy", math.nan, "–"),
        ("alpha", math.inf, "inf"),
        ("label", "sea\nand\tsky", "sea and sky"),
    ],
)
def test_a_cell_is_shown_by_the_kind_that_its_column_names(
    name: str, value: Cell, text: str
) -> None:
    assert shown(name, value) == text


def test_numbers_of_numpy_are_numbers() -> None:
    assert shown("documents", np.int64(7)) == "7"
    assert shown("AP", np.float32(0.25)) == "0.2500"
    assert [type(plain(value)) for value in (np.int64(7), np.float64(0.1))] == [int, float]


def test_what_is_not_finite_is_no_plain_value() -> None:
    assert [plain(value) for value in (math.nan, math.inf, -math.inf, 0.5)] == [
        None,
        None,
        None,
        0.5,
    ]


def test_a_text_cannot_steer_a_terminal_or_turn_a_line_round() -> None:
    assert printable("a\x1b[31mb\u202ec\ud800\0") == "a\ufffd[31mbc\ufffd\ufffd"
    assert printable("नमस्\u200dते 日本") == "नमस्\u200dते 日本"


@pytest.mark.parametrize("name", ["accuracy", "macro_f1", "AP", "nDCG@10", "P@10", "mean AP"])
def test_of_a_measure_more_is_better(name: str) -> None:
    assert higher_is_better(name)


@pytest.mark.parametrize("name", ["fit_s", "seconds", "accuracy_sd", "AP_difference", "p", "dims"])
def test_of_times_spreads_and_settings_more_is_not_better(name: str) -> None:
    assert not higher_is_better(name)


def test_a_column_of_numbers_may_have_gaps() -> None:
    rows = ({"a": 1, "b": True, "c": None, "d": "x"}, {"a": None, "d": 2}, {"a": 0.5})
    table = Table("t", "", rows)
    assert [is_numeric(table, name) for name in "abcd"] == [True, False, False, False]


def test_reports_work_without_matplotlib() -> None:
    code = (
        "import sys, lpisearch.evaluation.page; "
        "print([m for m in sys.modules if m.split('.')[0] == 'matplotlib'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
