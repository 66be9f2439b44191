"""Index entries of a library."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lpisearch.settings import IndexSpec


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One index of the library.

    Attributes
    ----------
    name, method, parameters
        What was asked for.
    fingerprint
        Of the documents that it covers.
    folder
        The name of its folder below the folder of all indexes.
    created_at, state
        When it was built, and "ready".
    """

    name: str
    method: str
    parameters: dict[str, Any]
    fingerprint: str
    folder: str
    created_at: str
    state: str = "ready"

    @property
    def spec(self) -> IndexSpec:
        """What was asked for."""
        asked = {"name": self.name, "method": self.method}
        return IndexSpec.from_dict(self.parameters | asked)
