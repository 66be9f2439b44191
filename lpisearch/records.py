"""The values that cross from room to room. All are frozen; none knows where it came from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Document:
    """One document as a reader found it.

    Attributes
    ----------
    title, text
        Plain text. Either may be empty.
    id
        The identity the source itself states (a JSON field, a column), else None: the
        workflow then derives one from the path.
    labels
        Topics, in the order of the source, each once.
    split
        "train", "test", another word of the source, or "".
    date
        ISO 8601 date or date-time, or "".
    path
        Where the document first came from, if the source says so (an exported library does).
    media_type
        Of the document before its text was extracted, e.g. "application/pdf".
    metadata
        Anything else that the source states: JSON values only.
    """

    title: str
    text: str
    id: str | None = None
    labels: tuple[str, ...] = ()
    split: str = ""
    date: str = ""
    path: str = ""
    media_type: str = "text/plain"
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Problem:
    """One record of a source that could not be read, or something worth a warning.

    Attributes
    ----------
    reason
        A short sentence without a full stop: "not valid JSON: …".
    where
        The place within the source: "line 5000", "message 3", or "" for the whole file.
    warning
        True when the document was read all the same.
    """

    reason: str
    where: str = ""
    warning: bool = False
