"""Average precision on the public collections, as `lpisearch index` and `query` give it.

Run `python benchmarks/retrieval.py [COLLECTION …]`; no word runs med, cranfield and cisi. Each is
ingested and indexed by default options in a folder that is thrown away. The first lines are the
program's own runs, with what is asked of them; then come the variants of docs/ranking.md, side by
side. A relevant document has a grade above 0; queries without one are left out.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.evaluation import parse_measures, score_run
from lpisearch.indexes.build import build_index
from lpisearch.indexes.index import scaled_rows
from lpisearch.indexes.opening import open_index
from lpisearch.ingest.ingesting import run_ingest
from lpisearch.library import Library
from lpisearch.maintenance.documents import list_documents
from lpisearch.readers.queries import read_queries
from lpisearch.search import feedback, fusion
from lpisearch.search.engine import Engine
from lpisearch.search.expansion import asked_of, expand
from lpisearch.search.lexical import Bm25
from lpisearch.search.parsing import parse_plain
from lpisearch.search.word_sources import IndexWords
from lpisearch.settings import IndexOptions, IngestOptions, SearchOptions
from lpisearch.terms.languages import TokeniserSettings
from lpisearch.terms.tokeniser import Tokeniser

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from lpisearch.search.question import Question

    Floats = NDArray[np.float32]
    Rule = Callable[["Collection", int], Floats]

DATA = Path(__file__).parents[2] / "shared" / "data"
COLLECTIONS = ("med", "cranfield", "cisi")
ASKED = {
    "lexical": {"med": 0.53, "cranfield": 0.305, "cisi": 0.225},
    "semantic": {"med": 0.71, "cranfield": 0.345, "cisi": 0.27},
    "hybrid": {"med": 0.71, "cranfield": 0.37, "cisi": 0.285},
}


def main() -> None:
    """Print the runs and the variants."""
    names = sys.argv[1:] or list(COLLECTIONS)
    print(f"{'':46}{''.join(f'{name:>12}' for name in names)}")
    with tempfile.TemporaryDirectory() as folder:
        libraries = [_library(name, Path(folder)) for name in names]
        for by, asked in ASKED.items():
            found = [
                _program(library, name, by) for library, name in zip(libraries, names, strict=True)
            ]
            _line(f"lpisearch query --by {by}", found)
            _line("  asked", [asked.get(name, float("nan")) for name in names])
        _line(
            "--by lexical, no index (FTS5)",
            [_fts5(*each) for each in zip(libraries, names, strict=True)],
        )
        collections = [
            Collection.of(library, name) for library, name in zip(libraries, names, strict=True)
        ]
    for label, rule in VARIANTS.items():
        _line(label, [collection.precision(rule) for collection in collections])


@dataclass(eq=False)
class Collection:
    """An index with the questions to it, and both legs' scores for each question."""

    engine: Engine
    questions: list[Question]
    relevant: list[set[int]]
    bm25: Mapping[int, Floats]
    cosines: Mapping[int, Floats]

    @classmethod
    def of(cls, library: Path, name: str) -> Collection:
        """Open the index of a library and put all questions to it."""
        engine = Engine(open_index(library))
        for array, values in engine.index.arrays.items():
            engine.index.arrays[array] = np.array(values)
        engine = Engine(engine.index)
        places = {entry.id: at for at, entry in enumerate(list_documents(library)[0])}
        judged = _judged(name)
        texts = dict(read_queries(DATA / name / "queries.jsonl.gz"))
        settings = TokeniserSettings.from_dict(engine.index.manifest.tokeniser)
        tokeniser = Tokeniser(settings)
        words = IndexWords(engine, tokeniser)
        asked = [expand(parse_plain(texts[query], tokeniser), words) for query in judged]
        questions = [asked_of(engine, each) for each in asked]
        relevant = [{places[each] for each in told if each in places} for told in judged.values()]
        bm25 = [Bm25(engine.postings).scores(question) for question in questions]
        cosines = [engine.vectors @ question.vector for question in questions]
        return cls(engine, questions, relevant, dict(enumerate(bm25)), dict(enumerate(cosines)))

    def precision(self, rule: Rule) -> float:
        """Return the mean average precision of a rule that scores all documents."""
        run = {str(at): [(str(n), float(score)) for n, score in enumerate(rule(self, at))]
               for at in range(len(self.relevant))}  # fmt: skip
        judged = {str(at): {str(n) for n in told} for at, told in enumerate(self.relevant)}
        return mean_precision(run, judged)

    def share(self, at: int) -> float:
        """Return how much of the BM25 that it could reach the best document has."""
        most = Bm25(self.engine.postings).most(self.questions[at])
        return float(self.bm25[at].max()) / (most or 1.0)


