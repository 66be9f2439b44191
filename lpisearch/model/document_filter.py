"""Filters: conditions on documents, as text and as JSON, and the formats that they name."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from lpisearch.errors import BadOption
from lpisearch.model.fields import option

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping


_FILTERS = "Filters"  # heading of the help
MOST_CONDITIONS = 100
_LISTS = ("labels", "predicted", "folders", "formats", "languages", "senders")
_NEWER = (*_LISTS[2:], "undated")


def _facet(name: str) -> dict[str, Any]:
    return {"name": name, "typed": False}


@dataclass(frozen=True, slots=True)
class Filter:
    """Which documents match: those that meet every condition.

    Attributes
    ----------
    labels, predicted
        Any of these labels, given by people or predicted by a classifier.
    path
        A folder, any of its name, or a glob over the path or the id, such as "code docs" or
        "*/letters/*": the documents that it matches and all below it.
    split
        This split.
    since, until
        Dated on or after, on or before: ISO dates, or the beginning of one ("2024", "2024-05").
        Where a document states no date, the time of its file counts.
    metadata
        (key, value) pairs, all of which its metadata must contain.
    here
        The folder that a relative `path` may also start from; "" for none.
    media_type
        This media type, such as "application/pdf".
    exact
        Whether `path` begins at the root, as for a deletion; else any folder may have its name.
    folders, formats, languages, senders
        Any of these folders; of these media types or their names, such as "pdf"; of these
        languages; of these senders of mail.
    undated
        Also documents without any date; alone, only these.
    """

    labels: tuple[str, ...] = option(
        (),
        "Only documents with this label (repeatable).",
        summary="Documents with any of these labels.",
        name="label",
        metavar="LABEL",
        names="labels",
        panel=_FILTERS,
    )
    path: str = option(
        "",
        "Only documents under a folder of this name, or matching this glob (path or id).",
        summary="Folder, or glob matched against path or id.",
        metavar="FOLDER|GLOB",
        form="path",
        panel=_FILTERS,
    )
    split: str = option(
        "",
        "Only documents in this split (train or test set).",
        summary="Documents in this split.",
        metavar="NAME",
        panel=_FILTERS,
        advanced=True,
    )
    since: str = option(
        "",
        "Only documents dated on or after DATE, such as 2024-05.",
        summary="Dated on or after: 2024, 2024-05 or 2024-05-31.",
        metavar="DATE",
        panel=_FILTERS,
    )
    until: str = option(
        "",
        "Only documents dated on or before DATE.",
        summary="Dated on or before.",
        metavar="DATE",
        panel=_FILTERS,
    )
    metadata: tuple[tuple[str, str], ...] = option(
        (),
        "Only documents with this metadata (repeatable).",
        summary="Metadata as KEY=VALUE; all must match.",
        name="where",
        metavar="KEY=VALUE",
        form="metadata",
        panel=_FILTERS,
        advanced=True,
    )
    here: str = ""
    predicted: tuple[str, ...] = option(
        (),
        "Only documents with this predicted label; with --label, either may match (repeatable).",
        summary="Documents with any of these predicted labels.",
        metavar="LABEL",
        panel=_FILTERS,
        after="labels",
        advanced=True,
    )
    media_type: str = option("", "Documents of this media type.", typed=False)
    exact: bool = False
    folders: tuple[str, ...] = option(
        (), "Documents below any of these folders.", **_facet("folder")
    )
    formats: tuple[str, ...] = option(
        (),
        "Documents in any of these formats: a name such as pdf, or a media type.",
        **_facet("format"),
    )
    languages: tuple[str, ...] = option(
        (), "Documents in any of these languages.", **_facet("language")
    )
    senders: tuple[str, ...] = option((), "Mail from any of these senders.", **_facet("sender"))
    undated: bool = option(
        False,  # noqa: FBT003 (as in options)
        "Documents without a date too; without since and until, only these.",
        typed=False,
    )

    def __post_init__(self) -> None:
        # Each is a level of an expression, of which databases allow some hundreds.
        if sum(len(getattr(self, name)) for name in (*_LISTS, "metadata")) > MOST_CONDITIONS:
            raise BadOption("where", f"a filter has at most {MOST_CONDITIONS} conditions")

    def as_dict(self) -> dict[str, Any]:
        """Return the filter as a JSON value."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        pairs = [list(pair) for pair in self.metadata]
        lists = {name: list(getattr(self, name)) for name in _LISTS}
        new = {name for name in _NEWER if not values[name]}  # stored filters stay as they were
        values = {name: value for name, value in (values | lists).items() if name not in new}
        return values | {"metadata": pairs}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Filter:
        """Read a filter from a JSON value, and skip unknown conditions."""
        known = {one.name: values[one.name] for one in fields(cls) if one.name in values}
        for name in _LISTS:
            known[name] = tuple(known.get(name, ()))
        metadata = tuple((key, value) for key, value in known.pop("metadata", ()))
        exact = known.pop("exact", bool(known.get("path")))  # as a path was meant once
        return cls(metadata=metadata, exact=exact, **known)


