"""Run every example of every docstring, and those of the page on searching."""

import doctest
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import lpisearch
from tests.expressions import FRAMEWORKS

_OF_A_LIBRARY = "lpisearch.library."
_ON_THE_SAMPLE_CORPUS = ("classify", "evaluate", "predict_labels", "topics")


def _examples() -> Iterator[doctest.DocTest]:
    finder = doctest.DocTestFinder(exclude_empty=True)
    for module in pkgutil.walk_packages(lpisearch.__path__, "lpisearch."):
        if module.name != "lpisearch.__main__" and not FRAMEWORKS.fullmatch(module.name):
            found = finder.find(import_module(module.name), module.name)
            yield from (example for example in found if example.examples)
    yield from finder.find(lpisearch, "lpisearch")[:1]


def _letters(folder: Path) -> lpisearch.Library:
    letters = folder / "letters"
    letters.mkdir()
    (letters / "first.txt").write_text("A letter\n\nThe ship lies in the harbour.\n")
    (letters / "second.txt").write_text("An answer\n\nThe harbour is full of ships.\n")
    library = lpisearch.open("notes.db")
    library.ingest("letters")
    library.index(method="lsi")
    return library


@pytest.mark.parametrize("example", list(_examples()), ids=lambda example: example.name)
def test_an_example_is_true(
    example: doctest.DocTest,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"lpisearch": lpisearch}
    method = example.name.rpartition(".")[2] if example.name.startswith(_OF_A_LIBRARY) else ""
    if method in _ON_THE_SAMPLE_CORPUS:
        names["library"] = lpisearch.open(request.getfixturevalue("own_sample"))
    elif method:
        names["library"] = _letters(tmp_path)
    if method == "ingest":
        (tmp_path / "notes.db").unlink()
    example.globs |= names
    lines: list[str] = []
    results = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=lines.append)
    assert results.attempted
    assert not results.failed, "".join(lines)


def test_the_page_on_searching_is_true() -> None:
    page = Path(__file__).parents[2] / "docs" / "searching.md"
    results = doctest.testfile(str(page), module_relative=False, encoding="utf-8")
    assert results.attempted
    assert not results.failed
