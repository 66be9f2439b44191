"""Remote search, similar documents, classification and topics."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpisearch.calls.asking import Questions
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
_PLAIN = ("path", "split", "since", "until", "media_type")


def filter_params(where: Filter) -> dict[str, Any]:
    """Return a filter as parameters."""
    params: dict[str, Any] = {
        "label": where.labels,
        "predicted": where.predicted,
        "where": tuple(as_conditions(Filter(metadata=where.metadata))),
    }
    return params | {name: getattr(where, name) for name in _PLAIN}


def _params(options: SearchOptions) -> dict[str, Any]:
    plain = {name: getattr(options, name) for name in SearchOptions.__slots__ if name != "where"}
    return plain | filter_params(options.where)


class Asking(Questions):
    """What is asked; the methods are those of `Library`."""

    _transport: Transport

    def _search(
        self, text: str, wanted: SearchOptions, like: Sequence[str], unlike: Sequence[str]
    ) -> Answer:
        params = _params(wanted) | {"q": text, "like": tuple(like), "unlike": tuple(unlike)}
        return as_answer(self._transport.get("/search", params))

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

    def _similar(self, document: str | Document, wanted: SearchOptions, *, files: bool) -> Answer:
        params, ask = _params(wanted), self._transport.ask
        if isinstance(document, Document):
            text = {"title": document.title, "text": document.text}
            return as_answer(ask("POST", "/similar", params, text))
        try:
            return as_answer(ask("GET", "/similar", params | {"id": document}))
        except DocumentNotFound:
            if not files or not Path(document).is_file():
                raise
        with Path(document).open("rb") as stream:
            params |= {"name": Path(document).name}
            return as_answer(ask("POST", "/similar/file", params, file=stream))

    def _batch(
        self,
        queries: Iterable[tuple[str, str]],
        wanted: SearchOptions,
        on_note: Callable[[str], None],
    ) -> Generator[Run, None, None]:
        """Send some at once."""
        how = asdict(wanted) | {"where": wanted.where.as_dict()}
        waiting = [{"id": name, "text": text} for name, text in queries]
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

    def _classify(self, what: str | Path, options: ClassifyOptions) -> Classification:
        how = asdict(options)
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
        files = [Path(name) for name in arguments if Path(name).is_file()]
        if not files:
            yield self._classify(" ".join(arguments), options)
        for file in files:
            yield self._classify(file, options)

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
