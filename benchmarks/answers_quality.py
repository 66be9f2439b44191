"""The effect of packed vectors, and of comparing feedback with the best documents only.

Run `python -m benchmarks.answers_quality [COLLECTION …]`. Each collection is indexed once by
default options. Then the same places are packed in two bytes (int16) and in one (int8), and the
same map in one ("map"), and the questions are asked again. "best alone" is what large libraries do
besides: the moved question is compared with a twentieth of all (200 at least), and standardised by
moments. AP in points of a hundred; "ten" is the share of the first ten that stay.
"""

from __future__ import annotations

import tempfile
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple
from unittest.mock import patch

import numpy as np

from benchmarks import arguments
from benchmarks.retrieval import DATA, ENGLISH, average_precision, judged_of, questions_of
from lpisearch.index import subspace
from lpisearch.index.build import build_index
from lpisearch.index.subspace import SubspaceIndex, vector_arrays
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.numeric.rows import PackedRows
from lpisearch.options import IndexOptions, IngestOptions
from lpisearch.search import hybrid
from lpisearch.search.engine import Engine
from lpisearch.search.expansion import IndexWords, expand
from lpisearch.search.parser import parse_plain
from lpisearch.search.session import Session
from tests.indexing import open_index

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

LEAST_COMPARED = 200
TEN = 10


class Asked(NamedTuple):
    """The scores of every question, and what is relevant to each."""

    scores: list[NDArray[np.float32]]
    relevant: list[NDArray[np.int64]]

    def precision(self) -> float:
        """Return the mean average precision, in points."""
        return 100 * fmean(map(average_precision, self.scores, self.relevant))

    def first_ten(self, other: Asked) -> float:
        """Return the share of the first ten that stay."""
        pairs = zip(self.scores, other.scores, strict=True)
        return fmean(len({*_best(a)} & {*_best(b)}) / TEN for a, b in pairs)


def main() -> None:
    """Print a line for each collection."""
    names = arguments.names(__doc__, "COLLECTION", ENGLISH) or ENGLISH
    heads = [head for by in ("semantic", "hybrid") for head in (by, "int16", "int8", "map")]
    print(f"| | {' | '.join(heads)} | int16, best alone | ten | int8, best alone | ten |")
    print("| :--- |" + " ---: |" * 12)
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            library = Path(folder) / "one.db"
            run_ingest(library, [str(DATA / name / "docs.jsonl.gz")], IngestOptions())
            with patch.object(subspace, "PACKED_FROM", np.inf):
                build_index(library, IndexOptions())
            print(_line(library, name), flush=True)


def _line(library: Path, name: str) -> str:
    index = open_index(library)
    large = [_packed(index, kind) for kind in (np.int16, np.int8)]
    loadings = PackedRows.pack(index.packed_loadings.at(slice(None)), np.int8).arrays("loading")
    mapped = SubspaceIndex(index.manifest, index.arrays | loadings)
    ways = [(by, each) for by in ("semantic", "hybrid") for each in (index, *large, mapped)]
    asked = [_ask(library, each, name, by) for by, each in ways]
    plain = asked[4]
    with _best_alone():
        alone = [_ask(library, each, name, "hybrid") for each in large]
    cells = [f"{each.precision():.2f}" for each in asked]
    for each in alone:
        cells += [f"{each.precision():.2f}", f"{plain.first_ten(each):.3f}"]
    return f"| {name} | " + " | ".join(cells) + " |"


def _packed(index: SubspaceIndex, kind: type[np.signedinteger[Any]]) -> SubspaceIndex:
    arrays = vector_arrays(PackedRows.pack(index.vectors, kind))
    return SubspaceIndex(index.manifest, index.arrays | arrays)


def _ask(library: Path, index: SubspaceIndex, name: str, by: str) -> Asked:
    engine, texts, judged = Engine(index), dict(questions_of(name)), judged_of(name)
    with Session(library) as session, session.store.reading() as snapshot:
        names = snapshot.documents.ids()
        tokeniser = session.tokeniser_of(index)
    places = {names[row]: at for at, row in enumerate(engine.index.document_rows.tolist())}
    words = IndexWords(engine, tokeniser)
    questions = [
        expand(parse_plain(texts[query], tokeniser), words).look_up(engine) for query in judged
    ]
    relevant = [
        np.array([places[each] for each in told if each in places], np.int64)
        for told in judged.values()
    ]
    return Asked([engine.scores(each, by).total for each in questions], relevant)


@contextmanager
def _best_alone() -> Iterator[None]:
    usual = hybrid.COMPARED_AGAIN
    hybrid.COMPARED_AGAIN = LEAST_COMPARED
    try:
        yield
    finally:
        hybrid.COMPARED_AGAIN = usual


def _best(scores: NDArray[np.float32]) -> list[int]:
    best: list[int] = np.argsort(-scores, kind="stable")[:TEN].tolist()
    return best


if __name__ == "__main__":
    main()
