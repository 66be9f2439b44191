"""Questions to a library that is served: search, similar documents, classes, topics."""

from __future__ import annotations

import os
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpisearch.client.reading import as_answer, as_classification, as_map, as_reason, as_record
from lpisearch.errors import DocumentNotFound
from lpisearch.records import Classification, Document, Facets, Filter, TopicReport
from lpisearch.records.maps import Mark
from lpisearch.settings import ClassifyOptions, SearchOptions
from lpisearch.settings.conditions import as_conditions

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from lpisearch.client.transport import Transport
    from lpisearch.records import Answer, Run
    from lpisearch.records.maps import DocumentMap, Reason

_AT_ONCE = 200
_KNOWN = ("label", "predicted", "path", "split", "since", "until", "media_type")


def filter_params(where: Filter) -> dict[str, Any]:
    """Return a filter as parameters."""
    params: dict[str, Any] = {
        "label": where.labels,
        "predicted": where.predicted,
        "where": tuple(as_conditions(Filter(metadata=where.metadata))),
    }
    return params | {name: getattr(where, name) for name in _KNOWN[2:]}


def _params(options: SearchOptions) -> dict[str, Any]:
    plain = {name: getattr(options, name) for name in SearchOptions.__slots__ if name != "where"}
    return plain | filter_params(options.where)


def each_label(labels: str | Sequence[str]) -> tuple[str, ...]:
    """Return labels, given as one or several."""
    return (labels,) if isinstance(labels, str) else tuple(labels)


def _warned(said: str) -> None:
    warnings.warn(said, UserWarning, stacklevel=2)


