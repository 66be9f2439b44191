"""Document map: documents as points in a plane.

Both projections take time linear in the number of documents. "plane" is the plane in the subspace
in which the centres of the topics are farthest apart: their two principal directions, where much
overlaps. "neighbours" keeps neighbours together: up to 1,500 documents are laid out by t-SNE of
their cosines, and every other one is placed between the three of them that it is nearest to.
"""

from __future__ import annotations

from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.errors import BadOption
from lpisearch.model.answers import NO_LABEL, NO_TOPIC, DocumentMap
from lpisearch.model.documents import Filter
from lpisearch.search.topics import Clusters, cluster_index, furniture, report_topics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.options import TopicOptions
    from lpisearch.search.session import Session
    from lpisearch.storage.store import ReadTransaction

    Floats = NDArray[np.floating[Any]]


RULES = {
    "neighbours": "Similar documents are kept together: t-SNE on the cosines of up to 1,500 "
    "documents, with every other document placed between its three nearest. "
    "Distances between far groups mean little.",
    "plane": "The plane in which the centres of the topics are farthest apart. This is a linear "
    "projection, so distances are as true as two dimensions allow.",
}
PROJECTIONS = tuple(RULES)
LANDMARKS = 1500
_PERPLEXITY = 30
_ITERATIONS = 500
_NEAREST = 3
_SHARPNESS = 24.0
_BLOCK = 4096
_FEWEST = 5  # to be laid out by their neighbours


def map_documents(
    session: Session,
    options: TopicOptions,
    projection: str = PROJECTIONS[0],
    previous: DocumentMap | None = None,
) -> DocumentMap:
    """Place all documents of an index in a plane, with their topics and labels.

    The positions of a previous map of the same vectors are reused.
    """
    if projection not in PROJECTIONS:
        raise BadOption("projection", f"unknown map layout “{projection}”", PROJECTIONS)
    index = session.index(options.index)
    clustering = cluster_index(index, options, furniture(session, index))
    report = report_topics(session, index, clustering, options)
    rows = index.document_rows.tolist()
    with session.store.reading() as snapshot:
        names = snapshot.documents.ids()
        titles = _titles(snapshot, rows)
        labels_of = snapshot.corpus.labels(Filter())
    stored = np.array([row in names for row in rows], np.bool_)
    shown = np.flatnonzero((clustering.assignments != NO_TOPIC) & stored)
    vectors = index.vectors
    topics = clustering.assignments[shown]
    fingerprint = _fingerprint(projection, options.seed, vectors[shown], topics)
    if previous is not None and previous.fingerprint == fingerprint:
        places = previous.places
    else:
        lay_out = _neighbours if projection == "neighbours" else _plane
        places = _centred(lay_out(vectors[shown], topics, options.seed))
    label_names, labels = _first_labels([labels_of.get(rows[at], []) for at in shown.tolist()])
    return DocumentMap(
        ids=tuple(names[rows[at]] for at in shown.tolist()),
        titles=tuple(titles.get(rows[at], "") for at in shown.tolist()),
        places=places,
        topics=topics.astype(np.int32),
        labels=labels,
        label_names=label_names,
        report=report,
        projection=projection,
        rule=RULES[projection],
        unplaced=_unplaced(clustering) - len(index.removed),
        fingerprint=fingerprint,
    )


def _fingerprint(projection: str, seed: int, vectors: Floats, topics: NDArray[np.integer]) -> str:
    digest = blake2b(f"{projection} {seed} {vectors.shape}".encode(), digest_size=16)
    digest.update(np.ascontiguousarray(vectors).tobytes())
    digest.update(topics.astype(np.int32).tobytes())
    return digest.hexdigest()


def _titles(snapshot: ReadTransaction, rows: list[int]) -> dict[int, str]:
    titles: dict[int, str] = {}
    for start in range(0, len(rows), _BLOCK):
        details = snapshot.documents.details(rows[start : start + _BLOCK], 0)
        titles |= {row: one.title for row, one in details.items()}
    return titles


def _unplaced(clustering: Clusters) -> int:
    return int(np.count_nonzero(clustering.assignments == NO_TOPIC))