def mean_precision(run: Mapping[str, Any], relevant: Mapping[str, set[str]]) -> float:
    """Return the mean average precision over the queries of a run."""
    judged = {query: dict.fromkeys(told, 1) for query, told in relevant.items()}
    return fmean(score_run(run, judged, parse_measures(["AP"]))["AP"].values())


def fixed(weight: float) -> Rule:
    """Add the standardised legs, the subspace with a fixed weight."""
    return lambda each, at: np.asarray(_z(each.bm25[at]) + weight * _z(each.cosines[at]))


def by_share(trust: float, power: float = 1.0) -> Rule:
    """Let the subspace count the more, the less the best document has of the words."""

    def rule(each: Collection, at: int) -> Floats:
        weight = min(fusion.MOST_WEIGHT, trust * each.share(at) ** -power)
        return np.asarray(_z(each.bm25[at]) + weight * _z(each.cosines[at]))

    return rule


def pulled(rule: Rule, count: int, pull: float, steepness: float) -> Rule:
    """Move the question towards the documents that it finds first, and ask again."""

    def moved(each: Collection, at: int) -> Floats:
        scores = rule(each, at)
        first = np.argsort(-scores, kind="stable")[:count]
        weights = np.exp(steepness * (scores[first] - scores[first].max()))
        middle = weights / weights.sum() @ each.engine.vectors[first]
        place = scaled_rows(
            (each.questions[at].vector + pull * middle)[np.newaxis], np.ones(1, np.float32)
        )[0]
        return rule(replace(each, cosines={at: each.engine.vectors @ place}), at)

    return moved


def saturation(k1: float, b: float) -> Rule:
    """Only the words, with another k1 and b."""
    return lambda each, at: Bm25(each.engine.postings, k1, b).scores(each.questions[at])


def reciprocal_ranks(each: Collection, at: int) -> Floats:
    """Fuse ranks instead of scores: the sum of 1 / (60 + rank)."""
    total: Floats = np.zeros(len(each.bm25[at]), np.float32)
    for scores in (each.bm25[at], each.cosines[at]):
        ranks = np.empty(len(scores), np.float32)
        ranks[np.argsort(-scores, kind="stable")] = np.arange(len(scores))
        total += 1 / (61 + ranks)
    return total


def largest_is_one(each: Collection, at: int) -> Floats:
    """Divide each leg by its largest score instead of standardising it."""
    words, places = each.bm25[at], each.cosines[at]
    return np.asarray(words / (words.max() or 1) + 1.5 * places / places.max())


def roots(each: Collection, at: int) -> Floats:
    """Take the square root of BM25 first."""
    return _z(np.sqrt(each.bm25[at])) + 1.5 * _z(each.cosines[at])


def first_dimensions(*counts: int) -> Rule:
    """Average the cosines in the first so many dimensions, fused at 1.5."""

    def rule(each: Collection, at: int) -> Floats:
        total: Floats = np.zeros(len(each.bm25[at]), np.float32)
        for count in counts:
            rows = scaled_rows(each.engine.vectors[:, :count], np.ones(1, np.float32))
            place = scaled_rows(
                each.questions[at].vector[np.newaxis, :count], np.ones(1, np.float32)
            )
            total += rows @ place[0]
        return _z(each.bm25[at]) + 1.5 * _z(total)

    return rule


