"""The tokeniser of a library: its stored settings, and what it stores of a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.database.configuration import TOKENISER, store_setting, stored_setting
from lpisearch.errors import BadOption
from lpisearch.terms.languages import TokeniserSettings
from lpisearch.terms.tokeniser import Tokeniser

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from lpisearch.records import Document

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


def document_tokens(tokeniser: Tokeniser, document: Document) -> str:
    """Return the tokens of title and text; the words of the title count twice.

    A title that also begins the text is not added a second time, so that it makes no difference
    where a format keeps it. Weighing the title double was measured to help (docs/ranking.md).
    """
    title, text = document.title, document.text
    if not title:
        return tokeniser.joined(text)
    titles = f"{title}\n" if _begins_with(text, title) else f"{title}\n{title}\n"
    return tokeniser.joined(titles + text)


def _begins_with(text: str, title: str) -> bool:
    start = text[: 2 * len(title) + 100]
    return " ".join(start.split()).startswith(" ".join(title.split()))
