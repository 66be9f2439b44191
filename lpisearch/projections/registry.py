"""The one list of projections, by the name that options use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.projections.lpi import LPI
from lpisearch.projections.lsi import LSI
from lpisearch.projections.olpi import OLPI
from lpisearch.projections.rlpi import RLPI

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lpisearch.projections.base import Projection

PROJECTIONS: Mapping[str, type[Projection]] = {
    "rlpi": RLPI,
    "olpi": OLPI,
    "lpi": LPI,
    "lsi": LSI,
}
