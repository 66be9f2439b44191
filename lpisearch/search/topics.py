"""Topics: clusters of documents in the subspace, and the terms that characterise them.

Documents are ROWS at unit length, leading dimensions first. The centres of very many documents are
those of a sample; then all documents are assigned in blocks.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.errors import BadOption
from lpisearch.methods.catalogue import CATALOGUE
from lpisearch.model.answers import LabelShare, Topic, TopicDocument, TopicReport
from lpisearch.model.documents import Details, Filter
from lpisearch.numeric.kmeans import (
    nearest_centres,
    normalised_information,
    purity,
    spherical_centres,
)
from lpisearch.numeric.rows import PackedRows, divided_by_lengths, numbers_of
from lpisearch.numeric.threads import largest, map_chunks
from lpisearch.options import TopicOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from lpisearch.index.postings import Postings
    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.search.session import Session
    from lpisearch.storage.store import ReadTransaction
    from lpisearch.text.tokeniser import Tokeniser

    Floats = NDArray[np.floating[Any]]
    Whole = NDArray[np.integer[Any]]


_DEFAULTS = TopicOptions()
_NOTHING = np.empty(0, np.int64)
_FEWEST = 2  # documents that have topics
# The form of a stem is looked up in the beginnings of typical documents of its topic.
_READ_DOCUMENTS = 24
_READ_CHARACTERS = 3000


def find_topics(
    session: Session,
    options: TopicOptions = _DEFAULTS,
    on_stage: Callable[[str], None] = lambda _name: None,
) -> TopicReport:
    """Cluster the documents of a library in the subspace of its index."""
    index = session.index(options.index)
    on_stage("gathering documents")
    clustering = cluster_index(index, options, furniture(session, index))
    on_stage("counting words")
    return report_topics(session, index, clustering, options, on_stage)


def report_topics(
    session: Session,
    index: SubspaceIndex,
    clustering: Clusters,
    options: TopicOptions,
    on_stage: Callable[[str], None] = lambda _name: None,
) -> TopicReport:
    """Describe clusters of documents by terms, typical documents and labels."""
    stems = _terms(index, clustering, options.terms)
    on_stage("reading documents and labels")
    with session.store.reading() as snapshot:
        typical = _typical(index, clustering, snapshot, max(_READ_DOCUMENTS, options.documents))
        labels = _Labels.of(snapshot.corpus.labels(Filter()), index, clustering)
    tokeniser = session.tokeniser_of(index)
    topics = [
        Topic(
            number=number + 1,
            size=int(size),
            terms=_readable(tokeniser, stems[number], typical[number]),
            documents=tuple(
                TopicDocument(details.id, details.title, cosine)
                for details, cosine in typical[number][: options.documents]
            ),
            labels=labels.shares(number),
        )
        for number, size in enumerate(clustering.sizes)
    ]
    purity, information = labels.agreement()
    return TopicReport(
        topics=tuple(topics),
        documents=index.n_documents,
        unplaced=index.n_documents - int(np.count_nonzero(_placed(index))),
        chosen=options.number is None,
        purity=purity,
        nmi=information,
    )


def _check(options: TopicOptions) -> None:
    if options.number is not None and options.number < 1:
        raise BadOption("number", f"must be at least 1, not {options.number}")
    if options.terms < 0 or options.documents < 0:
        raise BadOption(("terms", "documents"), "must be 0 or more")


def furniture(session: Session, index: SubspaceIndex) -> Whole:
    """Return the positions of licences, change logs and generated files, which have no topic."""
    with session.store.reading() as snapshot:
        keys = np.concatenate([*snapshot.documents.kinds().values(), np.empty(0, np.int64)])
    return np.flatnonzero(np.isin(index.document_rows, keys))


def cluster_index(
    index: SubspaceIndex, options: TopicOptions, without: Whole = _NOTHING
) -> Clusters:
    """Cluster the documents of an index into a number of topics, or as many as there seem to be.

    Documents at some positions are left out, unless fewer than two others would remain.
    """
    _check(options)
    vectors = index.packed_vectors
    filled = _placed(index)
    rest = filled.copy()
    rest[without] = False
    included = rest if np.count_nonzero(rest) >= _FEWEST else filled
    placed = int(np.count_nonzero(included))
    if options.number is not None and options.number > placed:
        raise BadOption(
            "number",
            f"{options.number} topics need at least as many documents with known "
            f"words; there are {placed:,}",
        )
    method = CATALOGUE[index.manifest.method]
    if index.eigenvalues is None or method.selects_terms:
        # There is no spectrum to read a number off, and no leading dimension: all are used.
        number = options.number or usual_number(placed)
        return cluster(vectors, number, vectors.shape[1], options.seed, included)
    # Without the (nearly) constant direction, K clusters need K - 1 dimensions.
    constant = 1 if method.keeps_constant else 0
    spectrum = index.eigenvalues[constant:]
    number = options.number or choose_number(spectrum, placed)
    dims = number - 1 + constant
    # In a single dimension documents lie at two points only.
    return cluster(vectors, number, max(dims, 2), options.seed, included)


def _placed(index: SubspaceIndex) -> NDArray[np.bool_]:
    """Mark the documents that have a direction."""
    filled = index.packed_vectors.filled()
    filled[index.removed] = False
    return filled


def _typical(
    index: SubspaceIndex, clustering: Clusters, snapshot: ReadTransaction, count: int
) -> list[list[tuple[Details, float]]]:
    """Read the documents nearest to each centre, unless they are gone."""
    nearest = typical_documents(index.packed_vectors, clustering, count)
    rows = index.document_rows
    keyed = [[(int(rows[place]), cosine) for place, cosine in own] for own in nearest]
    every = [row for own in keyed for row, _ in own]
    details = snapshot.documents.details(every, _READ_CHARACTERS)
    return [[(details[row], cosine) for row, cosine in own if row in details] for own in keyed]


def _terms(index: SubspaceIndex, clustering: Clusters, number: int) -> list[list[str]]:
    """Return the stems that stand out in each topic."""
    names = index.vocabulary.terms
    counts = document_counts(index.postings, clustering, len(names))
    best = characteristic_terms(counts, clustering, number, index.term_factors)
    return [[names[column] for column in own] for own in best]


def _readable(
    tokeniser: Tokeniser, stems: list[str], documents: list[tuple[Details, float]]
) -> tuple[str, ...]:
    """Return the most frequent form of each stem in typical documents, or the stem."""
    seen = {stem: Counter[str]() for stem in stems}
    for document, _ in documents:
        text = f"{document.title}\n{document.text}"
        for start, end, token in tokeniser.of_language(document.language).spans(text):
            if token in seen:
                seen[token][text[start:end].casefold()] += 1
    return tuple(forms.most_common(1)[0][0] if forms else stem for stem, forms in seen.items())


@dataclass(frozen=True, slots=True)
class _Labels:
    """The labels of the documents in topics.

    `counts` and `single` are topics x labels: documents with a label, and with that label alone;
    `labelled` is the number of documents of each topic with any label.
    """

    names: list[str]
    counts: NDArray[np.float64]
    single: NDArray[np.float64]
    labelled: NDArray[np.float64]

    @classmethod
    def of(
        cls, labels: Mapping[int, list[str]], index: SubspaceIndex, clustering: Clusters
    ) -> _Labels:
        names = sorted({name for own in labels.values() for name in own})
        shape = (len(clustering.sizes), len(names))
        topics, sizes = _topics_of(labels, index, clustering)
        numbers = {name: number for number, name in enumerate(names)}
        own = np.array([numbers[name] for some in labels.values() for name in some], np.int64)
        counted = np.repeat(topics, sizes)
        only = np.repeat(sizes == 1, sizes) & (counted != NO_TOPIC)
        filled = counted != NO_TOPIC
        labelled = np.bincount(topics[topics != NO_TOPIC], minlength=shape[0])
        counts, single = (_counted(counted[some], own[some], shape) for some in (filled, only))
        return cls(names, counts, single, labelled.astype(np.float64))

    def shares(self, topic: int) -> tuple[LabelShare, ...]:
        """Return the share of a topic's labelled documents that has each label, largest first."""
        counts = self.counts[topic]
        best = [label for label in np.argsort(-counts, kind="stable") if counts[label]]
        return tuple(
            LabelShare(self.names[label], float(counts[label] / self.labelled[topic]))
            for label in best
        )

    def agreement(self) -> tuple[float | None, float | None]:
        """Compare topics and labels over the documents with just one label."""
        if not self.single.any():
            return None, None
        return purity(self.single), normalised_information(self.single)


