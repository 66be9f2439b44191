"""What a person at a terminal sees of long runs, and how long lines are broken there."""

import io
import sys

import pytest

from lpisearch.cli.output import Forecast, cell_line, note, print_pairs, stage_line
from lpisearch.messages import pace


class Screen(io.StringIO):
    """A terminal that keeps what is printed."""

    def isatty(self) -> bool:
        """Say that it is one."""
        return True


def terminal(patch: pytest.MonkeyPatch) -> Screen:
    """Put a terminal of 50 columns in place of both streams."""
    found = Screen()
    patch.setenv("COLUMNS", "50")
    patch.setenv("TERM", "xterm")
    patch.setattr(sys, "stderr", found)
    patch.setattr(sys, "stdout", found)
    return found


def test_the_pace_of_a_run() -> None:
    assert pace(0, 10, 5.0) == ""
    assert pace(3, 3, 6.0) == "30/min, 0:00 left"
    assert pace(1, 121, 60.0) == "1/min, 2:00:00 left"


def test_stages_have_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with stage_line({"linking [neighbours]": 30.0, "projecting": 60.0}) as line:
        line.stage("linking [neighbours]")
        line.step(20, 400)
    assert "linking [neighbours] … 20 of" in screen.getvalue()
    assert "s left" in screen.getvalue().replace("\n", " ")


def test_a_forecast_learns_from_the_stages_before() -> None:
    now = [0.0]
    forecast = Forecast({"counting": 2.0, "linking": 3.0, "placing": 10.0}, lambda: now[0])
    forecast.begin("counting")
    assert forecast.seconds_left() == pytest.approx(15.0)
    now[0] = 4.0
    forecast.begin("weighting")
    forecast.begin("linking")
    assert forecast.seconds_left() == pytest.approx(13.0 * (4 + 2) / (2 + 2))
    now[0] = 14.0  # linking takes longer still: so will the rest
    assert forecast.seconds_left() == pytest.approx(10.0 * (14 + 2) / (5 + 2))
    forecast.begin("placing")
    now[0] = 24.0
    forecast.step(10, 50)
    assert forecast.rate() == pytest.approx(1.0)
    assert forecast.seconds_left() == pytest.approx(40.0)


def test_parts_have_their_pace(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    with cell_line() as show:
        show("terms", 2, 4)
        show("rlpi", 3, 4)
    assert "3/4" in screen.getvalue()
    assert "left" in screen.getvalue()


def test_a_pipe_sees_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with stage_line({"projecting": 90.0}) as line, cell_line() as cell:
        line.stage("projecting")
        line.step(1, 2)
        cell("rlpi", 1, 2)
    assert capsys.readouterr() == ("", "")


def test_prose_is_broken_between_words(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    long = "/a/path/that/is/longer/than/the/terminal/is/wide/by/some/columns"
    note(f"Some documents changed after the index was built and were skipped: {long}")
    print_pairs(
        [
            (
                "best classifier",
                "svm; accuracy on 236 held-out documents: map-svm 92.4%, svm 92.4%, knn 90%",
            )
        ]
    )
    lines = screen.getvalue().replace("\x1b[2m", "").replace("\x1b[0m", "").splitlines()
    assert [line for line in lines if len(line) > 50] == [long]
    assert lines[-1].startswith(" " * len("best classifier  "))
    assert " ".join(" ".join(lines).split()).count("92.4%") == 2


def test_a_pipe_has_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    note("word " * 60)
    assert capsys.readouterr().err.count("\n") == 1