_OFFICE = "application/vnd.openxmlformats-officedocument."
_OASIS = "application/vnd.oasis.opendocument."
FORMATS = {
    "pdf": ("PDF", "application/pdf"),
    "word": ("Word", f"{_OFFICE}wordprocessingml.document", "application/msword"),
    "excel": ("Excel", f"{_OFFICE}spreadsheetml.sheet", "application/vnd.ms-excel"),
    "powerpoint": (
        *("PowerPoint", f"{_OFFICE}presentationml.presentation", "application/vnd.ms-powerpoint"),
    ),
    "mail": ("Mail", "message/rfc822", "application/vnd.ms-outlook", "application/mbox"),
    "web": ("Web page", "text/html", "application/xhtml+xml"),
    "text": ("Text", "text/plain"),
    "markdown": ("Markdown", "text/markdown"),
    "writer": ("OpenDocument text", f"{_OASIS}text"),
    "calc": ("OpenDocument spreadsheet", f"{_OASIS}spreadsheet"),
    "impress": ("OpenDocument slides", f"{_OASIS}presentation"),
    "rtf": ("Rich text", "application/rtf", "text/rtf"),
    "ebook": ("E-book", "application/epub+zip"),
    "code": ("Source code", "text/x-source-code"),
    "manual": ("Manual page", "text/troff", "text/x-info"),
    "xml": ("XML", "application/xml", "text/xml"),
    "yaml": ("YAML", "application/yaml"),
    "table": ("Table", "text/csv", "text/tab-separated-values"),
    "json": ("JSON", "application/json", "application/jsonl", "application/x-ndjson"),
    "rst": ("reStructuredText", "text/x-rst"),
    "org": ("Org", "text/x-org"),
    "asciidoc": ("AsciiDoc", "text/asciidoc"),
    "translation": ("Translation", "text/x-gettext-translation"),
}
"""Formats: the value of a filter, its name for people, and its media types."""
_FORMAT_OF = {kind: name for name, (_, *kinds) in FORMATS.items() for kind in kinds}


def media_types(name: str) -> tuple[str, ...]:
    """Return the media types of a format, or the only one that is named itself."""
    known = FORMATS.get(name.lower())
    return known[1:] if known else (name,)


def format_of(media_type: str) -> str:
    """Return the format of a media type, or the media type itself."""
    return _FORMAT_OF.get(media_type, media_type)


def format_name(name: str) -> str:
    """Return the name of a format for people."""
    return FORMATS[name][0] if name in FORMATS else name


_ONCE = ("path", "split", "since", "until", "media_type")
_ANY = {"label": "labels", "predicted": "predicted"}
_KNOWN = (*_ANY, *_ONCE)
_QUOTE = '"'


def read_conditions(words: Iterable[str]) -> Filter:
    """Read a filter from `label=…`, `path=…`, …, and `FIELD=…` for fields of the metadata.

    Any of several labels may match; all other conditions must. A metadata field that has the name
    of a condition, or an equals sign in it, is quoted as in JSON: `"path"=x`.
    """
    labels: dict[str, list[str]] = {name: [] for name in _ANY.values()}
    once: dict[str, Any] = {}
    metadata: list[tuple[str, str]] = []
    for word in words:
        key, value = read_condition(word)
        if word.startswith(_QUOTE) or key not in _KNOWN:
            metadata.append((key, value))
        elif not value:
            raise BadOption("where", f"{key}= has no value")
        elif key in _ANY:
            labels[_ANY[key]].append(value)
        elif key in once:
            raise BadOption("where", f"{key} is given more than once")
        else:
            once[key] = value
    return Filter(
        labels=tuple(labels["labels"]),
        predicted=tuple(labels["predicted"]),
        metadata=tuple(metadata),
        **once,
    )


def read_condition(word: str) -> tuple[str, str]:
    """Split `KEY=VALUE`; a key in quotation marks is read as JSON."""
    key, end = _quoted(word)
    if end and word[end : end + 1] == "=":
        return key, word[end + 1 :]
    key, equals, value = word.partition("=")
    if not equals or not key:
        raise BadOption("where", f"“{word}” is not KEY=VALUE")
    return key, value


def conditions_of(where: Filter) -> Iterator[tuple[str, Filter]]:
    """Yield each condition of a filter as text, and as a filter of its own."""
    for word in as_conditions(where):
        yield word, replace(read_conditions([word]), here=where.here)
    for name in _LISTS[2:]:
        for value in getattr(where, name):
            yield f"{name.removesuffix('s')}={value}", Filter.from_dict({name: [value]})


def as_conditions(where: Filter) -> Iterator[str]:
    """Yield the conditions that `read_conditions` reads as this filter, but for its facets."""
    for key, name in _ANY.items():
        for label in getattr(where, name):
            yield f"{key}={label}"
    for key in _ONCE:
        if value := getattr(where, key):
            yield f"{key}={value}"
    for key, value in where.metadata:
        plain = key and key not in _KNOWN and "=" not in key and not key.startswith(_QUOTE)
        yield f"{key if plain else json.dumps(key, ensure_ascii=False)}={value}"


def _quoted(word: str) -> tuple[str, int]:
    """Return the quoted text at the beginning, and its end; 0 without one."""
    if not word.startswith(_QUOTE):
        return "", 0
    try:
        text, end = json.JSONDecoder().raw_decode(word)
    except ValueError:
        return "", 0
    return str(text), end
