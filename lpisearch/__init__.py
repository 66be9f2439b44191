"""Search and classify documents by meaning, on an ordinary computer.

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

VERSION = "0.4.0.dev0"
__version__ = VERSION

_METHODS = "lpisearch.methods.catalogue"
_HOMES = {
    "lpisearch.errors": """
        AnswerInvalid BadOption BadPreference ClassifierNotFound ClusterError DocumentDamaged
        DocumentNotFound FileInTheWay IndexDamaged IndexNotFound IndexNotHere IndexOutdated
        IndexTooNew IndexUnreadable IndexUnwritable LibraryDamaged LibraryError LibraryLocked
        LibraryNotFound LibraryTooNew LibraryUnwritable LpiSearchError NotALibrary NotUnicode
        NothingThere NothingToEvaluate NothingToIndex PackageMissing PlotUnavailable
        PreferencesUnwritable ReaderError ReportUnwritable ServerRefused ServerUnreachable
        SeveralDocuments SeveralNames SubspaceError
    """,
    "lpisearch.library": "Library open",
    "lpisearch.model.answers": """
        Answer Classification Dimension DimensionReport Explanation FacetValue Facets Hit LabelShare
        Passage Suggestion Topic TopicReport
    """,
    "lpisearch.model.documents": """
        Document Entry Filter Finding IngestReport LabelReport PredictedLabel PredictionReport
        Section
    """,
    "lpisearch.model.reports": "IndexPlan IndexReport Report Table",
    "lpisearch.options": """
        CategoriesOptions ClassifyOptions ClusterOptions DimensionOptions EvaluateOptions
        IndexOptions IndexSpec IngestOptions ReadOptions RetrievalOptions SearchOptions
        SimilarityOptions
    """,
    "lpisearch.remote": "RemoteLibrary connect",
    "lpisearch.remote.coroutines": "AsyncLibrary",
    _METHODS: """
        FSSL GNMF KOLPI KRLPI LPFL LPI LPP LSC LSDA LSI LSLPI MCFS NMF NPE OLPI PCA PLSI RLPI
        SLPI SPCA SPG Eigenmaps LaplacianScore
    """,
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}

if TYPE_CHECKING:
    from lpisearch.errors import *
    from lpisearch.library import Library as Library
    from lpisearch.library import open_library as _open
    from lpisearch.methods.eigenmaps import Eigenmaps as Eigenmaps
    from lpisearch.methods.fsslpi import FSSL as FSSL
    from lpisearch.methods.gnmf import GNMF as GNMF
    from lpisearch.methods.kolpi import KOLPI as KOLPI
    from lpisearch.methods.krlpi import KRLPI as KRLPI
    from lpisearch.methods.laplacian_score import LaplacianScore as LaplacianScore
    from lpisearch.methods.lpfl import LPFL as LPFL
    from lpisearch.methods.lpi import LPI as LPI
    from lpisearch.methods.lpp import LPP as LPP
    from lpisearch.methods.ls_lpi import LSLPI as LSLPI
    from lpisearch.methods.lsc import LSC as LSC
    from lpisearch.methods.lsda import LSDA as LSDA
    from lpisearch.methods.lsi import LSI as LSI
    from lpisearch.methods.mcfs import MCFS as MCFS
    from lpisearch.methods.nmf import NMF as NMF
    from lpisearch.methods.npe import NPE as NPE
    from lpisearch.methods.olpi import OLPI as OLPI
    from lpisearch.methods.pca import PCA as PCA
    from lpisearch.methods.plsi import PLSI as PLSI
    from lpisearch.methods.rlpi import RLPI as RLPI
    from lpisearch.methods.slpi import SLPI as SLPI
    from lpisearch.methods.spca import SPCA as SPCA
    from lpisearch.methods.spg import SPG as SPG
    from lpisearch.model.answers import *
    from lpisearch.model.documents import *
    from lpisearch.model.reports import *
    from lpisearch.options import *
    from lpisearch.remote import connect as connect
    from lpisearch.remote.client import RemoteLibrary as RemoteLibrary
    from lpisearch.remote.coroutines import AsyncLibrary as AsyncLibrary

    open = _open  # noqa: A001 (lpisearch.open reads best)
else:
    __all__ = list(_HOME_OF)


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `lpisearch --help` answers at once."""
    home = _HOME_OF.get(name)
    if home is None:
        message = f"module 'lpisearch' has no attribute {name!r}"
        raise AttributeError(message)
    module = import_module(home)
    if home == _METHODS:
        return next(one.load() for one in module.CATALOGUE.values() if one.class_name == name)
    return getattr(module, "open_library" if name == "open" else name)


def __dir__() -> list[str]:
    return sorted([*_HOME_OF, "__version__"])