def scaled_by(power: float, rule: Rule) -> Rule:
    """Scale dimensions by another power of their eigenvalue, after the build."""

    def other(each: Collection, at: int) -> Floats:
        eigenvalues = each.engine.index.eigenvalues
        assert eigenvalues is not None  # noqa: S101 (RLPI has a spectrum)
        factor = (eigenvalues ** (power - 1.5)).astype(np.float32)
        rows = scaled_rows(each.engine.vectors, factor)
        place = scaled_rows(each.questions[at].vector[np.newaxis], factor)[0]
        return rule(replace(each, cosines={at: rows @ place}), at)

    return other


def _z(scores: Floats) -> Floats:
    return fusion.standardised(scores)


def cosine(each: Collection, at: int) -> Floats:
    """Only the subspace."""
    return each.cosines[at]


USED = by_share(fusion.TRUST)
VARIANTS: dict[str, Rule] = {
    **{
        f"BM25, k1 {k1}, b {b}": saturation(k1, b)
        for k1, b in ((1.2, 0.75), (0.9, 0.4), (1.5, 0.75), (1.5, 0.6), (2, 0.75))
    },
    **{f"cosine, λ^{power}": scaled_by(power, cosine) for power in (0, 1, 1.5, 2, 3)},
    "reciprocal ranks": reciprocal_ranks,
    "divided by the largest, 1 : 1.5": largest_is_one,
    "√BM25, 1 : 1.5": roots,
    **{f"z, 1 : {weight}": fixed(weight) for weight in (0.5, 1, 1.5, 2, 3)},
    "z, 1 : 1.5, λ^2": scaled_by(2, fixed(1.5)),
    "z, 1 : 1.5, mean of 50, 100, 150 dimensions": first_dimensions(50, 100, 150),
    **{
        f"z, {trust:.2f} / share^{power}": by_share(trust, power)
        for trust, power in ((1.0, 0.5), (0.6, 1), (2 / 3, 1), (0.9, 1), (0.3, 2))
    },
    **{
        f"  and first {count} pull {pull}, steep {steep}": pulled(USED, count, pull, steep)
        for count, pull, steep in (
            (3, 0.3, 0),
            (3, 0.6, 0),
            (5, 0.6, 0),
            (10, 0.3, 0.5),
            (10, 0.6, 0.5),
            (10, 0.6, 1),
            (20, 0.6, 0.5),
        )
    },
    "  the same, fixed 1 : 1.5": pulled(
        fixed(1.5), feedback.FIRST, feedback.PULL, feedback.STEEPNESS
    ),
    "  the same, λ^2": scaled_by(
        2, pulled(USED, feedback.FIRST, feedback.PULL, feedback.STEEPNESS)
    ),
}


def _program(library: Path, name: str, by: str) -> float:
    judged = _judged(name)
    queries = [pair for pair in read_queries(DATA / name / "queries.jsonl.gz") if pair[0] in judged]
    options = SearchOptions(by=by, k=1_000_000)
    return mean_precision(dict(Library(library).batch(queries, options=options)), judged)


def _fts5(library: Path, name: str) -> float:
    """Ask without the index, as before the first `lpisearch index`."""
    bare = library.with_name(f"{name}-bare.db")
    run_ingest(bare, [str(DATA / name / "docs.jsonl.gz")], IngestOptions())
    return _program(bare, name, "lexical")


def _library(name: str, folder: Path) -> Path:
    library = folder / f"{name}.db"
    run_ingest(library, [str(DATA / name / "docs.jsonl.gz")], IngestOptions())
    build_index(library, IndexOptions())
    return library


def _judged(name: str) -> dict[str, set[str]]:
    """Return the relevant documents of each query that has any."""
    judged: dict[str, set[str]] = {}
    for line in (DATA / name / "qrels.tsv").read_text(encoding="utf-8").splitlines():
        query, _, document, grade = line.split()
        if int(grade) > 0:
            judged.setdefault(query, set()).add(document)
    return judged


def _line(label: str, values: list[float]) -> None:
    print(f"{label:46}{''.join(f'{value:12.4f}' for value in values)}", flush=True)


if __name__ == "__main__":
    main()
