"""The steps of a build: count, invert, weight, fit, embed, train classifiers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from lpisearch.classifiers.limits import LIMITS
from lpisearch.compute.gathering import PickedRows, whole
from lpisearch.compute.row_blocks import InMemory, map_blocks
from lpisearch.compute.spread import works_elsewhere
from lpisearch.errors import NothingToIndex
from lpisearch.indexes.counting import count_tokens
from lpisearch.indexes.partitions import count_partitions
from lpisearch.indexes.projecting import Known, fit_projection, rows_of_pairs
from lpisearch.indexes.rebuild import rebuild_command
from lpisearch.indexes.workspace import Kept, MemoryWorkspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.compute.row_blocks import RowBlocks
    from lpisearch.compute.row_targets import RowTarget
    from lpisearch.indexes.counting import Counted
    from lpisearch.indexes.partitions import Partitions
    from lpisearch.indexes.projecting import Projected, Samples
    from lpisearch.indexes.stages import Stages
    from lpisearch.indexes.workspace import FileRoom, Room, Workspace
    from lpisearch.records import TokenShard
    from lpisearch.settings import IndexSpec
    from lpisearch.storage import Snapshot
    from lpisearch.terms.weighting import Weighting

# Where a method without a linear map has put the documents: it is not part of the index.
EMBEDDING = "fitted_places"
_UNPACKED = "unpacked_places"  # on the way to the packed ones of a large library


@dataclass(frozen=True, slots=True)
class Corpus:
    """The documents to learn from.

    Attributes
    ----------
    shards
        Keys, content hashes and tokens of all documents; read once.
    labels, splits
        Of each document that has any, by key.
    tokeniser
        The settings that made the tokens.
    snapshot
        To all else that the library has of them.
    pairs
        "must" or "cannot", and the keys of two documents.
    ids
        Of the documents in pairs, by key.
    partitions
        How other processes read the documents; None if they cannot.
    """

    shards: Iterable[TokenShard]
    labels: dict[int, list[str]]
    splits: dict[int, str]
    tokeniser: dict[str, Any]
    snapshot: Snapshot
    pairs: Sequence[tuple[str, int, int]] = ()
    ids: Mapping[int, str] = field(default_factory=dict)
    partitions: Partitions | None = None


@dataclass(frozen=True, slots=True)
class Steps:
    """The steps of one build, each kept by its workspace."""

    corpus: Corpus
    options: IndexSpec
    stages: Stages
    workspace: Workspace
    samples: Samples

    def step(self, name: str, work: Callable[[Room], Kept]) -> Kept:
        """Keep what a step gives, timed as a stage of the same name."""

        def timed(room: Room) -> Kept:
            with self.stages.stage(name):
                return work(room)

        return self.workspace.keep(name, timed)

    def keep(self, name: str, work: Callable[[Room], Kept]) -> Kept:
        """Keep what a step gives, which times its own stages."""
        return self.workspace.keep(name, work)

    def count(self, room: Room) -> Kept:
        """Count all tokens: in other processes where those work, and read the library too."""
        partitions = self.corpus.partitions
        if partitions is None or not works_elsewhere() or not hasattr(room, "folder"):
            return count_tokens(self.corpus.shards, room)
        return count_partitions(
            partitions, self.corpus.snapshot, cast("FileRoom", room), self.stages.on_step
        )

    def weighed(
        self, counted: Counted, stays: NDArray[np.bool_], weighting: Weighting
    ) -> RowBlocks:
        """Return weighted rows: worked out once in memory, or each time they are read."""
        rows = counted.weighed(stays, weighting)
        return InMemory(whole(rows)) if isinstance(self.workspace, MemoryWorkspace) else rows

    def learn(self, rows: RowBlocks, keys: NDArray[np.int64], room: Room) -> Kept:
        """Learn the map, or what places documents by a rule."""
        corpus, options = self.corpus, self.options
        numbers = keys.tolist()
        learns_labels = options.labels == "use"
        labels = [corpus.labels.get(key, []) for key in numbers] if learns_labels else None
        pairs = rows_of_pairs(corpus.pairs, numbers, corpus.ids)
        found = fit_projection(rows, Known(labels, pairs), options, self.stages, self.samples.map)
        for name, array in _map_arrays(found.projection).items():
            room.put(name, array)
        return Kept(facts=_map_facts(found))

    def place(self, rows: RowBlocks, learned: Kept, room: Room) -> Kept:
        """Write where the documents are: a method without a linear map knows it already."""
        from lpisearch.indexes import index
        from lpisearch.indexes.packing import pack_places

        scales = np.asarray(learned.arrays["scales"])
        shape = (rows.shape[0], len(scales))
        packs = shape[0] >= index.PACKED_FROM
        target = room.target(_UNPACKED if packs else "vectors", shape, np.float32)
        if EMBEDDING in learned.arrays:
            places = _scaled(learned.arrays[EMBEDDING], scales)
            target.write(0, places)
            said = iter([_Said.of(places)])
        else:
            loadings = learned.arrays["loadings"]  # from a file: whoever works maps it, too
            said = map_blocks(_Place(loadings, scales, target), rows)
        self._refuse_alike(list(said))
        if packs:
            pack_places(target, room)
            room.drop(_UNPACKED)
        return Kept()

    def classify(self, rows: RowBlocks, turned: Kept, keys: NDArray[np.int64], room: Room) -> Kept:
        """Learn the labels."""
        from lpisearch.classifiers.training import learn_classifier

        numbers = keys.tolist()
        labels = [self.corpus.labels.get(key, []) for key in numbers]
        splits = [self.corpus.splits.get(key, "") for key in numbers]
        X: Any = (
            rows.matrix
            if isinstance(rows, InMemory)
            else PickedRows(rows, np.asarray(turned.arrays["distinct_terms"]))
        )
        limits = replace(LIMITS, documents=self.samples.labels)
        learned = learn_classifier(
            X, labels, splits, self.options, self.stages.stage, limits=limits
        )
        for name, array in learned.arrays.items():
            room.put(name, array)
        return Kept(facts={"classifier": learned.facts})

    def _refuse_alike(self, said: Sequence[_Said]) -> None:
        """Refuse places that tell nothing apart."""
        if not any(each.any for each in said) or not all(each.finite for each in said):
            raise NothingToIndex(
                "The model's numbers are too small or too large to distinguish documents.",
                rebuild_command(replace(self.options, alpha=None)),
            )


class _Said(NamedTuple):
    """Whether any of some places is not zero, and all are numbers."""

    any: bool
    finite: bool

    @classmethod
    def of(cls, places: NDArray[np.float32]) -> _Said:
        return cls(bool(places.any()), bool(np.isfinite(places).all()))


@dataclass(frozen=True, eq=False, slots=True)
class _Place:
    """Writes the vectors of weighted rows."""

    loadings: NDArray[np.floating[Any]]
    scales: NDArray[np.floating[Any]]
    target: RowTarget

    def __call__(self, block: csr_array, start: int) -> _Said:
        places = _scaled(block @ self.loadings.astype(block.dtype, copy=False), self.scales)
        self.target.write(start, places)
        return _Said.of(places)


def _scaled(places: Any, scales: Any) -> NDArray[np.float32]:
    from lpisearch.indexes.index import scaled_rows

    return scaled_rows(places, scales)


def _map_arrays(projection: Any) -> dict[str, Any]:
    """Return what places a document: the loadings of a linear map, or what its rule takes."""
    from lpisearch.indexes.manifest import PLACEMENT
    from lpisearch.projections.embedding import Embedding

    spectrum = projection.eigenvalues_
    arrays = {"scales": projection.scales_}
    arrays |= {} if spectrum is None else {"eigenvalues": spectrum}
    if isinstance(projection, Embedding):
        placement = projection.placement_arrays()
        arrays[EMBEDDING] = projection.embedding_
        return arrays | {PLACEMENT + name: array for name, array in placement.items()}
    return arrays | {"loadings": projection.components_.T}


def _map_facts(found: Projected) -> dict[str, Any]:
    """Return what is to be said of a map."""
    projection = found.projection
    alpha = projection.alpha_
    return {
        "dims": projection.n_components_,
        "alpha": None if alpha is None else float(alpha),
        "components": projection.n_graph_components_,
        "isolated": projection.n_isolated_,
        "learned_from": found.learned_from,
        "graph_recall": found.recall,
        "notes": list(found.notes),
        "placement": projection.placement,
    }
