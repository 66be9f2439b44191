"""Remote documents, labels, status and health."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import quote

from lpisearch.calls.given import each_label
from lpisearch.calls.holding import Contents
from lpisearch.client.apart import NotServed
from lpisearch.client.asking import filter_params
from lpisearch.client.reading import as_document, as_record
from lpisearch.files import refuse_others, whole_file
from lpisearch.records import (
    Document,
    Entry,
    Filter,
    Finding,
    LabelReport,
    PredictedLabel,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from lpisearch.client.transport import Transport

_PAGE = 1000
_EXPORTED = b'{"id": "'


def _inside(path: str, name: str) -> str:
    return f"{path}/{quote(name, safe='', errors='replace')}"


class Holding(Contents):
    """What is there; the methods are those of `Library`."""

    _transport: Transport

    def __iter__(self) -> Iterator[Document]:
        """Go through all documents in the order of ingest."""
        return self._documents(Filter())

    def label(
        self,
        *documents: str,
        add: str | Sequence[str] = (),
        remove: str | Sequence[str] = (),
        where: Filter | None = None,
    ) -> LabelReport:
        """Give documents labels and take others away, whatever their sources say."""
        body: dict[str, Any] = {"documents": documents, "where": _as_dict(where)}
        body |= {"add": each_label(add), "remove": each_label(remove)}
        return as_record(LabelReport, self._transport.ask("POST", "/labels", body=body))  # type: ignore[no-any-return]

    def predicted(self, name: str) -> tuple[PredictedLabel, ...]:
        """Return the labels that were predicted for a document, most probable first."""
        found = self._transport.get(_inside("/predicted", name))
        return tuple(PredictedLabel(**each) for each in found)

    def forget_predicted(self, *documents: str, where: Filter | None = None) -> int:
        """Remove predicted labels, of all documents if none are named; return of how many."""
        body = {"documents": documents, "where": _as_dict(where)}
        said = self._transport.ask("POST", "/predicted/forget", body=body)
        return int(said["documents"])

    def vectors(self, index: str = "default") -> tuple[list[str], NDArray[np.float32]]:
        """Return the documents of an index: their ids, and their vectors as rows at unit length."""
        import numpy as np

        ids: list[str] = []
        rows: list[list[float]] = []
        while True:
            page = {"index": index, "limit": _PAGE, "offset": len(ids)}
            said = self._transport.get("/vectors", page)
            ids += said["ids"]
            rows += said["vectors"]
            if len(ids) >= said["total"] or not said["ids"]:
                return ids, np.array(rows, np.float32)

    def status(self) -> dict[str, Any]:
        """Return counts of documents, labels, splits and sources, and how it is served."""
        return self._transport.get("/status")  # type: ignore[no-any-return]

    def state(self) -> str:
        """Return a mark of the library as it is: while it is the same, so are all answers."""
        return str(self.status()["state"])

    def writer(self) -> str:
        """Return who is writing to the library now; "" if nobody is."""
        return str(self.status()["writer"])

    def _listing(
        self, wanted: Filter, limit: int, offset: int, sort: str
    ) -> tuple[list[Entry], int]:
        params = filter_params(wanted) | {"sort": sort}
        found: list[Entry] = []
        while True:
            left = _PAGE if limit < 0 else min(limit - len(found), _PAGE)
            page = {"limit": left, "offset": offset + len(found)}
            said = self._transport.get("/documents", params | page)
            found += [as_record(Entry, each) for each in said["documents"]]
            if len(said["documents"]) < left or len(found) == limit:
                return found, said["total"]

    def names(self, kind: str, beginning: str = "", most: int = 100) -> list[str]:
        """Return names that begin so: of "label", "index" or "document"."""
        params = {"kind": kind, "beginning": beginning, "most": most}
        return self._transport.get("/names", params)  # type: ignore[no-any-return]

    def document(self, name: str) -> Document:
        """Return one document by its id or path."""
        return as_document(self._transport.get(_inside("/documents", name)))

    def delete(self, *names: str) -> int:
        """Remove documents by id or path, all or none; return how many."""
        if not names:
            return 0
        return int(self._transport.ask("DELETE", "/documents", {"id": names})["removed"])

    def export(
        self,
        target: Path | IO[str],
        wanted: Filter | None = None,
        *,
        force: bool = False,
        on_stage: Callable[[str], None] = lambda _name: None,
    ) -> int:
        """Write documents as JSON Lines, to a file of this machine or to a stream of text."""
        found = self._transport.lines("/export", filter_params(wanted or Filter()))
        lines = _counted(found, on_stage)
        if not isinstance(target, Path):
            return sum(1 for line in lines if target.write(f"{line}\n"))
        if not force:
            refuse_others(target, "an export", lambda begins: begins.startswith(_EXPORTED))
        with whole_file(target) as stream:
            return sum(1 for line in lines if stream.write(f"{line}\n".encode()))

    def examine(
        self,
        *,
        repair: bool = False,
        on_stage: Callable[[str], None] = lambda _name: None,  # noqa: ARG002 (as `Library` has it)
    ) -> list[Finding]:
        """Look for damage; who mends it does so where the library is.

        `on_stage` is not called: a server tells nothing before it answers.
        """
        if repair:
            raise NotServed("examine(repair=True)")
        return [as_record(Finding, each) for each in self._transport.get("/doctor")["findings"]]

    def _documents(self, wanted: Filter) -> Iterator[Document]:
        for line in self._transport.lines("/export", filter_params(wanted)):
            yield as_document(json.loads(line))


def _counted(lines: Iterator[str], on_stage: Callable[[str], None]) -> Iterator[str]:
    """Yield lines, and say now and then how many there were."""
    for number, line in enumerate(lines, start=1):
        yield line
        if number % _PAGE == 0:
            on_stage(f"{number:,} documents written")


def as_json(options: Any) -> dict[str, Any]:
    """Return options as the JSON that the server reads."""
    said = asdict(options)
    return {name: str(value) if isinstance(value, Path) else value for name, value in said.items()}


def _as_dict(where: Filter | None) -> dict[str, Any] | None:
    return None if where is None else where.as_dict()
