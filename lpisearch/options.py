"""Every option once: ingest, index, search, evaluate, serve."""

from __future__ import annotations

import ipaddress
import warnings
from collections.abc import Mapping  # noqa: TC003 (type hints are read when the program runs)
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypedDict

from lpisearch.model.documents import Filter

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


# A value that one parameter of a method takes, or its text.
Setting: TypeAlias = int | float | bool | str | None


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """All that an index was asked for: built again from the same documents, it is the same.

    Attributes
    ----------
    name
        Several indexes can lie beside each other; `default` is the one that queries use.
    method
        The projection.
    dims, alpha
        None leaves the choice to the method, by a stated rule.
    neighbours
        How many neighbours each document names in the graph.
    graph
        Who is a neighbour of whom, by the name of a graph; "auto": the nearest, and those of a
        common label where labels are used.
    radius
        Within which distance of unit rows, where the graph is a ball; None leaves it to the graph.
    edge_weights
        How much an edge of neighbours counts: "cosine", "binary" (all alike) or "heat".
    settings
        What the method alone has, by the name of its parameter: {"cardinality": 50}. Values may be
        texts, as they are typed.
    pairs
        What is known of documents by their ids: ("must", one, other) belong together, ("cannot",
        one, other) do not.
    labels
        "ignore", or "use": documents with a common label are neighbours too.
    weighting
        How counts become weights.
    train
        Which documents `classify` learns from: "auto" (those of the split "train" if any is
        labelled, else all), "all", "none", or the name of a split.
    where
        Which documents; all, if not given.
    seed
        Of every random choice.
    learn_predicted
        Whether predicted labels count as given where a document has no other.
    """

    name: str = "default"
    method: str = "rlpi"
    dims: int | None = None
    alpha: float | None = None
    neighbours: int = 15
    graph: str = "auto"
    radius: float | None = None
    edge_weights: str = "cosine"
    settings: Mapping[str, Setting] = field(default_factory=dict)
    pairs: tuple[tuple[str, str, str], ...] = ()
    labels: str = "ignore"
    weighting: str = "log-tfidf"
    train: str = "auto"
    where: Filter = field(default_factory=Filter)
    seed: int = 0
    learn_predicted: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return it as a JSON value, as it is stored with the index."""
        values = {each.name: getattr(self, each.name) for each in fields(IndexSpec)}
        return values | {"where": self.where.as_dict(), "settings": dict(self.settings)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read it from a JSON value of this program, of an earlier or of a later one.

        What is missing is as it is without being asked for; what is not known is passed over.
        """
        known = {each.name: values[each.name] for each in fields(cls) if each.name in values}
        pairs = tuple((kind, one, other) for kind, one, other in known.get("pairs") or ())
        where = Filter.from_dict(known.get("where") or {})
        return cls(**known | {"where": where, "pairs": pairs})


@dataclass(frozen=True, slots=True)
class IndexOptions(IndexSpec):
    """What `lpisearch index` was asked to do: what to build, and how to go about it.

    Attributes
    ----------
    wait_seconds
        How long to wait for another process that is writing.
    memory
        How many bytes of memory the build may take; None leaves that to the size of the library.
    index_store
        Where the indexes of a library in a database are kept, from now on: a folder that its users
        share, or "db"; "" leaves it as it is.
    export_pgvector
        Write the vectors of documents to a table too, for other programs that speak SQL.
    cluster
        The address of the scheduler of a Dask cluster that does the work: "tcp://HOST:8786".
    workers
        How many processes of this machine do the work; 0 leaves it to the threads of this one.
    """

    wait_seconds: float = 30.0
    memory: int | None = None
    index_store: str = ""
    export_pgvector: bool = False
    cluster: str = ""
    workers: int = 0

    @property
    def spec(self) -> IndexSpec:
        """What to build."""
        return IndexSpec(**{each.name: getattr(self, each.name) for each in fields(IndexSpec)})


class IndexFields(TypedDict, total=False):
    """What `Library.index` takes by name: the fields of `IndexOptions` but the method."""

    name: str
    dims: int | None
    alpha: float | None
    neighbours: int
    graph: str
    radius: float | None
    edge_weights: str
    settings: Mapping[str, Setting]
    pairs: tuple[tuple[str, str, str], ...]
    labels: str
    weighting: str
    train: str
    where: Filter
    seed: int
    learn_predicted: bool
    wait_seconds: float
    memory: int | None
    index_store: str
    export_pgvector: bool
    cluster: str
    workers: int


