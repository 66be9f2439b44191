"""The tokeniser of a library: its language is settled at the first ingest and stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors import BadOption
from lpisearch.storage.sqlite.configuration import TOKENISER, store_setting, stored_setting
from lpisearch.terms.languages import TokeniserSettings
from lpisearch.terms.tokeniser import Tokeniser

if TYPE_CHECKING:
    from sqlalchemy import Connection

_FIRST_LANGUAGE = "english"


def library_tokeniser(connection: Connection, language: str = "") -> Tokeniser:
    """Return the tokeniser of a library, choosing its language at the first ingest.

    Raises
    ------
    BadOption
        The library is in another language than the one asked for.
    """
    stored = stored_setting(connection, TOKENISER)
    if stored is None:
        settings = TokeniserSettings.for_language(language or _FIRST_LANGUAGE)
        store_setting(connection, TOKENISER, settings.as_dict())
        return Tokeniser(settings)
    settings = TokeniserSettings.from_dict(stored)
    if language and TokeniserSettings.for_language(language).language != settings.language:
        raise LanguageDiffers(settings.language, language)
    return Tokeniser(settings)


class LanguageDiffers(BadOption):
    """The documents of the library were cut into words in another language."""

    def __init__(self, has: str, asked: str) -> None:
        super().__init__("--language", f"the words of this library are cut as {has}")
        self.next_step = f"lpisearch db retokenise --language {asked}"
