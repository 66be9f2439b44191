from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import lpisearch
from lpisearch.cli.output import render_message
from lpisearch.index.status import rebuild_command
from lpisearch.readers.judgements import PairsUnreadable, read_pairs
from lpisearch.search.session import Session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from typer.testing import Result

    Cli = Callable[..., Result]


@pytest.fixture
def ids(shelf: Path) -> list[str]:
    """Return the ids of a library's documents."""
    with lpisearch.open(shelf) as library:
        return [entry.id for entry in library.entries()]


def _cosine(library: Path, first: str, second: str) -> float:
    with lpisearch.open(library) as opened:
        names, vectors = opened.vectors()
    places = {name: vectors[row] for row, name in enumerate(names)}
    return float(places[first] @ places[second])


@pytest.mark.parametrize(
    "words", [(), ("--labels", "use"), ("--method", "olpi"), ("--method", "lpp")]
)
def test_pairs_bring_together_and_part(
    cli: Cli, shelf: Path, tmp_path: Path, words: tuple[str, ...]
) -> None:
    options = ("--dims", "4", *words)
    assert cli("index", *options).exit_code == 0
    with lpisearch.open(shelf) as opened:
        names, vectors = opened.vectors()
    cosines = np.triu(vectors @ vectors.T, 1) + 2 * np.tril(np.ones((len(names), len(names))))
    far = np.unravel_index(cosines.argmin(), cosines.shape)
    first, second = names[far[0]], names[far[1]]
    before = _cosine(shelf, first, second)
    file = tmp_path / "pairs.tsv"
    file.write_text(f"# known\nmust\t{first}\t{second}\n\n", encoding="utf-8")
    assert cli("index", *options, "--pairs", file).exit_code == 0
    assert _cosine(shelf, first, second) > before


def test_an_index_remembers_its_pairs(
    cli: Cli, ids: list[str], library: Path, tmp_path: Path
) -> None:
    file = tmp_path / "pairs.txt"
    file.write_text(f"must {ids[0]} {ids[1]}\ncannot {ids[0]} {ids[2]}\n", encoding="utf-8")
    assert cli("index", "--pairs", file).exit_code == 0
    with Session(library).snapshot() as snapshot:
        assert snapshot.entry is not None
        spec = snapshot.entry.spec
    assert spec.pairs == (("must", ids[0], ids[1]), ("cannot", ids[0], ids[2]))
    assert render_message(rebuild_command(spec)) == "lpisearch index --pairs FILE"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("must a b", "no document has the id “a”, “b”"),
        ("must {0} {1}\nmust {1} {2}\ncannot {0} {2}", "are marked both must and cannot"),
        ("must {0}", "line 1 has 2 columns, not 3"),
        ("same {0} {1}", "line 1: expected must or cannot, not “same”"),
        ("must {0} {0}", "twice"),
        ("", "it contains no pairs"),
    ],
)
def test_pairs_that_cannot_work_are_refused(
    cli: Cli, ids: list[str], tmp_path: Path, text: str, said: str
) -> None:
    file = tmp_path / "pairs.txt"
    file.write_text(text.format(*ids), encoding="utf-8")
    done = cli("index", "--pairs", file)
    assert done.exit_code in {1, 2}
    assert said in done.stderr
    assert "Traceback" not in done.output


@pytest.mark.usefixtures("shelf")
def test_a_method_without_a_graph_takes_no_pairs(cli: Cli, ids: list[str], tmp_path: Path) -> None:
    file = tmp_path / "pairs.txt"
    file.write_text(f"must {ids[0]} {ids[1]}", encoding="utf-8")
    done = cli("index", "--method", "lsi", "--pairs", file)
    assert "lsi does not use a graph" in done.stderr


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(PairsUnreadable, match="no such file"):
        read_pairs(tmp_path / "none.txt")
    file = tmp_path / "pairs.txt"
    file.write_bytes(b"must \xff a\n")
    with pytest.raises(PairsUnreadable, match="line 1 is not UTF-8"):
        read_pairs(file)
