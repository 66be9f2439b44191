"""All options of the program, each a field with its help and range.

The command line, the parameters of the HTTP API and the keys of the settings files derive from
these fields (`lpisearch.model.fields`): to add an option, add a field here, and the code that
obeys it. Each class lists its fields in its docstring, which is completed at the end.
"""

from __future__ import annotations

import ipaddress
import warnings
from collections.abc import Mapping  # noqa: TC003 (type hints are read when the program runs)
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Self, TypeAlias, TypedDict

from lpisearch.model.documents import Filter
from lpisearch.model.fields import described, document, option

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


# A value that one parameter of a method takes, or its text.
Setting: TypeAlias = int | float | bool | str | None
MEBIBYTE = 1024 * 1024
RANKING_MODES = ("hybrid", "semantic", "lexical")
ENCODED = ("passages", "candidates")
RELEVANCE = "relevance"
SORTS = (RELEVANCE, "date", "oldest", "title", "path")
"""The sort orders of results."""
ENTRY_SORTS = ("added", "date", "oldest", "title", "path", "id")
"""The sort orders of a listing of documents."""
CLASSIFIERS = ("auto", "centroid", "knn", "map-svm", "svm", "svm+centroid", "svm+map-svm")
DEFAULT_HOST, DEFAULT_PORT = "127.0.0.1", 8077
# Headings of the help.
_MODEL, _GRAPH, _TRAINING, _WORK, _RANKING = (
    *("Model", "Neighbour graph", "Documents", "Parallelism", "Ranking"),
)


def _index(help: str = "Index to use.", **info: Any) -> Any:  # noqa: A002 (the field's term)
    return option("default", help, metavar="NAME", names="indexes", **info, advanced=True)


def _seed(**info: Any) -> Any:
    return option(0, "Random seed.", metavar="N", **info, advanced=True)


def _wait() -> Any:
    return option(
        30.0,
        "How long to wait while another process writes.",
        name="wait",
        metavar="SECONDS",
        minimum=0,
        advanced=True,
    )


def _cluster(**info: Any) -> Any:
    text = "Use a Dask cluster, given its scheduler address (tcp://HOST:8786)."
    return option("", text, metavar="ADDRESS", **info, advanced=True)


def _alpha(**info: Any) -> Any:
    text = "Ridge regularisation strength, for methods that use it."
    summary = "Ridge regularisation strength."
    return option(None, text, summary=summary, metavar="auto|X", form="auto", **info, advanced=True)


def _neighbours(**info: Any) -> Any:
    return option(
        15, "Number of nearest neighbours per document.", metavar="N", **info, advanced=True
    )


def _graph(**info: Any) -> Any:
    return option(
        "auto",
        "How neighbours are chosen: {names}.",
        summary="How neighbours are chosen.",
        metavar="auto|NAME",
        names="graphs",
        panel=_GRAPH,
        **info,
        advanced=True,
    )


def _radius(**info: Any) -> Any:
    return option(
        None,
        "Maximum distance between neighbours, with --graph ball.",
        summary="Maximum distance between neighbours.",
        metavar="X",
        panel=_GRAPH,
        **info,
        advanced=True,
    )


def _edge_weights() -> Any:
    text = "Edge weights: cosine, binary, heat, self-tuning or fuzzy."
    return option("cosine", text, metavar="NAME", panel=_GRAPH, advanced=True)


def _settings(**info: Any) -> Any:
    return option(
        dict,
        "Set a method-specific parameter, such as cardinality=50 (repeatable).",
        name="set",
        metavar="NAME=VALUE",
        form="settings",
        panel=_MODEL,
        **info,
        advanced=True,
    )


