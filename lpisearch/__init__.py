"""Semantic document search and classification on an ordinary CPU.

>>> import lpisearch
>>> library = lpisearch.open("notes.db")

The methods are scikit-learn transformers, usable on their own:

>>> from lpisearch import RLPI
>>> RLPI(n_components=100).n_components
100
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from lpisearch.version import VERSION

if TYPE_CHECKING:
    from lpisearch.client import RemoteLibrary, connect
    from lpisearch.errors import (
        BadOption,
        BadPreference,
        ClassifierNotFound,
        ClusterError,
        DocumentDamaged,
        DocumentNotFound,
        FileInTheWay,
        IndexDamaged,
        IndexNotFound,
        IndexOutdated,
        IndexTooNew,
        IndexUnreadable,
        IndexUnwritable,
        LibraryDamaged,
        LibraryError,
        LibraryLocked,
        LibraryNotFound,
        LibraryTooNew,
        LibraryUnwritable,
        LpiSearchError,
        NotALibrary,
        NothingThere,
        NothingToEvaluate,
        NothingToIndex,
        NotUnicode,
        PlotUnavailable,
        PreferencesUnwritable,
        ReaderError,
        ReportUnwritable,
        ServerRefused,
        ServerUnreachable,
        SeveralDocuments,
        SeveralNames,
        SubspaceError,
    )
    from lpisearch.library import Library
    from lpisearch.library import open_library as open  # noqa: A004 (lpisearch.open reads best)
    from lpisearch.projections.eigenmaps import Eigenmaps
    from lpisearch.projections.fsslpi import FSSL
    from lpisearch.projections.krlpi import KRLPI
    from lpisearch.projections.laplacian_score import LaplacianScore
    from lpisearch.projections.lpfl import LPFL
    from lpisearch.projections.lpi import LPI
    from lpisearch.projections.lpp import LPP
    from lpisearch.projections.ls_lpi import LSLPI
    from lpisearch.projections.lsi import LSI
    from lpisearch.projections.nmf import NMF
    from lpisearch.projections.olpi import OLPI
    from lpisearch.projections.pca import PCA
    from lpisearch.projections.plsi import PLSI
    from lpisearch.projections.rlpi import RLPI
    from lpisearch.projections.slpi import SLPI
    from lpisearch.projections.spca import SPCA
    from lpisearch.projections.spg import SPG
    from lpisearch.records import (
        Answer,
        Classification,
        Dimension,
        DimensionReport,
        Document,
        Entry,
        Explanation,
        Facets,
        FacetValue,
        Filter,
        Finding,
        Hit,
        IndexPlan,
        IndexReport,
        IngestReport,
        LabelReport,
        LabelShare,
        Passage,
        PredictedLabel,
        PredictionReport,
        Report,
        Section,
        Suggestion,
        Table,
        Topic,
        TopicReport,
    )
    from lpisearch.settings import (
        CategoriesOptions,
        ClassifyOptions,
        ClusterOptions,
        DimensionOptions,
        EvaluateOptions,
        IndexOptions,
        IndexSpec,
        IngestOptions,
        ReadOptions,
        RetrievalOptions,
        SearchOptions,
        SimilarityOptions,
    )

__version__ = VERSION

__all__ = [
    "FSSL",
    "KRLPI",
    "LPFL",
    "LPI",
    "LPP",
    "LSI",
    "LSLPI",
    "NMF",
    "OLPI",
    "PCA",
    "PLSI",
    "RLPI",
    "SLPI",
    "SPCA",
    "SPG",
    "Answer",
    "BadOption",
    "BadPreference",
    "CategoriesOptions",
    "Classification",
    "ClassifierNotFound",
    "ClassifyOptions",
    "ClusterError",
    "ClusterOptions",
    "Dimension",
    "DimensionOptions",
    "DimensionReport",
    "Document",
    "DocumentDamaged",
    "DocumentNotFound",
    "Eigenmaps",
    "Entry",
    "EvaluateOptions",
    "Explanation",
    "FacetValue",
    "Facets",
    "FileInTheWay",
    "Filter",
    "Finding",
    "Hit",
    "IndexDamaged",
    "IndexNotFound",
    "IndexOptions",
    "IndexOutdated",
    "IndexPlan",
    "IndexReport",
    "IndexSpec",
    "IndexTooNew",
    "IndexUnreadable",
    "IndexUnwritable",
    "IngestOptions",
    "IngestReport",
    "LabelReport",
    "LabelShare",
    "LaplacianScore",
    "Library",
    "LibraryDamaged",
    "LibraryError",
    "LibraryLocked",
    "LibraryNotFound",
    "LibraryTooNew",
    "LibraryUnwritable",
    "LpiSearchError",
    "NotALibrary",
    "NotUnicode",
    "NothingThere",
    "NothingToEvaluate",
    "NothingToIndex",
    "Passage",
    "PlotUnavailable",
    "PredictedLabel",
    "PredictionReport",
    "PreferencesUnwritable",
    "ReadOptions",
    "ReaderError",
    "RemoteLibrary",
    "Report",
    "ReportUnwritable",
    "RetrievalOptions",
    "SearchOptions",
    "Section",
    "ServerRefused",
    "ServerUnreachable",
    "SeveralDocuments",
    "SeveralNames",
    "SimilarityOptions",
    "SubspaceError",
    "Suggestion",
    "Table",
    "Topic",
    "TopicReport",
    "connect",
    "open",
]

_HOMES = {
    "lpisearch.client": "RemoteLibrary connect",
    "lpisearch.errors": """
        BadOption BadPreference ClassifierNotFound ClusterError DocumentDamaged DocumentNotFound
        FileInTheWay IndexDamaged IndexNotFound IndexOutdated IndexTooNew IndexUnreadable
        IndexUnwritable LibraryDamaged LibraryError LibraryLocked LibraryNotFound
        LibraryTooNew LibraryUnwritable LpiSearchError NotALibrary NotUnicode NothingThere
        NothingToEvaluate NothingToIndex PlotUnavailable PreferencesUnwritable ReaderError
        ReportUnwritable ServerRefused ServerUnreachable SeveralDocuments SeveralNames
        SubspaceError
    """,
    "lpisearch.library": "Library",
    "lpisearch.records": """
        Answer Classification Dimension DimensionReport Document Entry Explanation
        FacetValue Facets Filter Finding Hit IndexPlan IndexReport IngestReport
        LabelReport LabelShare
        Passage PredictedLabel PredictionReport Report Section Suggestion Table
        Topic TopicReport
    """,
    "lpisearch.settings": """
        CategoriesOptions ClassifyOptions ClusterOptions DimensionOptions
        EvaluateOptions IndexOptions IndexSpec IngestOptions ReadOptions
        RetrievalOptions SearchOptions SimilarityOptions
    """,
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `lpisearch --help` answers at once."""
    if name == "open":
        return import_module("lpisearch.library").open_library
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    if name in __all__:  # what is left are the methods
        methods = import_module("lpisearch.projections.catalogue").CATALOGUE.values()
        return next(method.load() for method in methods if method.class_name == name)
    message = f"module 'lpisearch' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
