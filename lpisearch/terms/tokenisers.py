"""Cache tokenisers per thread, since stemmers cannot be shared."""

from __future__ import annotations

from threading import local
from typing import TYPE_CHECKING, Any

from lpisearch.terms.languages import TokeniserSettings
from lpisearch.terms.tokeniser import Tokeniser

if TYPE_CHECKING:
    from collections.abc import Mapping


class Tokenisers(local):
    """Makes a tokeniser when a thread first needs it, and keeps it."""

    def __init__(self) -> None:
        self._made: dict[TokeniserSettings, Tokeniser] = {}

    def of(self, stored: Mapping[str, Any]) -> Tokeniser:
        """Return the tokeniser of this thread for settings as a library or an index has them."""
        settings = TokeniserSettings.from_dict(stored)
        if settings not in self._made:
            self._made[settings] = Tokeniser(settings)
        return self._made[settings]