def _semantic_weight(**info: Any) -> Any:
    return option(
        None,
        "Weight of meaning against words in hybrid ranking (default: learned by index).",
        metavar="X",
        **info,
        advanced=True,
    )


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """What defines an index: built again from the same documents, it is the same."""

    name: str = option("default", "Name of the index; a library can have several.", metavar="NAME")
    method: str = option(
        "rlpi",
        "Method: {alternatives}.",
        summary="Index method.",
        metavar="NAME",
        names="methods",
        panel=_MODEL,
        setting=True,
    )
    dims: int | None = option(
        None,
        "Number of dimensions; auto chooses it from the data.",
        summary="Number of dimensions.",
        metavar="auto|N",
        form="auto",
        panel=_MODEL,
        setting=True,
    )
    alpha: float | None = _alpha(panel=_MODEL, setting=True)
    neighbours: int = _neighbours(panel=_GRAPH, setting=True)
    graph: str = _graph(setting=True)
    radius: float | None = _radius(setting=True)
    edge_weights: str = _edge_weights()
    settings: Mapping[str, Setting] = _settings(after="alpha")
    # ("must", one id, other id): they belong together; ("cannot", …): they do not.
    pairs: tuple[tuple[str, str, str], ...] = option(
        (),
        "Pairs known to belong together (must ID ID) or apart (cannot ID ID).",
        metavar="FILE",
        form="pairs",
        panel=_GRAPH,
        advanced=True,
    )
    labels: str = option(
        "ignore",
        "Whether documents with the same label also count as neighbours.",
        summary="Whether documents with the same label are neighbours.",
        metavar="use|ignore",
        panel=_GRAPH,
        setting=True,
        advanced=True,
    )
    weighting: str = option(
        "log-tfidf",
        "Term weighting: tf, tfidf, log-tfidf or bm25.",
        summary="Term weighting.",
        metavar="NAME",
        panel=_MODEL,
        after="settings",
        setting=True,
        advanced=True,
    )
    train: str = option(
        "auto",
        "Documents to train `classify` on; auto uses the split “train” if there is one.",
        summary="Documents to train `classify` on.",
        metavar="auto|all|none|SPLIT",
        panel=_TRAINING,
        setting=True,
    )
    where: Filter = option(
        Filter,
        "Index only documents with this label, path, split, since, until or metadata.",
        metavar="KEY=VALUE",
        form="conditions",
        panel=_TRAINING,
    )
    seed: int = _seed(setting=True)
    learn_predicted: bool = option(
        False,
        "Also train on predicted labels, for documents that have no others.",
        panel=_TRAINING,
        advanced=True,
    )

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON value that is stored with the index."""
        values = {one.name: getattr(self, one.name) for one in fields(IndexSpec)}
        return values | {"where": self.where.as_dict(), "settings": dict(self.settings)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read a JSON value of this, an earlier or a later version; unknown fields are ignored."""
        known = {one.name: values[one.name] for one in fields(cls) if one.name in values}
        pairs = tuple((kind, one, other) for kind, one, other in known.get("pairs") or ())
        where = Filter.from_dict(known.get("where") or {})
        return cls(**known | {"where": where, "pairs": pairs})


@dataclass(frozen=True, slots=True)
class IndexOptions(IndexSpec):
    """What `lpisearch index` builds, and how."""

    wait_seconds: float = _wait()
    memory: int | None = option(
        None,
        "Memory limit, such as 4G; uses temporary files or a sample to stay within it.",
        metavar="SIZE",
        form="size",
    )
    # "" leaves the store as it is.
    index_store: str = option(
        "",
        "Where a PostgreSQL library keeps its indexes: in the database (db) or a shared folder.",
        metavar="DIR|db",
        advanced=True,
    )
    export_pgvector: bool = option(
        False, "Also write the vectors to a database table (pgvector).", advanced=True
    )
    in_database: bool = option(
        False,
        "Also write tables with which PostgreSQL searches by itself (pgvector): no index folder.",
        advanced=True,
    )
    cluster: str = _cluster(panel=_WORK, after="workers")
    encode: str = option(
        "passages",
        "With an encoder: encode all passages now, or only the first candidates of each query.",
        metavar="passages|candidates",
        choices=ENCODED,
        panel=_MODEL,
        setting=True,
    )
    # 0 uses the threads of this process.
    workers: int = option(
        0, "Use N worker processes on this machine.", metavar="N", minimum=0, panel=_WORK
    )

    @property
    def spec(self) -> IndexSpec:
        """What to build."""
        return IndexSpec(**{one.name: getattr(self, one.name) for one in fields(IndexSpec)})


