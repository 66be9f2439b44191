"""The one list of methods, by the name that options use: linear maps, and other embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.projections.eigenmaps import Eigenmaps
from lpisearch.projections.lpi import LPI
from lpisearch.projections.lpp import LPP
from lpisearch.projections.lsi import LSI
from lpisearch.projections.nmf import NMF
from lpisearch.projections.olpi import OLPI
from lpisearch.projections.pca import PCA
from lpisearch.projections.plsi import PLSI
from lpisearch.projections.rlpi import RLPI

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lpisearch.projections.base import DocumentTransformer, Projection
    from lpisearch.projections.embedding import Embedding

PROJECTIONS: Mapping[str, type[Projection]] = {
    "rlpi": RLPI,
    "olpi": OLPI,
    "lpi": LPI,
    "lsi": LSI,
    "pca": PCA,
    "lpp": LPP,
}

EMBEDDINGS: Mapping[str, type[Embedding]] = {
    "eigenmaps": Eigenmaps,
    "plsi": PLSI,
    "nmf": NMF,
}

METHODS: Mapping[str, type[DocumentTransformer]] = {**PROJECTIONS, **EMBEDDINGS}
