"""Which preprocessing of Reuters-21578 gives as many terms as spg-2008 prints (table 2).

Run `python -m benchmarks.reuters_vocabulary [draws]`, or with `clusters` after it for what the
nearest rule changes: AC and NMI with and without it, of the same draws. For the numbers of classes
of that table, terms are counted in random draws and read off at the paper's mean number of
documents, by a line of the logarithms: the paper's draws are not known and have other sizes. A rule
is judged by the mean absolute logarithm of the ratio to the paper's numbers, printed as a
percentage.
"""

from __future__ import annotations

import sys
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from benchmarks.papers.datasets import DATA, load, reuters_records
from benchmarks.papers.protocol import drawn
from benchmarks.papers.published import Published
from lpisearch.evaluation.clustering import (
    cluster_documents,
    clustering_accuracy,
    mutual_information,
)
from lpisearch.methods.eigenmaps import Eigenmaps
from lpisearch.methods.lsi import LSI
from lpisearch.methods.rlpi import RLPI
from lpisearch.numeric.rows import unit_rows
from lpisearch.text.languages import TokeniserSettings
from lpisearch.text.tokeniser import Tokeniser
from lpisearch.text.vocabulary import count_all_terms

if TYPE_CHECKING:
    from collections.abc import Callable

DRAWS = 50
CLASSES = tuple(range(2, 11))
SHORTEST = 3
PARTS = {"title and text": "{title}\n{text}", "title": "{title}"}
# Which words are kept, whether they are stemmed, and the least documents of the draw with a term.
WORDS: dict[str, Callable[[str], bool]] = {
    "all words": lambda _: True,
    "letters alone": str.isalpha,
    "letters alone, 3 or more": lambda word: word.isalpha() and len(word) >= SHORTEST,
}
LEAST = (1, 2, 3)
METHODS: dict[str, Any] = {
    "terms": None,
    "LSI": LSI,
    "RLPI": partial(RLPI, alpha=0.1, n_neighbors=7),
    "eigenmaps": partial(Eigenmaps, n_neighbors=15),
}


def main() -> None:
    """Print the terms at 2 and 10 classes and the error over all numbers, nearest first."""
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS
    if not DATA.is_dir():
        sys.exit(f"The public collections are not there: {DATA}")
    if "clusters" in sys.argv:
        with threadpool_limits(1):
            compare(draws)
        return
    published = Published.read("spg-2008-2").cells
    documents, terms = (
        np.array([published[str(c), f"Reuters {what}"].mean for c in CLASSES])
        for what in ("documents", "terms")
    )
    found = []
    for part in PARTS:
        for words in WORDS:
            for stemmed in (False, True):
                counts = vocabulary(part, words, stemmed=stemmed)
                for least in LEAST:
                    here = [at_size(counts, c, draws, least, size)
                            for c, size in zip(CLASSES, documents, strict=True)]  # fmt: skip
                    error = float(np.abs(np.log(np.array(here) / terms)).mean())
                    name = f"{part}; {words}{'; stems' if stemmed else ''}; in {least}+"
                    found.append((error, name, counts.shape[1], here[0], here[-1]))
    print(f"paper: 18,933 terms in 8,293 documents; {terms[0]:,.0f} and {terms[-1]:,.0f}")
    for error, name, every, two, ten in sorted(found):
        print(f"{100 * error:5.1f} %  {two:6,.0f} {ten:6,.0f}  {every:6,} in all  {name}")


def compare(draws: int) -> None:
    """Print what the nearest rule adds to AC and NMI of each method, in points."""
    every, labels = load("reuters").counts, np.array(load("reuters").single_labels)
    letters = vocabulary("title and text", "letters alone", stemmed=False)
    added: dict[str, list[list[float]]] = {}
    for number in CLASSES:
        for subset in drawn("reuters", number, draws):
            rows = np.flatnonzero(np.isin(labels, subset))
            some = letters[rows]
            common = np.bincount(some.indices, minlength=some.shape[1]) > 1
            before, after = every[rows], some[:, np.flatnonzero(common)]
            for name, method in METHODS.items():
                found = [agreement(name, method, X, labels[rows]) for X in (before, after)]
                added.setdefault(name, []).append(np.subtract(found[1], found[0]).tolist())
        for name, rows_of in added.items():
            mean, error = np.mean(rows_of, axis=0), np.std(rows_of, axis=0) / len(rows_of) ** 0.5
            print(f"2 to {number} classes, {len(rows_of)} draws, {name:9} AC {mean[0]:+.1f} ± "
                  f"{error[0]:.1f}, NMI {mean[1]:+.1f} ± {error[1]:.1f}", flush=True)  # fmt: skip


def agreement(name: str, method: Any, counts: sparse.csr_array, labels: Any) -> tuple[float, float]:
    """Cluster documents in as many dimensions as classes, RLPI and eigenmaps in one fewer."""
    numbers = counts.indices.astype(np.int32), counts.indptr.astype(np.int32)  # as k-means wants
    X = unit_rows(sparse.csr_array((counts.data.astype(np.float32), *numbers), counts.shape))
    classes = len(set(labels))
    if name == "terms":
        vectors: Any = X
    else:
        model = method(classes - (name != "LSI")).fit(X)
        vectors = model.embedding_ if name == "eigenmaps" else model.transform(X)
    own = cluster_documents(vectors, classes, starts=10).assignments.tolist()
    right = clustering_accuracy(labels.tolist(), own)
    return 100 * right, 100 * mutual_information(labels.tolist(), own)


@cache
def raw(part: str) -> tuple[tuple[str, ...], sparse.csr_array]:
    """Count every word, stop words left out, in the documents of the papers."""
    tokeniser = Tokeniser(TokeniserSettings(language="none", stop_words="english-1"))
    texts = [tokeniser.joined(PARTS[part].format(**record)) for record in reuters_records()]
    names, counts = count_all_terms([texts])
    return names, counts.matrix


def vocabulary(part: str, words: str, *, stemmed: bool) -> sparse.csr_array:
    """Return documents x terms, after words are left out and stems are summed."""
    names, counts = raw(part)
    kept = [column for column, name in enumerate(names) if WORDS[words](name)]
    some = [names[column] for column in kept]
    terms = Tokeniser().stems(some) if stemmed else some
    numbers = {term: number for number, term in enumerate(dict.fromkeys(terms))}
    columns = [numbers[term] for term in terms]
    sums = sparse.csr_array((np.ones(len(kept)), (np.arange(len(kept)), columns)))
    return sparse.csr_array(counts[:, kept] @ sums)


def at_size(
    counts: sparse.csr_array, n_classes: int, draws: int, least: int, documents: float
) -> float:
    """Return the terms of draws of so many classes, read off at a number of documents."""
    labels = np.array(load("reuters").single_labels)
    sizes, terms = [], []
    for subset in drawn("reuters", n_classes, draws):
        rows = np.flatnonzero(np.isin(labels, subset))
        frequencies = np.bincount(counts[rows].indices, minlength=counts.shape[1])
        sizes.append(len(rows))
        terms.append(np.count_nonzero(frequencies >= least))
    slope, intercept = np.polyfit(np.log(sizes), np.log(terms), 1)
    return float(np.exp(intercept + slope * np.log(documents)))


if __name__ == "__main__":
    main()