class IndexFields(TypedDict, total=False):
    """The fields of `IndexOptions`, but for the method: what `Library.index` takes by name."""

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
    in_database: bool
    encode: str
    workers: int
    cluster: str


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How `lpisearch search` ranks and shows documents."""

    by: str = option(
        "hybrid",
        "How to rank results.",
        summary="Ranking mode.",
        after="k",
        choices=RANKING_MODES,
        panel=_RANKING,
        setting=True,
    )
    k: int = option(10, "Number of results.", flags=("-k",), metavar="N", minimum=0, setting=True)
    offset: int = option(
        0, "Skip the first N results.", metavar="N", minimum=0, after="collapse", advanced=True
    )
    where: Filter = field(default_factory=Filter)
    min_score: float | None = option(
        None,
        "Hide results that score below X.",
        summary="Minimum score.",
        metavar="X",
        panel=_RANKING,
        advanced=True,
    )
    collapse: bool = option(
        True,
        "Show only one of several documents that are nearly the same text, or one page in several "
        "languages (default), or all.",
        summary="Show one of several documents that are nearly the same, or versions of a page.",
        flags=("--collapse/--no-collapse",),
        advanced=True,
    )
    index: str = _index(panel=_RANKING)
    explain: bool = option(False, "Show which words make each result similar.")
    no_encoder: bool = option(
        False, "Rank without the encoder of the index.", panel=_RANKING, advanced=True
    )
    semantic_weight: float | None = _semantic_weight(panel=_RANKING, after="min_score")
    sort: str = option(
        RELEVANCE,
        "Sort order of the results (date: newest first).",
        after="by",
        choices=SORTS,
        panel=_RANKING,
    )
    facets: bool = option(
        False, "Include counts by label, date, folder, split and format.", typed=False
    )
    passages: int = option(
        3, "Passages of a long document, at most.", minimum=1, maximum=100, typed=False
    )
    literal: bool = option(
        False,
        "Search for misspelt words as typed, without correction.",
        after="collapse",
        advanced=True,
    )


class SearchFields(TypedDict, total=False):
    """The fields of `SearchOptions`, and those of `Filter` that are common, by name."""

    by: str | None
    k: int | None
    offset: int
    where: Filter
    label: str | Sequence[str]
    path: str | None
    split: str | None
    since: str | None
    until: str | None
    min_score: float | None
    collapse: bool
    index: str | None
    explain: bool
    no_encoder: bool
    semantic_weight: float | None
    sort: str | None
    facets: bool
    literal: bool


_CONDITIONS = ("path", "split", "since", "until")


@dataclass(frozen=True, slots=True)
class ClassifyOptions:
    """How `lpisearch classify` predicts labels."""

    classifier: str = option(
        "auto",
        "auto (the one with the best held-out accuracy), centroid, knn, map-svm, svm, "
        "svm+centroid or svm+map-svm.",
        summary="Classifier.",
        metavar="NAME",
        choices=CLASSIFIERS,
    )
    k: int = option(5, "Number of labels to show.", flags=("-k",), metavar="N")
    index: str = _index()
    confidence: float = option(
        0.5, "Answer “none of these” if no label is at least this probable.", metavar="SHARE"
    )


class ClassifyFields(TypedDict, total=False):
    """The fields of `ClassifyOptions`."""

    classifier: str
    k: int
    index: str
    confidence: float


@dataclass(frozen=True, slots=True)
class TopicOptions:
    """Which topics `lpisearch topics` shows."""

    number: int | None = option(
        None,
        "Number of topics; auto chooses it from the index.",
        summary="Number of topics (default: chosen from the index).",
        flags=("-n",),
        metavar="auto|N",
        form="auto",
    )
    terms: int = option(
        8, "Terms to show per topic.", flags=("--terms", "--words"), metavar="N", minimum=0
    )
    documents: int = option(3, "Typical documents to show per topic.", metavar="N", minimum=0)
    seed: int = _seed(minimum=0)
    index: str = _index()


class TopicFields(TypedDict, total=False):
    """The fields of `TopicOptions`, but for the number."""

    terms: int
    documents: int
    seed: int
    index: str


@dataclass(frozen=True, slots=True)
class DimensionOptions:
    """Which dimensions `lpisearch topics --method` shows.

    `terms` and `documents` are numbers for each end of a dimension. The index is used if it is of
    the method; otherwise a model is trained, with `seed`.
    """

    method: str = field(
        metadata=described(
            "Show the dimensions of a sparse method (few words each) instead of clusters.",
            metavar="NAME",
        )
    )
    dims: int = option(10, "Number of dimensions, with --method.", metavar="N", advanced=True)
    terms: int = 8
    documents: int = 3
    seed: int = 0
    index: str = "default"


@dataclass(frozen=True, slots=True)
class PartOptions:
    """Which part of a document `lpisearch docs show` prints; all of it by default."""

    page: str = option("", "Show only this page (or slide).", metavar="NAME")
    section: str = option("", "Show only this section, such as a heading.", metavar="NAME")
    start: int = option(
        0, "Show the text from character N on.", name="from", metavar="N", minimum=0
    )
    length: int | None = option(
        None, "Show at most N characters, up to the end of a sentence.", metavar="N", minimum=1
    )


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How files become documents."""

    format: str = option(
        "auto", "File format, if it cannot be detected.", metavar="NAME", advanced=True
    )
    labels: str = option(
        "auto",
        "Where labels come from: what files state, the top-level folder, a field or column, or a "
        "CSV file; auto is stated, or as the folder was ingested before.",
        summary="Where labels come from (default: what files state).",
        metavar="stated|folder|none|FIELD|FILE.csv",
    )
    split: str = option(
        "auto",
        "Where the split into train and test sets comes from, as for labels.",
        metavar="stated|folder|none|FIELD",
        advanced=True,
    )
    # "" looks for the usual names.
    id_field: str = option("", "Field or column with the id.", metavar="FIELD", advanced=True)
    title_field: str = option("", "Field or column with the title.", metavar="FIELD", advanced=True)
    text_field: str = option("", "Field or column with the text.", metavar="FIELD", advanced=True)
    label_separators: str = option(
        ";|", "Characters that separate labels in a table cell.", metavar="CHARS", advanced=True
    )
    ocr: str = option(
        "",
        "Read images and scanned pages with Tesseract in these languages, such as deu+eng.",
        metavar="LANG",
    )
    archives: bool = option(False, "Read the files in zip and tar archives, too.", advanced=True)
    max_document_bytes: int = option(
        32 * MEBIBYTE,
        "Largest document to accept.",
        name="max_size",
        metavar="MIB",
        minimum=1,
        form="mebibytes",
        advanced=True,
    )

    @property
    def max_page_bytes(self) -> int:
        """How much is read of a file whose text is only a part of it: markup, attachments."""
        return 2 * self.max_document_bytes