RELEVANCE = "relevance"
SORTS = (RELEVANCE, "date", "oldest", "title", "path")
"""The orders that hits may have."""
ENTRY_SORTS = ("added", "date", "oldest", "title", "path", "id")
"""The orders that a listing of documents may have."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How `lpisearch query` is to answer.

    Attributes
    ----------
    by
        "hybrid", "semantic" (cosine in the subspace alone) or "lexical" (BM25 alone).
    k, offset
        How many hits, and how many of the best to pass over first.
    where
        Which documents may be found: applied before ranking.
    min_score
        Leave out hits below it; None keeps all.
    collapse
        Show one of several documents that are nearly the same.
    index
        The name of the index.
    explain
        Say of each hit which words make it near.
    semantic_weight
        How much the subspace counts beside the words in hybrid; None leaves it to the index.
    sort
        "relevance"; or the best hits by "date" (newest first), "oldest", "title" or "path".
    facets
        Count by label, split, folder, format and date all that may be found.
    """

    by: str = "hybrid"
    k: int = 10
    offset: int = 0
    where: Filter = field(default_factory=Filter)
    min_score: float | None = None
    collapse: bool = False
    index: str = "default"
    explain: bool = False
    semantic_weight: float | None = None
    sort: str = RELEVANCE
    facets: bool = False


@dataclass(frozen=True, slots=True)
class ClassifyOptions:
    """How `lpisearch classify` is to judge.

    Attributes
    ----------
    classifier
        "auto", the best on what was held out while indexing, or "centroid", "knn", "map-svm",
        "svm", "svm+centroid" or "svm+map-svm".
    k
        How many labels to give, best first.
    index
        The name of the index.
    confidence
        Where the best label has a smaller share, the answer is “none of these”.
    """

    classifier: str = "auto"
    k: int = 5
    index: str = "default"
    confidence: float = 0.5


@dataclass(frozen=True, slots=True)
class TopicOptions:
    """What `lpisearch topics` is to find.

    Attributes
    ----------
    number
        Of topics; None reads it off the spectrum of the index.
    terms, documents
        How many of each to show for a topic.
    seed
        Of every random choice.
    index
        The name of the index.
    """

    number: int | None = None
    terms: int = 8
    documents: int = 3
    seed: int = 0
    index: str = "default"


@dataclass(frozen=True, slots=True)
class DimensionOptions:
    """Which dimensions `lpisearch topics --method` is to show.

    Attributes
    ----------
    method
        One whose dimensions have few words each.
    dims
        How many dimensions.
    terms, documents
        How many of each to show at each end of a dimension.
    seed
        Of every random choice, if the map is learned for this alone.
    index
        The name of an index that is used as it is, if it is of this method.
    """

    method: str
    dims: int = 10
    terms: int = 8
    documents: int = 3
    seed: int = 0
    index: str = "default"


MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How files become documents.

    Attributes
    ----------
    format
        "auto" or the name of a reader.
    labels
        "auto" (a field of the document, else the top folder), "folder", "none", the name of
        a field or column, or the path of a CSV file with labels.
    split
        "auto" (a field, else a folder called train, test, …), "folder", "none" or a field name.
    id_field, title_field, text_field
        Names of fields or columns; "" looks for the usual names.
    label_separators
        Characters that part the labels in a cell of a CSV, TSV or label file.
    ocr
        Languages of tesseract, such as "eng" or "deu+eng", in which pages of PDF files that are
        images are read; "" does not read them.
    max_document_bytes
        A document larger than this is refused, so that one file cannot take all memory. Of a
        page or a mail, of which the text is a part, twice as much is read.
    """

    format: str = "auto"
    labels: str = "auto"
    split: str = "auto"
    id_field: str = ""
    title_field: str = ""
    text_field: str = ""
    label_separators: str = ";|"
    ocr: str = ""
    max_document_bytes: int = 32 * MEBIBYTE

    @property
    def max_page_bytes(self) -> int:
        """How much is read of a file or a message that has markup or attachments."""
        return 2 * self.max_document_bytes


@dataclass(frozen=True, slots=True)
class FindOptions:
    """Which files of a folder are meant.

    Attributes
    ----------
    exclude
        Globs of files and folders to leave out, as a line of a `.gitignore` would.
    no_ignore
        Take in what `.gitignore` and `.lpisearchignore` leave out, and packages and caches.
    hidden
        Take in files and folders whose names begin with a dot.
    follow_links
        Follow symbolic links that are found in folders; one that is named is followed always.
    """

    exclude: tuple[str, ...] = ()
    no_ignore: bool = False
    hidden: bool = False
    follow_links: bool = False


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """What `lpisearch ingest` was asked to do.

    Attributes
    ----------
    read
        How files become documents.
    find
        Which files of a folder are meant.
    prune
        Remove documents whose source file, or whose record within it, is gone.
    language
        Of the stemmer and the stop words; "auto" keeps what the library has, and finds it in the
        documents of the first ingest.
    wait_seconds
        How long to wait for another process that is writing.
    batch_documents
        How many documents one transaction may hold: what a kill can cost.
    ids
        "file": ids that files state are kept apart by file; "global": one id is one document.
    retry
        Read files again that failed before and have not changed.
    """

    read: ReadOptions = field(default_factory=ReadOptions)
    find: FindOptions = field(default_factory=FindOptions)
    prune: bool = False
    language: str = "auto"
    wait_seconds: float = 30.0
    batch_documents: int = 1000
    ids: str = "file"
    retry: bool = False


@dataclass(frozen=True, slots=True)
class EvaluateOptions:
    """What every evaluation is told.

    Attributes
    ----------
    methods
        Representations to compare; () leaves the choice to the evaluation.
    dims, alpha
        None leaves the choice to the method, or to what the evaluation is used to.
    neighbours
        How many neighbours each document names in a graph.
    graph, radius, edge_weights
        Who is a neighbour of whom, and how much an edge counts, as `IndexSpec` has them.
    settings
        What some of the methods alone have, by the names of their parameters.
    weighting
        How counts become weights; "" is log-tfidf for a library, tf for a matrix.
    scale
        Where documents are compared by cosine, a dimension counts by its eigenvalue to this power.
    largest
        Keep only so many of the largest classes.
    matrix
        A file with counts and labels, in place of the library.
    index
        The name of the index that is compared with the baselines.
    seed
        Of every random choice.
    """

    methods: tuple[str, ...] = ()
    dims: int | None = None
    alpha: float | None = None
    neighbours: int = 15
    graph: str = "auto"
    radius: float | None = None
    edge_weights: str = "cosine"
    settings: Mapping[str, Setting] = field(default_factory=dict)
    weighting: str = ""
    scale: float = 1.5
    largest: int | None = None
    matrix: Path | None = None
    index: str = "default"
    seed: int = 0

    @property
    def of_methods(self) -> tuple[object, ...]:
        """What a sweep may vary: it tells the parts of one run apart."""
        graph = (self.graph, self.radius, self.edge_weights)
        return (self.dims, self.alpha, self.neighbours, *graph, *self.settings.items())


@dataclass(frozen=True, slots=True)
class SimilarityOptions:
    """Which documents are compared pair by pair.

    Attributes
    ----------
    words
        A subset of the documents for each of these words (column numbers for a matrix).
    most_frequent
        Take so many of the most frequent words instead.
    subset_size
        How many documents such a subset may have.
    """

    words: tuple[str, ...] = ()
    most_frequent: int | None = None
    subset_size: tuple[int, int] = (250, 800)


@dataclass(frozen=True, slots=True)
class CategoriesOptions:
    """How `evaluate classify` parts the documents into those to learn from and those to judge.

    Attributes
    ----------
    split
        "field" takes the split that the documents state; "auto" does where they state one.
    train
        Shares to learn from, drawn at random in each class.
    repeats
        How many draws of each share.
    classifiers
        Which of centroid, knn and svm.
    single
        Leave out documents with several labels, as the papers do.
    """

    split: str = "auto"
    train: tuple[float, ...] = ()
    repeats: int = 10
    classifiers: tuple[str, ...] = ("centroid", "knn", "svm")
    single: bool = False


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Which classes `evaluate cluster` tries to find.

    Attributes
    ----------
    classes
        Numbers of classes drawn at random; 0 stands for all of them at once.
    draws
        How many draws of each number.
    """

    classes: tuple[int, ...] = (0,)
    draws: int = 50


