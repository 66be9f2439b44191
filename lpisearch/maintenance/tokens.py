"""`lpisearch db retokenise`: regenerate the stored tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.ingest.tokeniser import AUTO
from lpisearch.storage import TOKENISER, open_store, writer_lock
from lpisearch.terms.detection import Evidence
from lpisearch.terms.documents import document_tokens
from lpisearch.terms.languages import TokeniserSettings
from lpisearch.terms.tokeniser import Tokeniser

if TYPE_CHECKING:
    from lpisearch.places import Place
    from lpisearch.storage import Snapshot, Transaction

_AT_ONCE = 1000
_LANGUAGE_SAMPLE = 1000


def retokenise(library: Place, language: str = "", wait_seconds: float = 30.0) -> int:
    """Make the tokens of all documents anew, in one transaction, perhaps in another language.

    At "auto" the language is found in up to 2,000 documents, evenly spread.

    Returns
    -------
    int
        How many documents there were.
    """
    with (
        open_store(library, writable=True) as store,
        writer_lock(library, "retokenise", wait_seconds),
        store.writing() as transaction,
    ):
        stored = transaction.settings.get(TOKENISER)
        every = transaction.documents.keys()
        name = language or (stored["language"] if stored else AUTO)
        if name == AUTO:
            name = _found_language(transaction, every)
        settings = TokeniserSettings.for_language(name)
        transaction.settings.set(TOKENISER, settings.as_dict())
        make_tokens(transaction, Tokeniser(settings), every)
        return len(every)


def make_tokens(transaction: Transaction, tokeniser: Tokeniser, keys: list[int]) -> None:
    """Make the tokens of some documents anew, by key."""
    for start in range(0, len(keys), _AT_ONCE):
        some = keys[start : start + _AT_ONCE]
        loaded = zip(some, transaction.documents.load(some), strict=True)
        tokens = {key: document_tokens(tokeniser, document) for key, document in loaded}
        transaction.changes.replace_tokens(tokens)


def _found_language(snapshot: Snapshot, keys: list[int]) -> str:
    step = max(len(keys) // _LANGUAGE_SAMPLE, 1)
    evidence = Evidence()
    evidence.add(
        f"{document.title}\n{document.text}" for document in snapshot.documents.load(keys[::step])
    )
    return evidence.language
