"""A query as sent to one shard."""

from __future__ import annotations

from dataclasses import dataclass, field

from lpisearch.settings.indexes import SearchOptions


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to a shard.

    Attributes
    ----------
    text
        As it was typed.
    options
        How it is answered; its documents are chosen from among the first `offset + k`.
    plain
        Whether signs in it ask for nothing.
    document
        The tokens of a document, in place of a text.
    like, unlike
        The tokens of documents that the question moves towards, and away from.
    left_out
        Keys of documents of this shard that are not to be found.
    """

    text: str = ""
    options: SearchOptions = field(default_factory=SearchOptions)
    plain: bool = False
    document: str | None = None
    like: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    left_out: tuple[int, ...] = ()
