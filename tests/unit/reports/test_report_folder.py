from __future__ import annotations

import errno
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import IO, NoReturn

import pytest

from lpisearch import files
from lpisearch.errors import ReportUnwritable
from lpisearch.evaluation.page import write_report
from lpisearch.model.reports import Report, Table

_NAMES = {
    *("index.html", "report.json", "classify.csv", "classify.md", "confusion.csv", "confusion.md"),
    *("dims.svg", "dims.png", "script-alert-x-script.svg", "script-alert-x-script.png"),
}


def _contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_report_is_a_page_and_a_file_for_each_finding(report: Report, tmp_path: Path) -> None:
    paths = write_report(report, tmp_path / "new" / "report")
    assert paths[0].name == "index.html"
    assert {path.name for path in paths} == _NAMES
    assert set((tmp_path / "new" / "report").iterdir()) == set(paths)


@pytest.mark.usefixtures("no_matplotlib")
def test_without_matplotlib_there_are_no_pictures(report: Report, tmp_path: Path) -> None:
    names = {path.name for path in write_report(report, tmp_path)}
    assert names == {name for name in _NAMES if not name.endswith((".svg", ".png"))}


def test_the_json_holds_everything(report: Report, tmp_path: Path) -> None:
    write_report(report, tmp_path)
    value = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert value["command"] == report.command
    assert value["parameters"]["date"] == "2026-11-18"
    assert value["versions"] == {"lpisearch": "0.1.0"}
    assert value["tables"][0]["rows"][1]["accuracy"] == 0.8671234
    assert value["tables"][0]["columns"] == ["representation", "accuracy", "fit_s", "dims"]
    assert value["figures"][0]["series"][0]["spread"] == [0.01] * 6
    assert value["figures"][1]["series"][0]["y"] == [0.1, None]


def test_twice_the_same_report_gives_the_same_files(report: Report, tmp_path: Path) -> None:
    write_report(report, tmp_path)
    first = _contents(tmp_path)
    write_report(report, tmp_path)
    assert _contents(tmp_path) == first


def test_names_of_findings_cannot_leave_the_folder_or_meet(tmp_path: Path) -> None:
    names = ("../../etc/passwd", "A b", "a-b", "…", "a-b")
    tables = tuple(Table(name, "", ({"x": 1},)) for name in names)
    paths = write_report(Report("r", "c", {}, {}, tables), tmp_path)
    assert [path.name for path in paths if path.suffix == ".csv"] == [
        *("etc-passwd.csv", "a-b.csv", "a-b-2.csv", "unnamed.csv", "a-b-3.csv"),
    ]
    assert {path.parent for path in paths} == {tmp_path}


def test_a_name_that_is_no_unicode_does_not_stop_a_report(tmp_path: Path) -> None:
    table = Table("t", "T", ({"label": "caf\udce9"},))
    write_report(Report("r", "c", {}, {}, (table,)), tmp_path)
    assert (tmp_path / "t.csv").read_text("utf-8") == "label\ncaf\ufffd\n"


def test_a_file_in_the_place_of_the_folder_is_named(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "report"
    path.write_text("mine")
    with pytest.raises(ReportUnwritable, match=r"report: it is not a folder"):
        write_report(report, path)
    assert path.read_text() == "mine"


def test_a_folder_that_cannot_be_made_is_named(report: Report, tmp_path: Path) -> None:
    """The reason of the system is told, here that a part of the path is a file."""
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ReportUnwritable, match=r"file.report: Not a directory"):
        write_report(report, tmp_path / "file" / "report")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(report: Report, tmp_path: Path) -> None:
    """The reason of the system is told."""
    tmp_path.chmod(0o500)
    with pytest.raises(ReportUnwritable, match="Permission denied"):
        write_report(report, tmp_path)


def test_a_full_disk_leaves_the_old_report(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_report(Report("Old", "c", {}, {}, report.tables), tmp_path)
    before = _contents(tmp_path)
    write, left = files._write, [0]

    def full(stream: IO[bytes], data: bytes) -> None:
        if not left[0]:
            stream.write(data[:10])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        left[0] -= 1
        write(stream, data)

    monkeypatch.setattr(files, "_write", full)
    for written in range(len(before)):
        left[0] = written
        with pytest.raises(ReportUnwritable, match=r"No space left on device.*unchanged"):
            write_report(replace(report, figures=()), tmp_path)
        assert _contents(tmp_path) == before


def test_a_run_that_is_interrupted_leaves_the_old_page(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_report(Report("Old", "c", {}, {}, ()), tmp_path)
    before = _contents(tmp_path)

    def interrupted(_stream: IO[bytes], _data: bytes) -> NoReturn:
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "_write", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_report(replace(report, figures=()), tmp_path)
    assert _contents(tmp_path) == before


def test_the_page_is_replaced_last(
    report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved: list[str] = []
    move = Path.replace

    def noted(self: Path, target: Path) -> Path:
        moved.append(target.name)
        return move(self, target)

    monkeypatch.setattr(Path, "replace", noted)
    paths = write_report(replace(report, figures=()), tmp_path)
    assert moved[-1] == "index.html"
    assert len(moved) == len(paths)


def test_files_of_others_stay(report: Report, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_bytes(b"mine")
    write_report(replace(report, figures=()), tmp_path)
    assert (tmp_path / "notes.txt").read_bytes() == b"mine"