@dataclass(frozen=True, slots=True)
class RetrievalOptions:
    """What `evaluate retrieval` asks, and how it judges.

    Attributes
    ----------
    queries, qrels
        Files of queries and of judgements.
    by
        Ways to rank; () is all that the library allows.
    measures
        Such as AP, nDCG@10, P@10, R@100, RR.
    depth
        How many documents a query may find.
    semantic_weight
        How much the subspace counts beside the words in hybrid; None leaves it to the index.
    """

    queries: Path
    qrels: Path
    by: tuple[str, ...] = ()
    measures: tuple[str, ...] = ("AP", "nDCG@10", "P@10", "R@100", "RR")
    depth: int = 10_000
    semantic_weight: float | None = None


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """What `evaluate sweep` varies.

    Attributes
    ----------
    measure
        "similarity", "classify", "cluster" or "retrieval".
    over
        "dims", "neighbours", "alpha" or "train", or a parameter that only some methods have.
    values
        What it takes in turn.
    """

    measure: str
    over: str
    values: tuple[Setting, ...]


Wanted = CategoriesOptions | ClusterOptions | RetrievalOptions | SimilarityOptions
"""What one evaluation measures."""


DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8077


@dataclass(frozen=True, slots=True)
class ServeLimits:
    """How much one request, and one address, may ask for.

    Attributes
    ----------
    body_bytes
        Of a request that is no upload.
    upload_bytes, upload_files
        Of files that are brought in by one request.
    query_characters
        Of a question.
    text_characters
        Of a text to be classified.
    hits
        The most hits or lines of one page.
    depth
        How far down a list of hits or documents the last page may reach.
    requests_per_second, burst
        Of one address that is not this machine; 0 for no limit.
    at_once
        Requests that are answered at the same time; others are told to come again.
    jobs_kept
        How many jobs that have ended are still told of.
    """

    body_bytes: int = MEBIBYTE
    upload_bytes: int = 256 * MEBIBYTE
    upload_files: int = 1000
    query_characters: int = 10_000
    text_characters: int = 1_000_000
    hits: int = 200
    depth: int = 10_000
    requests_per_second: float = 50.0
    burst: int = 200
    at_once: int = 400
    jobs_kept: int = 100


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What `lpisearch serve` was asked to do.

    Attributes
    ----------
    host, port
        Where it listens; port 0 is any that is free.
    read_only
        Whether nothing of the library may be changed.
    roots
        Folders below which files may be brought in by name and given out.
    token
        What a request must show; "" where none is needed, on this machine alone.
    names
        Names by which it may be called, beside those of this machine and plain addresses.
    uploads
        Where files that are brought in from a browser are kept; None for a folder beside the
        library.
    limits
        How much may be asked for.
    """

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    read_only: bool = False
    roots: tuple[Path, ...] = ()
    token: str = field(default="", repr=False)
    names: tuple[str, ...] = ()
    uploads: Path | None = None
    limits: ServeLimits = field(default_factory=ServeLimits)

    @property
    def is_local(self) -> bool:
        """Whether it can be reached from this machine alone."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Tell whether an address or a name means this machine and is reached from nowhere else."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def search_options(
    options: SearchOptions | None,
    k: int | None,
    by: str | None,
    label: str | Sequence[str],
    index: str | None,
    *,
    sort: str | None = None,
    explain: bool = False,
) -> SearchOptions:
    """Return the options of a search; what is given by name goes before them."""
    chosen = options or SearchOptions()
    labels = each_label(label)
    return replace(
        chosen,
        k=chosen.k if k is None else k,
        by=by or chosen.by,
        where=replace(chosen.where, labels=labels) if labels else chosen.where,
        index=index or chosen.index,
        explain=explain or chosen.explain,
        sort=sort or chosen.sort,
    )


def ingest_options(options: IngestOptions | None, labels: str | None) -> IngestOptions:
    """Return the options of an ingest; where labels come from, if given, goes before them."""
    chosen = options or IngestOptions()
    return chosen if labels is None else replace(chosen, read=replace(chosen.read, labels=labels))


def index_options(
    options: IndexOptions | None, method: str | None, given: IndexFields
) -> IndexOptions:
    """Return the options of an index; what is given by name goes before them."""
    chosen = replace(options or IndexOptions(), **given)
    return replace(chosen, method=method or chosen.method)


def each_label(labels: str | Sequence[str]) -> tuple[str, ...]:
    """Return labels, given as one or several."""
    return (labels,) if isinstance(labels, str) else tuple(labels)


def warned(said: str) -> None:
    """Warn of what is to be known of answers, where nobody else is told."""
    warnings.warn(said, UserWarning, stacklevel=2)
