"""Documents, queries and judgements of collections that ir_datasets provides, by `irds:NAME`.

ir_datasets downloads a collection when it is first used, to a folder of its own. Documents are
written to a temporary file of JSON Lines, which is read like any other: so an ingest of a million
of them needs no more memory than one of a file, and an unchanged collection is not read again.
"""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lpisearch.errors import LibraryUnwritable, LpiSearchError, PackageMissing
from lpisearch.messages import nearest, printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PREFIX = "irds:"
_PLAIN = ("url", "date")  # fields that are kept beside title and text
_KINDS = {"docs": "documents", "queries": "queries", "qrels": "judgements"}


class CollectionUnreadable(LpiSearchError):
    """A collection of ir_datasets is unknown, incomplete or cannot be read."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(
            f"{printable(name)}: {printable(reason)}.",
            "choose a collection listed at https://ir-datasets.com, such as irds:vaswani",
        )


def is_collection(name: str) -> bool:
    """Tell whether a path names a collection of ir_datasets."""
    return name.startswith(PREFIX)


def spool_documents(name: str, target: Path) -> str:
    """Write the documents of a collection to a file of JSON Lines; return the collection's name.

    Each has the language of the collection, if it has one.
    """
    with _iterated(name, "docs") as (documents, dataset), target.open("wb") as stream:
        language = getattr(dataset, "docs_lang", str)() or ""
        for document in documents:
            fields = _fields(document) | ({"language": language} if language else {})
            line = f"{json.dumps(fields, ensure_ascii=False)}\n"
            try:
                stream.write(line.encode(errors="replace"))
            except OSError as error:  # of the disk, where others are of a download
                raise LibraryUnwritable(target, error.strerror or str(error)) from error
    return name


def queries_of(name: str) -> Iterator[tuple[str, str]]:
    """Yield the queries of a collection as (id, text)."""
    with _iterated(name, "queries") as (queries, _):
        for query in queries:
            yield str(query.query_id), " ".join(_text(query).split())


def judgements_of(name: str) -> Iterator[tuple[str, str, int]]:
    """Yield the judgements of a collection as (query, document, grade)."""
    with _iterated(name, "qrels") as (judgements, _):
        for one in judgements:
            yield str(one.query_id), str(one.doc_id), int(one.relevance)


def _fields(document: Any) -> dict[str, str]:
    """Return id, title and text of a document, and its address and date if it has them.

    Where the text begins with the title, it is not repeated.
    """
    title, text = str(getattr(document, "title", "") or "").strip(), _text(document).strip()
    if title and text.startswith(title):
        text = text[len(title) :].lstrip()
    facts = {name: str(getattr(document, name, "") or "") for name in _PLAIN}
    stated = {name: value for name, value in facts.items() if value}
    return {"id": str(document.doc_id), "title": title, "text": text, **stated}


def _text(record: Any) -> str:
    """Return the text of a document or query: what its collection says is searched."""
    stated: Callable[[], str] | None = getattr(record, "default_text", None)
    return str(stated() if stated is not None else record.text)


@contextmanager
def _iterated(name: str, kind: str) -> Iterator[tuple[Iterator[Any], Any]]:
    """Yield the records of a collection, and itself; errors of ir_datasets are stated."""
    try:
        import ir_datasets
    except ImportError as error:
        raise PackageMissing(f"A collection such as {name}", "ir_datasets", "ir") from error
    key = name.removeprefix(PREFIX)
    try:
        dataset = ir_datasets.load(key)
    except KeyError as error:
        known = nearest(key, list(ir_datasets.registry))
        raise CollectionUnreadable(name, f"ir_datasets has no such collection{known}") from error
    if not getattr(dataset, f"has_{kind}")():
        raise CollectionUnreadable(name, f"it has no {_KINDS[kind]}")
    try:
        yield getattr(dataset, f"{kind}_iter")(), dataset
    except LpiSearchError:
        raise
    except Exception as error:  # whatever a download or a parser of it raises
        reason = f"it cannot be read ({type(error).__name__}: {error})"
        raise CollectionUnreadable(name, reason) from error
