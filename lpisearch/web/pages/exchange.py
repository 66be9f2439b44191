"""What leaves an answer: saved searches, feeds, exports; and labels for many results at once."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit
from xml.etree import ElementTree as ET

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import QueryParams
from starlette.responses import Response

from lpisearch.messages import printable
from lpisearch.model.codec import json_text, to_json
from lpisearch.web.jobs import state_file
from lpisearch.web.pages.results import HITS, Choices
from lpisearch.web.pages.templates import back_to, refuse_read_only
from lpisearch.web.problems import Refusal
from lpisearch.web.state import WebState, state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from starlette.requests import Request

    from lpisearch.library import Library
    from lpisearch.model.answers import Hit
    from lpisearch.model.documents import Entry

    Found = Hit | Entry

_IDS_BYTES = 1 << 20
MOST_EXPORTED, _AT_ONCE, _IN_FEED = 10_000, 200, 50
_MOST_SAVED, _LONGEST_NAME, _LONGEST_SEARCH = 100, 100, 8000
_SAVED = "searches"
_ATOM = "http://www.w3.org/2005/Atom"
_SPECIAL = re.compile(r"([\\{}%$&#_^~])")


def saved_searches(shared: WebState) -> dict[str, str]:
    """Return the addresses of the saved searches by name."""
    earlier = state_file(shared.library.path, "searches").with_suffix(".json")
    try:
        saved = json.loads(shared.records.value(_SAVED) or earlier.read_bytes())
        return {str(name): str(where) for name, where in saved.items()}
    except (OSError, ValueError, AttributeError):
        return {}


async def save(request: Request) -> Response:
    """Save a search under a name, or remove one."""
    refuse_read_only(request)
    async with request.form() as form:
        search, name = str(form.get("search", "")), str(form.get("name", "")).strip()
        removed = str(form.get("remove", ""))
    shared, choices = state_of(request), _choices(search)
    saved = saved_searches(shared)
    if removed:
        saved.pop(removed, None)
    else:
        name = printable(name or choices.q or "Search")[:_LONGEST_NAME]
        saved = {name: choices.address(), **saved}
    await run_in_threadpool(_keep, shared, dict(list(saved.items())[:_MOST_SAVED]))
    return back_to("/" if removed else choices.address())


def _keep(shared: WebState, saved: dict[str, str]) -> None:
    shared.records.set_value(_SAVED, json_text(saved))


def _choices(address: str) -> Choices:
    """Read the address of a search that a form sends back."""
    query = urlsplit(address[:_LONGEST_SEARCH]).query
    return Choices.of(QueryParams(parse_qsl(query)))


def results_of(library: Library, choices: Choices, most: int) -> Iterator[Found]:
    """Yield the results of a search on all pages, or the documents of a listing."""
    for offset in range(0, most, _AT_ONCE):
        size = min(_AT_ONCE, most - offset)
        if choices.asks:
            options = replace(choices.options, k=size, offset=offset, facets=False)
            asked: dict[str, Any] = {"like": choices.like, "unlike": choices.unlike}
            page: Sequence[Found] = library.search(choices.q, options=options, **asked).hits
        else:
            sort = "added" if choices.sort == "relevance" else choices.sort
            page, _ = library.listing(choices.where, limit=size, offset=offset, sort=sort)
        yield from page
        if len(page) < size:
            return


def export(request: Request) -> Response:
    """Export all results of a search as CSV, JSON Lines or BibTeX."""
    choices, name = Choices.of(request.query_params), request.query_params.get("as", "")
    if name not in _WRITERS:
        raise Refusal(422, f"Unknown format; choose one of: {', '.join(_WRITERS)}.")
    media_type, write = _WRITERS[name]
    text = write(list(results_of(state_of(request).library, choices, MOST_EXPORTED)))
    headers = {"Content-Disposition": f'attachment; filename="results.{name}"'}
    return Response(text, media_type=media_type, headers=headers)


def _csv(results: list[Found]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(("rank", "score", "id", "title", "date", "labels", "path", "passage"))
    for rank, one in enumerate(results, 1):
        snippet = getattr(one, "snippet", None)
        row = (one.id, one.title, one.date, "; ".join(one.labels), one.path)
        cells = (rank, getattr(one, "score", ""), *row, snippet.text if snippet else "")
        writer.writerow([_harmless(cell) for cell in cells])
    return out.getvalue()


def _harmless(cell: Any) -> Any:
    """Keep spreadsheets from taking a text for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(("=", "+", "-", "@")) else cell