@dataclass(frozen=True, slots=True)
class FindOptions:
    """Which files of a folder are ingested."""

    exclude: tuple[str, ...] = option(
        (),
        "Exclude matching files, in .gitignore syntax (repeatable).",
        summary="Files never to ingest, in .gitignore syntax.",
        metavar="GLOB",
        setting=True,
    )
    no_ignore: bool = option(
        False, "Include files excluded by .gitignore, .lpisearchignore or built-in rules."
    )
    hidden: bool = option(False, "Include hidden files and folders (names starting with a dot).")
    # A link that is named is always followed.
    follow_links: bool = option(False, "Follow symbolic links found in folders.", advanced=True)


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """What `lpisearch ingest` adds, and how."""

    read: ReadOptions = field(default_factory=ReadOptions)
    find: FindOptions = field(default_factory=FindOptions)
    prune: bool = option(False, "Remove documents whose file or record no longer exists.")
    language: str = option(
        "auto",
        "Language of the documents; auto detects it at the first ingest.",
        metavar="auto|NAME",
    )
    wait_seconds: float = _wait()
    # 0 uses one for each core.
    workers: int = option(
        0,
        "Number of processes that read and tokenise (default: one for each core).",
        metavar="N",
        minimum=0,
        maximum=64,
        advanced=True,
    )
    cluster: str = _cluster()
    batch_documents: int = 1000  # in one transaction: all that an interruption can cost
    ids: str = option(
        "file",
        "Whether ids are unique within each file (file) or across all files (global).",
        metavar="file|global",
        advanced=True,
    )
    retry: bool = option(False, "Retry files that failed before, even if unchanged.", advanced=True)


