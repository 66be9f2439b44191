"""The notebooks of docs/examples run from their first cell to their last, and show results."""

import json
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat", reason="needs `make test-integrations`")
_EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
_NOTEBOOKS = sorted(_EXAMPLES.glob("*.ipynb"))
_SECONDS = 600


def _is_of_data(path: Path) -> bool:
    return "LPISEARCH_DATA" in path.read_text(encoding="utf-8")


def _params() -> list[Any]:
    marks = {path: [pytest.mark.data] * _is_of_data(path) for path in _NOTEBOOKS}
    return [pytest.param(path, id=path.stem, marks=marks[path]) for path in _NOTEBOOKS]


def test_all_are_here() -> None:
    assert len(_NOTEBOOKS) == 5


@pytest.mark.timeout(_SECONDS)
@pytest.mark.parametrize("path", _params())
def test_a_notebook_runs(
    path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each cell that shows something in the file shows the same kind of thing again."""
    from nbclient import NotebookClient

    if _is_of_data(path):
        monkeypatch.setenv("LPISEARCH_DATA", str(request.getfixturevalue("data")))
    monkeypatch.delenv("LPISEARCH_DB", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(_EXAMPLES.parents[1]))
    shown = nbformat.read(path, as_version=4)
    done = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(_EXAMPLES)}}
    NotebookClient(done, timeout=_SECONDS, kernel_name="python3", resources=where).execute()
    pairs = zip(shown.cells, done.cells, strict=True)
    for old, new in ((old, new) for old, new in pairs if old.cell_type == "code"):
        assert _kinds(old) == _kinds(new)
        assert not any(output.get("name") == "stderr" for output in new.outputs)


def _kinds(cell: Any) -> list[str]:
    return [f"{one.output_type} {sorted(one.get('data', {}))}" for one in cell.outputs]


@pytest.mark.parametrize("path", _NOTEBOOKS, ids=lambda path: path.stem)
def test_no_place_of_a_machine_is_shown(path: Path) -> None:
    text = json.dumps([cell.get("outputs", []) for cell in json.loads(path.read_text())["cells"]])
    assert not any(place in text for place in ("/tmp/", "/home/", "/work/", "/Users/"))  # noqa: S108
