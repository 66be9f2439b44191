"""The same texts in SQLite FTS5, bm25s, tantivy, TruncatedSVD and a bare scan."""

from __future__ import annotations

import json
import sqlite3
import tempfile
import time
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.decomposition import TruncatedSVD

from lpisearch.model.documents import Filter
from lpisearch.numeric.threads import one_blas_thread
from lpisearch.storage import open_store
from lpisearch.text.weighting import Weighting, normalise_rows
from tests.indexing import build_counts

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

    from numpy.typing import NDArray


class Taken(NamedTuple):
    """Seconds of the clock, and of the processor."""

    seconds: float
    cpu: float


def peers_of_ingest(corpus: Path, wanted: Collection[str]) -> Iterator[tuple[str, Taken | None]]:
    """Yield a name and the time that it took, or None where it is not installed."""
    for name, package, take_in in (
        ("SQLite FTS5, porter", "fts5", _fts5),
        ("tantivy", "tantivy", _tantivy),
        ("bm25s", "bm25s", _bm25s),
    ):
        if package not in wanted:
            continue
        if package != "fts5" and find_spec(package) is None:
            yield name, None
            continue
        with tempfile.TemporaryDirectory() as folder:
            yield name, _seconds(lambda: take_in(corpus, Path(folder)))  # noqa: B023 (called here)


def truncated_svd(library: Path, dims: int) -> Taken:
    """Return the time of scikit-learn's on the matrix of a library."""
    with open_store(library) as store, store.reading() as snapshot:
        _, counts = build_counts(shard.tokens for shard in snapshot.corpus.shards(Filter()))
    X = normalise_rows(Weighting.fit(counts.matrix).apply(counts.matrix))
    with one_blas_thread():  # more would wait for each other by spinning, and count as work
        return _seconds(lambda: TruncatedSVD(dims, random_state=0).fit_transform(X))


def scan_of_vectors(vectors: NDArray[np.float32]) -> NDArray[np.intp]:
    """Find the ten nearest of all vectors."""
    return np.asarray(np.argpartition(vectors @ np.ones(vectors.shape[1], np.float32), -10)[-10:])


def _fts5(corpus: Path, folder: Path) -> None:
    with closing(sqlite3.connect(folder / "bare.db")) as connection:
        connection.execute("CREATE VIRTUAL TABLE t USING fts5(title, text, tokenize='porter')")
        rows = ((each["title"], each["text"]) for each in _records(corpus))
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        connection.commit()


def _tantivy(corpus: Path, folder: Path) -> None:
    import tantivy

    schema = tantivy.SchemaBuilder()
    for field in ("title", "text"):
        schema.add_text_field(field, stored=True, tokenizer_name="en_stem")
    writer = tantivy.Index(schema.build(), path=str(folder)).writer(256_000_000, 1)
    for each in _records(corpus):
        writer.add_document(tantivy.Document(title=each["title"], text=each["text"]))
    writer.commit()
    writer.wait_merging_threads()


def _bm25s(corpus: Path, folder: Path) -> None:
    import bm25s

    texts = [f"{each['title']} {each['text']}" for each in _records(corpus)]
    ranker = bm25s.BM25()
    ranker.index(bm25s.tokenize(texts, show_progress=False), show_progress=False)
    ranker.save(str(folder))


def _records(corpus: Path) -> Iterator[dict[str, Any]]:
    with corpus.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _seconds(work: Callable[[], object]) -> Taken:
    begun, worked = time.perf_counter(), time.process_time()
    work()
    return Taken(time.perf_counter() - begun, time.process_time() - worked)