@dataclass(frozen=True, slots=True)
class EvaluateOptions:
    """What every evaluation compares, and on which documents."""

    # () and None leave the choice to the evaluation or to the method.
    methods: tuple[str, ...] = option(
        (), "Methods to compare: terms, lsi, rlpi, …", metavar="NAME,…|all", form="names"
    )
    dims: int | None = option(None, "Number of dimensions.", metavar="auto|N", form="auto")
    alpha: float | None = _alpha()
    neighbours: int = _neighbours()
    graph: str = _graph()
    radius: float | None = _radius()
    edge_weights: str = _edge_weights()
    settings: Mapping[str, Setting] = _settings()
    weighting: str = option(
        "",
        "Term weighting: tf, tfidf, log-tfidf or bm25 (default: log-tfidf, or tf with --matrix).",
        metavar="NAME",
        advanced=True,
    )
    scale: float = option(
        1.5,
        "Scale dimensions by their eigenvalue to this power before taking cosines.",
        metavar="X",
        advanced=True,
    )
    largest: int | None = option(
        None, "Use only the N largest classes.", metavar="N", advanced=True
    )
    matrix: Path | None = option(
        None,
        "Evaluate a labelled count matrix (.npz or svmlight) instead of the library.",
        metavar="FILE",
        advanced=True,
    )
    index: str = _index("Index to evaluate.")
    seed: int = _seed(minimum=0)

    @property
    def of_methods(self) -> tuple[object, ...]:
        """What a sweep may vary; it identifies a part of a run."""
        graph = (self.graph, self.radius, self.edge_weights)
        return (self.dims, self.alpha, self.neighbours, *graph, *self.settings.items())


@dataclass(frozen=True, slots=True)
class SimilarityOptions:
    """Which pairs of documents `evaluate similarity` compares."""

    # Column numbers for a matrix; `most_frequent` takes their place.
    words: tuple[str, ...] = option(
        (),
        "Average over subsets: the documents containing each WORD, or each of the N most frequent.",
        metavar="WORD,…|N",
        form="words",
    )
    most_frequent: int | None = None
    subset_size: tuple[int, int] = option(
        (250, 800),
        "Size range of the subsets, with --words N.",
        metavar="A..B",
        form="range",
        advanced=True,
    )


@dataclass(frozen=True, slots=True)
class CategoriesOptions:
    """How `evaluate classify` splits the documents, and which classifiers it compares."""

    # "auto" uses the stored split where there is one.
    split: str = option(
        "auto",
        "Use the train and test sets stored with the documents.",
        metavar="field|auto",
        advanced=True,
    )
    train: tuple[float, ...] = option(
        (), "Train on random samples of these sizes.", metavar="5%,10%,…", form="shares"
    )
    repeats: int = option(10, "Number of random samples of each size.", metavar="N", advanced=True)
    classifiers: tuple[str, ...] = option(
        ("centroid", "knn", "svm"),
        "Classifiers to compare: centroid, knn, svm.",
        metavar="NAME,…",
        form="names",
        advanced=True,
    )
    single: bool = option(
        False,
        "Skip documents with several labels, as the papers do.",
        name="single_label",
        advanced=True,
    )


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """Which classes `evaluate cluster` tries to find."""

    # 0 stands for all classes at once.
    classes: tuple[int, ...] = option(
        (0,),
        "Number of random classes to cluster; all clusters every class.",
        metavar="2..10|all",
        form="numbers",
    )
    draws: int = option(50, "Random draws for each number of classes.", metavar="N", advanced=True)


