"""The program version.

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

if TYPE_CHECKING:
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
    from lpisearch.methods.eigenmaps import Eigenmaps
    from lpisearch.methods.fsslpi import FSSL
    from lpisearch.methods.krlpi import KRLPI
    from lpisearch.methods.laplacian_score import LaplacianScore
    from lpisearch.methods.lpfl import LPFL
    from lpisearch.methods.lpi import LPI
    from lpisearch.methods.lpp import LPP
    from lpisearch.methods.ls_lpi import LSLPI
    from lpisearch.methods.lsi import LSI
    from lpisearch.methods.nmf import NMF
    from lpisearch.methods.olpi import OLPI
    from lpisearch.methods.pca import PCA
    from lpisearch.methods.plsi import PLSI
    from lpisearch.methods.rlpi import RLPI
    from lpisearch.methods.slpi import SLPI
    from lpisearch.methods.spca import SPCA
    from lpisearch.methods.spg import SPG
    from lpisearch.model.answers import (
        Answer,
        Classification,
        Dimension,
        DimensionReport,
        Explanation,
        Facets,
        FacetValue,
        Hit,
        LabelShare,
        Passage,
        Suggestion,
        Topic,
        TopicReport,
    )
    from lpisearch.model.documents import (
        Document,
        Entry,
        Filter,
        Finding,
        IngestReport,
        LabelReport,
        PredictedLabel,
        PredictionReport,
        Section,
    )
    from lpisearch.model.reports import IndexPlan, IndexReport, Report, Table
    from lpisearch.options import (
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
    from lpisearch.remote import connect
    from lpisearch.remote.client import RemoteLibrary


VERSION = "0.2.0"


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
    "lpisearch.remote": "RemoteLibrary connect",
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
    "lpisearch.model.answers": """
        Answer Classification Dimension DimensionReport Explanation FacetValue Facets Hit
        LabelShare Passage Suggestion Topic TopicReport
    """,
    "lpisearch.model.documents": """
        Document Entry Filter Finding IngestReport LabelReport PredictedLabel
        PredictionReport Section
    """,
    "lpisearch.model.reports": "IndexPlan IndexReport Report Table",
    "lpisearch.options": """
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
        methods = import_module("lpisearch.methods.catalogue").CATALOGUE.values()
        return next(method.load() for method in methods if method.class_name == name)
    message = f"module 'lpisearch' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
