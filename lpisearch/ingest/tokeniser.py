"""The tokeniser of a library: stored settings and language detection.

The language is chosen once: by the user, or found in the first batch of documents of the first
ingest. Up to 200 documents of that batch are looked at, and 50 of each later one, so that a
library of several languages can be told what it holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors import BadOption
from lpisearch.messages import Message, call
from lpisearch.storage import TOKENISER
from lpisearch.terms.detection import FALLBACK, Evidence
from lpisearch.terms.documents import document_tokens
from lpisearch.terms.languages import TokeniserSettings
from lpisearch.terms.tokeniser import Tokeniser

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lpisearch.records import Document
    from lpisearch.storage import Transaction

AUTO = "auto"
_FIRST_SAMPLE = 200
_LATER_SAMPLE = 50


class Tokenising:
    """Gives the tokens to store of each document; finds the language of a new library.

    Parameters
    ----------
    transaction
        On the library.
    language
        That the user asked for, or "auto".

    Raises
    ------
    BadOption
        The library is in another language than the one asked for.
    """

    def __init__(self, transaction: Transaction, language: str = AUTO) -> None:
        chosen = "" if language == AUTO else language
        self._tokeniser: Tokeniser | None = None
        self._finds = not chosen and transaction.settings.get(TOKENISER) is None
        self._evidence = Evidence()
        if not self._finds:
            self._tokeniser = library_tokeniser(transaction, chosen)

    def __call__(self, document: Document) -> str:
        """Return the tokens of a document; `see` has been called with its batch."""
        if self._tokeniser is None:
            raise RuntimeError("the language is found before a document is cut")
        return document_tokens(self._tokeniser, document)

    def see(self, transaction: Transaction, documents: Sequence[Document]) -> None:
        """Look at a batch that is about to be written; the first one settles the language."""
        if not self._finds or not documents:
            return
        first = self._tokeniser is None
        self._evidence.add(sample(documents, _FIRST_SAMPLE if first else _LATER_SAMPLE))
        if first:
            self._tokeniser = library_tokeniser(transaction, self._evidence.language)

    def remarks(self) -> list[str]:
        """Return what the user should know of the language that was found."""
        if not self._finds or self._tokeniser is None:
            return []
        used = self._tokeniser.settings.language
        remarks: list[str] = [self._evidence.describe(used)]
        most = self._evidence.language
        if most != used:
            remarks.append(
                Message(f"Most documents are in {most}. Next: ", call("retokenise", language=most))
            )
        return remarks


def sample(documents: Sequence[Document], number: int) -> Iterator[str]:
    """Yield the texts of so many documents, evenly spread."""
    step = max(len(documents) / number, 1.0)
    for at in range(min(number, len(documents))):
        document = documents[int(at * step)]
        yield f"{document.title}\n{document.text}"


def library_tokeniser(transaction: Transaction, language: str = "") -> Tokeniser:
    """Return the tokeniser of a library, storing its language if it has none yet.

    Raises
    ------
    BadOption
        The library is in another language than the one asked for.
    """
    stored = transaction.settings.get(TOKENISER)
    if stored is None:
        settings = TokeniserSettings.for_language(language or FALLBACK)
        transaction.settings.set(TOKENISER, settings.as_dict())
        return Tokeniser(settings)
    settings = TokeniserSettings.from_dict(stored)
    if language and TokeniserSettings.for_language(language).language != settings.language:
        raise LanguageDiffers(settings.language, language)
    return Tokeniser(settings)


class LanguageDiffers(BadOption):
    """The documents of the library were cut into words in another language."""

    def __init__(self, has: str, asked: str) -> None:
        super().__init__("language", f"this library is in {has}")
        self.next_step = call("retokenise", language=asked)