class Asking:
    """What is asked; the methods are those of `Library`."""

    _transport: Transport

    def search(
        self,
        text: str,
        *,
        k: int | None = None,
        by: str | None = None,
        label: str | Sequence[str] = (),
        index: str | None = None,
        sort: str | None = None,
        explain: bool = False,
        facets: bool = False,
        like: Sequence[str] = (),
        unlike: Sequence[str] = (),
        options: SearchOptions | None = None,
    ) -> Answer:
        """Find documents by meaning and by words, best first."""
        given = {"k": k, "by": by, "index": index, "sort": sort}
        flags = {"explain": explain or None, "facets": facets or None}
        chosen = _chosen(options, each_label(label), given | flags)
        params = _params(chosen) | {"q": text, "like": tuple(like), "unlike": tuple(unlike)}
        return as_answer(self._transport.get("/search", params))

    query = search

    def reason(
        self,
        text: str,
        document: str,
        *,
        options: SearchOptions | None = None,
        like: Sequence[str] = (),
        unlike: Sequence[str] = (),
    ) -> Reason:
        """Say why a search finds a document where it does: its score as an exact sum."""
        params = _params(options or SearchOptions()) | {"q": text, "id": document}
        params |= {"like": tuple(like), "unlike": tuple(unlike)}
        return as_reason(self._transport.get("/reason", params))

    def marks(
        self, text: str, *parts: str, options: SearchOptions | None = None
    ) -> list[tuple[Mark, ...]]:
        """Return where words of a query, and near words, are in each of some texts."""
        chosen = options or SearchOptions()
        how = asdict(chosen) | {"where": chosen.where.as_dict()}
        body = {"text": text, "parts": parts, "options": how}
        found = self._transport.ask("POST", "/marks", body=body)["marks"]
        return [tuple(Mark(**mark) for mark in some) for some in found]

    def map(
        self,
        projection: str = "neighbours",
        *,
        number: int | None = None,
        seed: int = 0,
        index: str = "default",
        previous: DocumentMap | None = None,  # noqa: ARG002 (as `Library` has it)
    ) -> DocumentMap:
        """Place all documents in a plane, with their topics and labels.

        `previous` changes nothing: the server has its own, and gives the same again as long as
        nothing has changed.
        """
        params = {"projection": projection, "number": number, "seed": seed, "index": index}
        return as_map(self._transport.get("/map", params))

    def similar(
        self,
        document: str | Path | Document,
        *,
        k: int | None = None,
        by: str | None = None,
        label: str | Sequence[str] = (),
        index: str | None = None,
        files: bool = True,
        options: SearchOptions | None = None,
    ) -> Answer:
        """Find documents that are like one: of the library, any other, or a local file."""
        chosen = _chosen(options, each_label(label), {"k": k, "by": by, "index": index})
        params, ask = _params(chosen), self._transport.ask
        if isinstance(document, Document):
            text = {"title": document.title, "text": document.text}
            return as_answer(ask("POST", "/similar", params, text))
        name = os.fspath(document)
        try:
            return as_answer(ask("GET", "/similar", params | {"id": name}))
        except DocumentNotFound:
            if not files or not Path(name).is_file():
                raise
        with Path(name).open("rb") as stream:
            params |= {"name": Path(name).name}
            return as_answer(ask("POST", "/similar/file", params, file=stream))

    def batch(
        self,
        queries: Iterable[tuple[str, str]] | Path,
        *,
        options: SearchOptions | None = None,
        on_note: Callable[[str], None] = _warned,
    ) -> Generator[Run, None, None]:
        """Answer many queries, given as (id, text) or by a file of this machine.

        Some are sent at once.

        Yields
        ------
        tuple
            The query's id, and the ids of documents with their scores.
        """
        from lpisearch.readers.queries import read_queries

        chosen = options or SearchOptions()
        how = asdict(chosen) | {"where": chosen.where.as_dict()}
        asked = read_queries(queries) if isinstance(queries, Path) else queries
        waiting = [{"id": name, "text": text} for name, text in asked]
        told: set[str] = set()
        for start in range(0, len(waiting), _AT_ONCE):
            body = {"queries": waiting[start : start + _AT_ONCE], "options": how}
            said = self._transport.ask("POST", "/batch", body=body)
            for note in said["notes"]:
                if note not in told:
                    told.add(note)
                    on_note(note)
            for run in said["runs"]:
                yield run["query"], [(hit["id"], hit["score"]) for hit in run["hits"]]

    def classify(
        self,
        what: str | Path,
        *,
        k: int = 5,
        classifier: str = "auto",
        index: str = "default",
        confidence: float = 0.5,
    ) -> Classification:
        """Judge a text, or the first document of a file of this machine."""
        how = {"k": k, "classifier": classifier, "index": index, "confidence": confidence}
        if not isinstance(what, Path):
            body = how | {"text": what}
            return as_classification(self._transport.ask("POST", "/classify", body=body))
        with what.open("rb") as stream:
            params = how | {"name": what.name}
            said = self._transport.ask("POST", "/classify/file", params, file=stream)
        return replace(as_classification(said), input=str(what))

    def classify_each(
        self, arguments: Sequence[str], options: ClassifyOptions
    ) -> Iterator[Classification]:
        """Judge files that exist, or else one text.

        Yields
        ------
        Classification
            One for the text, or one for each file.
        """
        how: dict[str, Any] = {name: getattr(options, name) for name in ClassifyOptions.__slots__}
        files = [Path(name) for name in arguments if Path(name).is_file()]
        if not files:
            yield self.classify(" ".join(arguments), **how)
        for file in files:
            yield self.classify(file, **how)

    def facets(self, where: Filter | None = None) -> Facets:
        """Count documents by label, split, folder, format and date."""
        said = self._transport.get("/facets", filter_params(where or Filter()))
        return as_record(Facets, said)  # type: ignore[no-any-return]

    def topics(
        self,
        number: int | None = None,
        *,
        terms: int = 8,
        documents: int = 3,
        seed: int = 0,
        index: str = "default",
        on_stage: Callable[[str], None] = lambda _name: None,  # noqa: ARG002 (as above)
    ) -> TopicReport:
        """Find what the library is about: clusters of documents in the subspace.

        `on_stage` is not called: a server tells nothing before it answers.
        """
        shown = {"terms": terms, "documents": documents}
        params = {"number": number, "seed": seed, "index": index} | shown
        return as_record(TopicReport, self._transport.get("/topics", params))  # type: ignore[no-any-return]


def _chosen(
    options: SearchOptions | None, labels: tuple[str, ...], given: dict[str, Any]
) -> SearchOptions:
    """Return the options of a search; what is given by name goes before them."""
    chosen = replace(
        options or SearchOptions(),
        **{name: value for name, value in given.items() if value is not None},
    )
    return replace(chosen, where=replace(chosen.where, labels=labels)) if labels else chosen