def _jsonl(results: list[Found]) -> str:
    return "".join(f"{json_text(to_json(one))}\n" for one in results)


def _bibtex(results: list[Found]) -> str:
    entries = []
    for number, one in enumerate(results, 1):
        known = {"title": one.title or one.id, "year": one.date[:4], "file": one.path}
        known["keywords"] = ", ".join(one.labels)
        texts = {key: _SPECIAL.sub(_escaped, text) for key, text in known.items() if text}
        lines = [f"  {key} = {{{text}}}" for key, text in texts.items()]
        entries.append(f"@misc{{result{number},\n" + ",\n".join(lines) + "\n}\n")
    return "\n".join(entries)


def _escaped(sign: re.Match[str]) -> str:
    return {"\\": r"\textbackslash{}", "^": r"\^{}", "~": r"\~{}"}.get(sign[1], f"\\{sign[1]}")


_WRITERS: dict[str, tuple[str, Callable[[list[Found]], str]]] = {
    "csv": ("text/csv", _csv),
    "jsonl": ("application/jsonl", _jsonl),
    "bib": ("application/x-bibtex", _bibtex),
}


def feed(request: Request) -> Response:
    """Return the newest results of a search as an Atom feed."""
    choices = replace(Choices.of(request.query_params), sort="date", page=1)
    shared, root = state_of(request), str(request.base_url).rstrip("/")
    ET.register_namespace("", _ATOM)
    top = ET.Element(f"{{{_ATOM}}}feed")
    _add(top, "title", choices.q or shared.library.path.name)
    _add(top, "id", f"{root}{choices.address('/feed')}")
    _add(top, "updated", datetime.now(UTC).isoformat(timespec="seconds"))
    ET.SubElement(top, f"{{{_ATOM}}}link", rel="self", href=f"{root}{choices.address('/feed')}")
    for one in results_of(shared.library, choices, _IN_FEED):
        entry = ET.SubElement(top, f"{{{_ATOM}}}entry")
        address = f"{root}/document?{urlencode({'id': one.id})}"
        _add(entry, "title", one.title or one.id)
        _add(entry, "id", address)
        date = (one.date or getattr(one, "file_date", ""))[:10]
        _add(entry, "updated", f"{date}{'0001-01-01'[len(date) :]}T00:00:00Z")
        ET.SubElement(entry, f"{{{_ATOM}}}link", href=address)
        if snippet := getattr(one, "snippet", None):
            _add(entry, "summary", snippet.text)
    content = ET.tostring(top, xml_declaration=True, encoding="UTF-8")
    return Response(content, media_type="application/atom+xml")


_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


def _add(parent: ET.Element, name: str, text: str) -> None:
    ET.SubElement(parent, f"{{{_ATOM}}}{name}").text = _CONTROL.sub("", text)


async def label_many(request: Request) -> Response:
    """Label all results of a search, those of one page, or documents by their ids."""
    refuse_read_only(request)
    async with request.form(max_part_size=_IDS_BYTES) as form:
        label, documents = str(form.get("label", "")).strip(), str(form.get("documents", ""))
        search, scope = str(form.get("search", "")), str(form.get("scope", "page"))
    choices, library = _choices(search), state_of(request).library
    if not label:
        raise Refusal(422, "A label is missing.")

    def names() -> list[str]:
        if documents:
            return [str(name) for name in json.loads(documents)][:MOST_EXPORTED]
        results = list(results_of(library, choices, MOST_EXPORTED))
        first = (choices.page - 1) * HITS
        return [one.id for one in (results if scope == "all" else results[first : first + HITS])]

    def change() -> None:
        if chosen := names():
            library.label(*chosen, add=(label,))

    await run_in_threadpool(change)
    return back_to(f"/?{urlencode({'label': label})}" if documents else choices.address())
