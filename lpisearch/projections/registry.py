"""The one list of methods, by the name that options use: linear maps, and other embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

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

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lpisearch.projections.base import DocumentTransformer, Projection
    from lpisearch.projections.embedding import Embedding

__all__ = [
    "EMBEDDINGS",
    "FSSL",
    "KRLPI",
    "LPFL",
    "LPI",
    "LPP",
    "LSI",
    "LSLPI",
    "METHODS",
    "NMF",
    "OLPI",
    "PCA",
    "PLSI",
    "PROJECTIONS",
    "RLPI",
    "SLPI",
    "SPCA",
    "SPG",
    "Eigenmaps",
    "LaplacianScore",
]

PROJECTIONS: Mapping[str, type[Projection]] = {
    "rlpi": RLPI,
    "olpi": OLPI,
    "lpi": LPI,
    "lsi": LSI,
    "pca": PCA,
    "lpp": LPP,
    "laplacian-score": LaplacianScore,
    "ls+lpi": LSLPI,
    "fsslpi": FSSL,
    "lpfl": LPFL,
    "spg": SPG,
    "slpi": SLPI,
    "spca": SPCA,
}

EMBEDDINGS: Mapping[str, type[Embedding]] = {
    "eigenmaps": Eigenmaps,
    "krlpi": KRLPI,
    "plsi": PLSI,
    "nmf": NMF,
}

METHODS: Mapping[str, type[DocumentTransformer]] = {**PROJECTIONS, **EMBEDDINGS}
