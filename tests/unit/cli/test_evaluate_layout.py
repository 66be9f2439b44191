import re
from collections.abc import Callable
from typing import Any

import pytest

from lpisearch.cli import evaluate
from lpisearch.model.reports import Table

_ROWS: tuple[dict[str, Any], ...] = (
    {"representation": "terms", "classifier": "svm", "accuracy": 0.9, "accuracy_sd": 0.01}
    | {"fit_s": 0.5, "predict_s": 0.25, "dims": 1200, "alpha": None, "documents": 60},
    {"representation": "漢字", "classifier": "knn", "accuracy": 0.8, "accuracy_sd": 0.02}
    | {"fit_s": 0.125, "predict_s": 1.5, "dims": 7, "alpha": 2.5, "documents": 60},
)


@pytest.fixture
def printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[int], list[str]]:
    """Return a printer of a table on a terminal of some width."""

    def run(columns: int) -> list[str]:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        evaluate.print_report_table(Table("one", "A title", _ROWS), is_terminal=True)
        text = re.sub("\x1b\\[[0-9;]*m", "", capsys.readouterr().out)
        return [line.rstrip() for line in text.splitlines()]

    return run


def test_a_wide_terminal_shows_all(printed: Callable[[int], list[str]]) -> None:
    assert printed(100) == [
        "A title (documents 60)",
        "representation  classifier         accuracy  fit_s  predict_s  dims  alpha",
        "terms           svm         0.9000 ± 0.0100  0.500      0.250  1200",
        "漢字            knn         0.8000 ± 0.0200  0.125       1.50     7    2.5",
    ]


def test_a_narrower_one_leaves_out_what_matters_less(printed: Callable[[int], list[str]]) -> None:
    """Columns go until the table fits, and their names are said."""
    assert printed(60) == [
        "A title (documents 60)",
        "representation  classifier         accuracy  predict_s  dims",
        "terms           svm         0.9000 ± 0.0100      0.250  1200",
        "漢字            knn         0.8000 ± 0.0200       1.50     7",
        "(hidden to fit 60 columns: alpha, fit_s; --csv shows all)",
    ]


def test_a_very_narrow_one_shows_rows_in_lines(printed: Callable[[int], list[str]]) -> None:
    assert printed(30)[:8] == [
        "A title (documents 60)",
        "representation  terms",
        "classifier      svm",
        "accuracy        0.9000 ± 0.0100",
        "fit_s           0.500",
        "predict_s       0.250",
        "dims            1200",
        "",
    ]


def test_a_pipe_has_every_column(capsys: pytest.CaptureFixture[str]) -> None:
    evaluate.print_report_table(Table("one", "A title", _ROWS), is_terminal=False)
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == list(_ROWS[0])
    assert lines[1] == ["terms", "svm", "0.9", "0.01", "0.5", "0.25", "1200", "", "60"]
