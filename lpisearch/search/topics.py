"""`lpisearch topics`: clusters with their terms and documents."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.compute.agreement import normalised_information, purity
from lpisearch.errors import BadOption
from lpisearch.projections.catalogue import CATALOGUE
from lpisearch.records import Filter, LabelShare, Topic, TopicDocument, TopicReport
from lpisearch.search import clusters
from lpisearch.settings import TopicOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.indexes.session import Session
    from lpisearch.records import Details
    from lpisearch.search.clusters import Clusters
    from lpisearch.storage import Snapshot
    from lpisearch.terms.tokeniser import Tokeniser

_DEFAULTS = TopicOptions()
# How a stem is written is looked up in so many typical documents of its topic, in the beginning
# of each.
_READ_DOCUMENTS = 24
_READ_CHARACTERS = 3000


def find_topics(
    session: Session,
    options: TopicOptions = _DEFAULTS,
    on_stage: Callable[[str], None] = lambda _name: None,
) -> TopicReport:
    """Cluster the documents of a library in the subspace of its index.

    `on_stage` is called with the name of each stage as it begins.

    Raises
    ------
    BadOption, IndexNotFound, IndexDamaged, SubspaceError, LibraryError
    """
    index = session.index(options.index)
    on_stage("gathering documents")
    clustering = cluster_index(index, options)
    on_stage("counting words")
    return report_topics(session, index, clustering, options, on_stage)


def report_topics(
    session: Session,
    index: SubspaceIndex,
    clustering: Clusters,
    options: TopicOptions,
    on_stage: Callable[[str], None] = lambda _name: None,
) -> TopicReport:
    """Say what clusters of documents are about."""
    stems = _terms(index, clustering, options.terms)
    on_stage("reading documents and labels")
    with session.store.reading() as snapshot:
        typical = _typical(index, clustering, snapshot, max(_READ_DOCUMENTS, options.documents))
        labels = _Labels.of(snapshot.labels.by_key(Filter()), index, clustering)
    tokeniser = session.tokeniser_of(index)
    topics = [
        Topic(
            number=number + 1,
            size=int(size),
            terms=_readable(tokeniser, stems[number], typical[number]),
            documents=tuple(
                TopicDocument(each.id, each.title, cosine)
                for each, cosine in typical[number][: options.documents]
            ),
            labels=labels.shares(number),
        )
        for number, size in enumerate(clustering.sizes)
    ]
    purity, information = labels.agreement()
    return TopicReport(
        topics=tuple(topics),
        documents=len(clustering.assignments),
        unplaced=int(np.count_nonzero(clustering.assignments == clusters.NO_TOPIC)),
        chosen=options.number is None,
        purity=purity,
        nmi=information,
    )


def _check(options: TopicOptions) -> None:
    if options.number is not None and options.number < 1:
        raise BadOption("number", f"must be at least 1, not {options.number}")
    if options.terms < 0 or options.documents < 0:
        raise BadOption(("terms", "documents"), "must be 0 or more")


def cluster_index(index: SubspaceIndex, options: TopicOptions) -> Clusters:
    """Cluster the documents of an index, as many topics as were asked for or seem to be there.

    Raises
    ------
    BadOption
    """
    _check(options)
    vectors = index.places
    placed = clusters.count_placed(vectors)
    if options.number is not None and options.number > placed:
        raise BadOption(
            "number",
            f"{options.number} topics need at least as many documents with known "
            f"words; there are {placed:,}",
        )
    method = CATALOGUE[index.manifest.method]
    if index.eigenvalues is None or method.selects_terms:
        # No spectrum tells a number, and no dimension comes before another: all take part.
        number = options.number or clusters.usual_number(placed)
        return clusters.cluster(vectors, number, vectors.shape[1], options.seed)
    # Without a constant direction, or what is nearest to it, K clusters need K - 1 dimensions.
    constant = 1 if method.keeps_constant else 0
    spectrum = index.eigenvalues[constant:]
    number = options.number or clusters.choose_number(spectrum, placed)
    dims = number - 1 + constant
    # In a single dimension documents lie at two points only.
    return clusters.cluster(vectors, number, max(dims, 2), options.seed)


def _typical(
    index: SubspaceIndex, clustering: Clusters, snapshot: Snapshot, count: int
) -> list[list[tuple[Details, float]]]:
    """Read the documents nearest to each centre, those that are still there."""
    nearest = clusters.typical_documents(index.places, clustering, count)
    rows = index.document_rows
    keyed = [[(int(rows[place]), cosine) for place, cosine in own] for own in nearest]
    wanted = [row for own in keyed for row, _ in own]
    details = snapshot.documents.details(wanted, _READ_CHARACTERS)
    return [[(details[row], cosine) for row, cosine in own if row in details] for own in keyed]


def _terms(index: SubspaceIndex, clustering: Clusters, number: int) -> list[list[str]]:
    """Return the stems that stand out in each topic."""
    names = index.vocabulary.terms
    counts = clusters.document_counts(index.postings, clustering, len(names))
    best = clusters.characteristic_terms(counts, clustering, number, index.term_factors)
    return [[names[column] for column in own] for own in best]


def _readable(
    tokeniser: Tokeniser, stems: list[str], documents: list[tuple[Details, float]]
) -> tuple[str, ...]:
    """Write each stem as the typical documents mostly write it; one not in them stays a stem."""
    seen = {stem: Counter[str]() for stem in stems}
    for document, _ in documents:
        text = f"{document.title}\n{document.text}"
        for start, end, token in tokeniser.spans(text):
            if token in seen:
                seen[token][text[start:end].casefold()] += 1
    return tuple(forms.most_common(1)[0][0] if forms else stem for stem, forms in seen.items())


@dataclass(frozen=True, slots=True)
class _Labels:
    """The labels of the documents in topics.

    Attributes
    ----------
    names
        Of all labels.
    counts, single
        Topics x labels: documents with a label, and documents with that label alone.
    labelled
        How many documents of each topic have any label.
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
        own = np.array([numbers[name] for each in labels.values() for name in each], np.int64)
        counted = np.repeat(topics, sizes)
        only = np.repeat(sizes == 1, sizes) & (counted != clusters.NO_TOPIC)
        filled = counted != clusters.NO_TOPIC
        labelled = np.bincount(topics[topics != clusters.NO_TOPIC], minlength=shape[0])
        counts, single = (_counted(counted[some], own[some], shape) for some in (filled, only))
        return cls(names, counts, single, labelled.astype(np.float64))

    def shares(self, topic: int) -> tuple[LabelShare, ...]:
        """Return what share of a topic's labelled documents has each label, largest first."""
        counts = self.counts[topic]
        best = [each for each in np.argsort(-counts, kind="stable") if counts[each]]
        return tuple(
            LabelShare(self.names[each], float(counts[each] / self.labelled[topic]))
            for each in best
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
    rows = index.document_rows
    at = np.minimum(np.searchsorted(rows, keys), max(len(rows) - 1, 0))
    topics = np.full(len(keys), clusters.NO_TOPIC, np.int64)
    indexed = rows[at] == keys
    topics[indexed] = clustering.assignments[at[indexed]]
    return topics, np.fromiter(map(len, labels.values()), np.int64, len(labels))


def _counted(
    topics: NDArray[np.int64], numbers: NDArray[np.int64], shape: tuple[int, int]
) -> NDArray[np.float64]:
    cells = np.bincount(topics * shape[1] + numbers, minlength=shape[0] * shape[1])
    return cells.reshape(shape).astype(np.float64)
