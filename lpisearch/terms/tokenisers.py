"""Tokenisers by their settings, one of each for every thread: a stemmer is not shared."""

from __future__ import annotations

from threading import local
from typing import TYPE_CHECKING

from lpisearch.terms.tokeniser import Tokeniser

if TYPE_CHECKING:
    from lpisearch.terms.languages import TokeniserSettings


class Tokenisers(local):
    """Makes a tokeniser when a thread first needs it, and keeps it."""

    def __init__(self) -> None:
        self._made: dict[TokeniserSettings, Tokeniser] = {}

    def of(self, settings: TokeniserSettings) -> Tokeniser:
        """Return the tokeniser of this thread for some settings."""
        if settings not in self._made:
            self._made[settings] = Tokeniser(settings)
        return self._made[settings]