def _plane(vectors: Floats, topics: NDArray[np.integer], _seed: int) -> Floats:
    """Project onto the two principal directions of the centres of the topics."""
    sums = np.zeros((int(topics.max(initial=0)) + 1, vectors.shape[1]))
    np.add.at(sums, topics, vectors)
    sizes = np.bincount(topics, minlength=len(sums))
    centres = sums / np.maximum(sizes, 1)[:, np.newaxis]
    apart = centres - centres.mean(axis=0)
    _, _, directions = np.linalg.svd(apart, full_matrices=False)
    axes = np.zeros((2, vectors.shape[1]))
    axes[: min(2, len(directions))] = directions[:2]
    largest = np.abs(axes).argmax(axis=1)
    axes *= np.where(axes[[0, 1], largest] < 0, -1.0, 1.0)[:, np.newaxis]  # a fixed sign
    return vectors @ axes.T.astype(np.float32)


def _neighbours(vectors: Floats, topics: NDArray[np.integer], seed: int) -> Floats:
    """Lay some documents out by t-SNE, and place the others between them."""
    if len(vectors) < _FEWEST:
        return _plane(vectors, topics, seed)
    chosen = np.arange(len(vectors))
    if len(vectors) > LANDMARKS:
        random = np.random.default_rng(seed)
        chosen = np.sort(random.choice(len(vectors), LANDMARKS, replace=False))
    landmarks = np.ascontiguousarray(vectors[chosen])
    laid = _tsne(landmarks, _plane(landmarks, topics[chosen], seed), seed)
    places = np.empty((len(vectors), 2), np.float32)
    for start in range(0, len(vectors), _BLOCK):
        cosines = vectors[start : start + _BLOCK] @ landmarks.T
        nearest = np.argpartition(-cosines, min(_NEAREST, cosines.shape[1] - 1), axis=1)
        nearest = nearest[:, :_NEAREST]
        own = np.take_along_axis(cosines, nearest, axis=1)
        shares = np.exp(_SHARPNESS * (own - own.max(axis=1, keepdims=True)))
        shares /= shares.sum(axis=1, keepdims=True)
        places[start : start + _BLOCK] = np.einsum("ij,ijk->ik", shares, laid[nearest])
    places[chosen] = laid
    return _lying(places)


def _lying(places: Floats) -> Floats:
    """Rotate a picture whose directions mean nothing so that it is wider than high."""
    apart = places - places.mean(axis=0)
    _, axes = np.linalg.eigh(apart.T.astype(np.float64) @ apart)
    axes = axes[:, ::-1]
    largest = np.abs(axes).argmax(axis=0)
    axes *= np.where(axes[largest, [0, 1]] < 0, -1.0, 1.0)  # a fixed sign
    return np.asarray(apart @ axes, np.float32)


def _tsne(vectors: Floats, beginning: Floats, seed: int) -> Floats:
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    spread = np.maximum(beginning.std(axis=0), 1e-12)  # both directions alike
    layout = TSNE(
        perplexity=min(_PERPLEXITY, (len(vectors) - 1) / 3),
        init=np.asarray(beginning / spread * 1e-4, np.float32),
        learning_rate="auto",
        max_iter=_ITERATIONS,
        random_state=seed,
        n_jobs=1,
    )
    # The squared distance of unit vectors is 2 - 2 cos. One thread: several would wait for each
    # other at every step, which on a busy machine takes longer than the work.
    with threadpool_limits(limits=1):
        return np.asarray(layout.fit_transform(vectors), np.float32)


def _centred(places: Floats) -> NDArray[np.float32]:
    """Move the middle to 0 and scale the farthest to 1."""
    if not len(places):
        return np.zeros((0, 2), np.float32)
    least, most = places.min(axis=0), places.max(axis=0)
    half = float((most - least).max()) / 2 or 1.0
    return np.asarray((places - (least + most) / 2) / half, np.float32)


def _first_labels(labels: list[list[str]]) -> tuple[tuple[str, ...], NDArray[np.int32]]:
    counts = Counter(own[0] for own in labels if own)
    names = tuple(sorted(counts, key=lambda name: (-counts[name], name)))
    numbers = {name: number for number, name in enumerate(names)}
    firsts = [numbers[own[0]] if own else NO_LABEL for own in labels]
    return names, np.array(firsts, np.int32)