def _topics_of(
    labels: Mapping[int, list[str]], index: SubspaceIndex, clustering: Clusters
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the topic of each document with labels, and how many labels it has."""
    keys = np.fromiter(labels, np.int64, len(labels))
    numbers = numbers_of(keys, index.document_rows)
    topics = np.where(numbers < 0, NO_TOPIC, clustering.assignments[numbers])
    return topics, np.fromiter(map(len, labels.values()), np.int64, len(labels))


def _counted(
    topics: NDArray[np.int64], numbers: NDArray[np.int64], shape: tuple[int, int]
) -> NDArray[np.float64]:
    cells = np.bincount(topics * shape[1] + numbers, minlength=shape[0] * shape[1])
    return cells.reshape(shape).astype(np.float64)


NO_TOPIC = -1
LARGEST_ROOT = 50
SAMPLE = 100_000
_BLOCK = 8192
_ENTRIES = 4_000_000


@dataclass(frozen=True, slots=True)
class Clusters:
    """Clusters, the largest first: the number of each document's (or `NO_TOPIC`), and sizes."""

    assignments: Whole
    sizes: Whole


def choose_number(eigenvalues: Floats, n_documents: int) -> int:
    """Choose how many topics there are from the spectrum of the index.

    The eigenvalues are without the one of the constant direction, so K - 1 of them lie before
    the gap that separates K clusters. It is the widest gap among the numbers from half to twice
    the cube root of the number of documents, itself taken as 50 at most: the gaps before that
    only part the library in halves and quarters.
    """
    root = min(float(np.cbrt(max(n_documents, 1))), LARGEST_ROOT)
    most = min(round(2 * root), len(eigenvalues), n_documents)
    least = max(2, min(round(root / 2), most))
    if most <= least:
        return min(least, max(n_documents, 1))
    gaps = eigenvalues[least - 2 : most - 1] - eigenvalues[least - 1 : most]
    return least + int(np.argmax(gaps))


def usual_number(n_documents: int) -> int:
    """Choose a number of topics without a spectrum.

    It is the cube root of the number of documents, 50 at most: the middle of the range of
    `choose_number`.
    """
    root = min(round(float(np.cbrt(max(n_documents, 1)))), LARGEST_ROOT)
    return max(min(max(root, 2), n_documents), 1)


def cluster(
    vectors: PackedRows,
    number: int,
    dims: int,
    seed: int,
    included: NDArray[np.bool_] | None = None,
) -> Clusters:
    """Cluster documents by the cosine in the leading dimensions: spherical k-means++.

    Lengths in the subspace are not used. They help if a few classes are far larger than the rest
    (tdt2: NMI .90 instead of .84), and harm more if documents differ in length (20 Newsgroups: .45
    instead of .57; sample corpus: .80 instead of .87). Dimensions beyond the number of clusters
    only add noise. There are fewer clusters if fewer documents differ. The best of ten starts wins.
    """
    placed = np.flatnonzero(vectors.filled() if included is None else included)
    leading = vectors.leading(dims)
    some = placed
    if len(placed) > SAMPLE:
        some = np.sort(np.random.default_rng(seed).choice(placed, SAMPLE, replace=False))
    centres = spherical_centres(divided_by_lengths(leading.at(some)), number, seed)
    nearest_centre = _assigned(leading, placed, centres)
    sizes = np.bincount(nearest_centre, minlength=len(centres))
    order = np.argsort(-sizes, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    assignments = np.full(len(vectors), NO_TOPIC, np.int64)
    assignments[placed] = rank[nearest_centre]
    return Clusters(assignments, sizes[order][sizes[order] > 0])


def typical_documents(
    vectors: PackedRows, clusters: Clusters, count: int
) -> list[list[tuple[int, float]]]:
    """Return for each cluster the documents nearest to its centre: (row, cosine), in order."""
    assigned, number = clusters.assignments, len(clusters.sizes)
    totals = np.zeros((number, vectors.shape[1]))
    for part, rows in vectors.blocks(_BLOCK):
        belongs = assigned[part, np.newaxis] == np.arange(number)
        totals += belongs.T.astype(np.float32) @ rows
    centres = divided_by_lengths(totals).astype(np.float32)
    cosines = np.empty(len(assigned), np.float32)
    for part, rows in vectors.blocks(_BLOCK):
        cosines[part] = np.einsum("ij,ij->i", rows, centres[assigned[part]])
    typical = []
    for cluster_number in range(number):
        members = np.flatnonzero(assigned == cluster_number)
        own = cosines[members]
        near = np.sort(_with_ties(own, count))
        best = near[np.argsort(-own[near], kind="stable")][:count]
        typical.append([(int(members[at]), float(min(own[at], 1))) for at in best])
    return typical


def document_counts(postings: Postings, clusters: Clusters, n_terms: int) -> Whole:
    """Return the number of documents of each cluster that have each term: terms x clusters.

    A few million postings are read at a time.
    """
    n_clusters = len(clusters.sizes)
    counts = np.zeros((n_terms, n_clusters), np.int32)
    columns = postings.lexicon_columns
    for starts, places, _ in postings.parts:
        for first, last in _stretches(starts):
            entries = clusters.assignments[places[starts[first] : starts[last]]]
            counted = entries >= 0
            # By the number in the chunk: the columns of its terms are anywhere.
            at = np.repeat(np.arange(last - first), np.diff(starts[first : last + 1]))[counted]
            cells = np.bincount(
                at * n_clusters + entries[counted], minlength=(last - first) * n_clusters
            ).reshape(-1, n_clusters)
            known = columns[first:last] >= 0
            counts[columns[first:last][known]] += cells[known].astype(np.int32)
    return counts


def characteristic_terms(
    counts: Whole, clusters: Clusters, number: int, factors: Floats | None = None
) -> list[list[int]]:
    """Return for each cluster the terms that stand out against the whole library, best first.

    A term in the share p of a cluster's documents and in the share q of all has the score
    p log(p / q): its part of the Kullback-Leibler divergence, times its factor. In a cluster of
    several documents a term counts only if at least two of them have it.
    """
    shares = counts / clusters.sizes
    overall = counts.sum(axis=1, keepdims=True) / clusters.sizes.sum()
    ratio = np.divide(shares, overall, out=np.ones_like(shares), where=shares > 0)
    scores = shares * np.log(ratio)
    if factors is not None:
        scores *= factors[:, np.newaxis]
    scores[counts < np.minimum(clusters.sizes, 2)] = 0
    best = np.argsort(-scores, axis=0, kind="stable")[:number]
    return [
        [int(term) for term in best[:, at] if scores[term, at] > 0]
        for at in range(len(clusters.sizes))
    ]


def _assigned(vectors: PackedRows, placed: Whole, centres: Floats) -> Whole:
    """Return the nearest centre of each document that has a direction."""
    nearest = np.empty(len(placed), np.int64)

    def assign(part: slice) -> None:
        for start in range(part.start, part.stop, _BLOCK):
            block = slice(start, min(start + _BLOCK, part.stop))
            nearest[block] = nearest_centres(divided_by_lengths(vectors.at(placed[block])), centres)

    map_chunks(len(placed), assign)
    return nearest


def _with_ties(values: NDArray[np.float32], count: int) -> Whole:
    """Return the positions of the largest values, with all that tie with the least of them."""
    if not count:
        return np.empty(0, np.int64)
    return np.flatnonzero(values >= values[largest(values, count)].min())


def _stretches(starts: Whole) -> Iterator[tuple[int, int]]:
    """Cut the terms into chunks of not many more than a few million postings."""
    first, n_terms = 0, len(starts) - 1
    while first < n_terms:
        last = int(np.searchsorted(starts, starts[first] + _ENTRIES, "right")) - 1
        last = min(max(last, first + 1), n_terms)
        yield first, last
        first = last