@dataclass(frozen=True, slots=True)
class RetrievalOptions:
    """Which queries `evaluate retrieval` runs, and how it judges the results."""

    queries: Path = field(metadata=described("Query file (JSON Lines or TSV).", metavar="FILE"))
    qrels: Path = field(metadata=described("Relevance judgements (TREC qrels).", metavar="FILE"))
    # () compares all that the library allows.
    by: tuple[str, ...] = option(
        (), "Ranking modes to compare: hybrid, semantic, lexical.", metavar="NAME,…", form="names"
    )
    measures: tuple[str, ...] = option(
        ("AP", "nDCG@10", "P@10", "R@100", "RR"),
        "Measures to report: AP, nDCG@K, P@K, R@K, RR, AP@K, RR@K.",
        metavar="NAME,…",
        form="names",
    )
    depth: int = option(10_000, "Maximum number of results per query.", metavar="N", advanced=True)
    whole: bool = option(False, "Score long documents as wholes, without their passages.")
    semantic_weight: float | None = _semantic_weight()


@dataclass(frozen=True, slots=True)
class SweepOptions:
    """What `evaluate sweep` measures, and the parameter that it varies."""

    measure: str
    over: str
    values: tuple[Setting, ...]


Wanted = CategoriesOptions | ClusterOptions | RetrievalOptions | SimilarityOptions
"""What one evaluation measures."""


class EvaluateFields(TypedDict, total=False):
    """What `Library.evaluate` takes by name."""

    options: EvaluateOptions | None
    wanted: Wanted | None
    over: tuple[str, Sequence[Setting]] | None
    on_cell: Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class ServeLimits:
    """What one request, and one address, may ask for."""

    body_bytes: int = MEBIBYTE  # of a request that is not an upload
    upload_bytes: int = 256 * MEBIBYTE
    upload_files: int = 1000  # of one request
    query_characters: int = 10_000
    text_characters: int = 1_000_000  # of a text to classify
    hits: int = 200  # of one page
    depth: int = 10_000  # the position that the last page of a list may reach
    # Of one address that is not this machine; 0 sets no limit.
    requests_per_second: float = 50.0
    burst: int = 200
    at_once: int = 400  # requests; others are told to try again, as in the next two
    streams: int = 100  # of events
    connections: int = 400
    jobs_kept: int = 100  # ended jobs that stay listed


