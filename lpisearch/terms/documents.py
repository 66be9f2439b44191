"""What is stored of a document: the tokens of its title and text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lpisearch.records import Document
    from lpisearch.terms.tokeniser import Tokeniser


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