@dataclass(frozen=True, slots=True)
class ServeSettings:
    """What `lpisearch serve` serves, and to whom."""

    host: str = option(
        DEFAULT_HOST,
        "Address to listen on; 0.0.0.0 accepts other machines.",
        metavar="ADDRESS",
        after="port",
    )
    # Port 0 is any free one.
    port: int = option(DEFAULT_PORT, "Port to listen on.", metavar="N", minimum=0, maximum=65535)
    workers: int = option(
        1,
        "Number of processes that answer requests at the same address.",
        metavar="N",
        minimum=1,
        maximum=64,
        after="names",
    )
    read_only: bool = option(False, "Refuse all changes.")
    roots: tuple[Path, ...] = option(
        (),
        "Allow files under this folder to be added and downloaded (repeatable).",
        name="root",
        metavar="DIR",
    )
    # "" requires no token, and listens on this machine alone.
    token: str = field(
        default="",
        repr=False,
        metadata=described(
            "Token that clients must send; LPISEARCH_TOKEN is safer, as other users cannot see it.",
            metavar="TEXT",
            envvar="LPISEARCH_TOKEN",
            after="names",
        ),
    )
    # "" allows nobody to read only.
    read_token: str = field(
        default="",
        repr=False,
        metadata=described(
            "Second token, which may only read; LPISEARCH_READ_TOKEN is safer.",
            metavar="TEXT",
            envvar="LPISEARCH_READ_TOKEN",
            advanced=True,
        ),
    )
    cors: tuple[str, ...] = option(
        (),
        "Allow scripts of pages from this origin to use the API, such as https://example.org "
        "(repeatable).",
        metavar="ORIGIN",
        advanced=True,
    )
    names: tuple[str, ...] = option(
        (),
        "Extra host name to accept, besides localhost and IP addresses (repeatable).",
        name="name",
        metavar="NAME",
    )
    behind_proxy: tuple[str, ...] = option(
        (),
        "Trust X-Forwarded-For and -Proto of the proxy at this address (repeatable).",
        metavar="ADDRESS",
        advanced=True,
    )
    uploads: Path | None = None  # where uploaded files go; None for a folder next to the library
    limits: ServeLimits = field(default_factory=ServeLimits)

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach the server."""
        return is_loopback(self.host) and not self.behind_proxy

    def is_proxy(self, address: str) -> bool:
        """Tell whether an address is that of a proxy; `behind_proxy` may have networks."""
        try:
            own = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(own in ipaddress.ip_network(one, strict=False) for one in self.behind_proxy)


@dataclass(frozen=True, slots=True)
class AssistantOptions:
    """What `lpisearch mcp` lets an assistant reach."""

    db: tuple[str, ...] = option(
        (),
        "Library file or server address; NAME=FILE for each of several (repeatable).",
        metavar="FILE",
        panel="Global options",
    )
    allow_writes: bool = option(False, "Also let the assistant label and, with --root, add files.")
    roots: tuple[Path, ...] = option(
        (), "Allow files under this folder to be added (repeatable).", name="root", metavar="DIR"
    )


OPTION_CLASSES: tuple[type, ...] = (
    *(IndexOptions, SearchOptions, ClassifyOptions, TopicOptions, DimensionOptions),
    *(PartOptions, ReadOptions, FindOptions, IngestOptions, EvaluateOptions, SimilarityOptions),
    *(CategoriesOptions, ClusterOptions, RetrievalOptions, ServeSettings, AssistantOptions),
)
for _options in (IndexSpec, *OPTION_CLASSES):
    document(_options)
del _options


def is_loopback(host: str) -> bool:
    """Tell whether a host name or address can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def search_options(options: SearchOptions | None, fields: SearchFields) -> SearchOptions:
    """Return the options of a search; fields by name that are not None take precedence."""
    chosen: dict[str, Any] = {name: value for name, value in fields.items() if value is not None}
    conditions = {name: chosen.pop(name, "") for name in _CONDITIONS}
    conditions["labels"] = as_labels(chosen.pop("label", ()))
    conditions = {name: value for name, value in conditions.items() if value}
    options = replace(options, **chosen) if options else SearchOptions(**chosen)
    return replace(options, where=replace(options.where, **conditions)) if conditions else options


def ingest_options(options: IngestOptions | None, labels: str | None) -> IngestOptions:
    """Return the options of an ingest; the source of labels, if not None, takes precedence."""
    options = options or IngestOptions()
    return (
        options if labels is None else replace(options, read=replace(options.read, labels=labels))
    )


def index_options(
    options: IndexOptions | None, method: str | None, fields: IndexFields
) -> IndexOptions:
    """Return the options of an index; fields by name take precedence."""
    options = replace(options or IndexOptions(), **fields)
    return replace(options, method=method or options.method)


def as_labels(labels: str | Sequence[str]) -> tuple[str, ...]:
    """Return one label, or several, as a tuple."""
    return (labels,) if isinstance(labels, str) else tuple(labels)


def warn(note: str) -> None:
    """Issue a note about an answer as a warning."""
    warnings.warn(note, UserWarning, stacklevel=2)
