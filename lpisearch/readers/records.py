"""Fields and single values of a record.

Which field has which role is decided once for each list of field names (`find_roles`), so that a
record costs little more than copying it (`document_from_fields`).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from lpisearch.model.documents import SECTION_KINDS, Document, Problem, Section
from lpisearch.readers.encoding import clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lpisearch.options import ReadOptions


# The parts of a document, and the usual names of their fields, best first.
USUAL_NAMES = {
    "id": ("_id", "id", "docid", "docno", "doc_id"),
    "title": ("title", "subject", "headline", "name"),
    "text": ("text", "body", "content", "contents", "abstract", "description"),
    "labels": (
        "labels", "label", "tags", "category", "categories", "topics", "topic", "class",
    ),
    "split": ("split",),
    "date": ("date",),
    "path": ("path",),
    "media_type": ("media_type",),
    "metadata": ("metadata",),
    "sections": ("sections",),
}  # fmt: skip
FRONT_MATTER = ("title", "labels", "split", "date")  # the parts that front matter may state

_NOTHING = Document("", "")
_WORDS = {"auto", "stated", "folder", "none", ""}
_LABEL_FILES = (".csv", ".tsv")


@dataclass(frozen=True, slots=True)
class FieldRoles:
    """The name of the field for each part of a document, or None.

    `others` have no role and become metadata; `missing` are the fields that the options name and
    the record lacks, by part.
    """

    id: str | None = None
    title: str | None = None
    text: str | None = None
    labels: str | None = None
    split: str | None = None
    date: str | None = None
    path: str | None = None
    media_type: str | None = None
    metadata: str | None = None
    sections: str | None = None
    others: tuple[str, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict)


def find_roles(
    names: Iterable[str], options: ReadOptions, usual: Iterable[str] = tuple(USUAL_NAMES)
) -> FieldRoles:
    """Assign fields to parts: those that the options name, then those with `usual` names."""
    names = tuple(names)
    find = _Names(names).find
    named = named_fields(options)
    roles = {part: find(name) for part, name in named.items()}
    missing = {part: name for part, name in named.items() if roles[part] is None}
    for part in usual:
        if part not in roles and _is_automatic(part, options):
            taken = {None, *roles.values()}
            candidates = map(find, USUAL_NAMES[part])
            roles[part] = next((name for name in candidates if name not in taken), None)
    played = set(roles.values())
    others = tuple(name for name in names if name not in played)
    return FieldRoles(**roles, others=others, missing=missing)


def named_fields(options: ReadOptions) -> dict[str, str]:
    """Return the fields that the options name, by part."""
    named = {
        "id": options.id_field,
        "title": options.title_field,
        "text": options.text_field,
        "labels": "" if _names_no_field(options.labels) else options.labels,
        "split": "" if _names_no_field(options.split) else options.split,
    }
    return {part: name for part, name in named.items() if name}


def document_from_fields(
    fields: Mapping[str, Any], parts: FieldRoles, base: Document = _NOTHING, separators: str = ""
) -> Document | Problem:
    """Make a document of one record, or a problem if it has neither title nor text.

    What no field states comes from `base`, whose metadata are added. `separators` are the
    characters that separate labels within a string.
    """
    try:
        return _document(fields, parts, base, separators)
    except Unusable as error:
        return Problem(str(error))


def _document(
    fields: Mapping[str, Any], parts: FieldRoles, base: Document, separators: str
) -> Document:
    title = text_of(fields[parts.title], parts.title) if parts.title is not None else ""
    text = text_of(fields[parts.text], parts.text) if parts.text is not None else base.text
    title = title or base.title
    if (not text or text.isspace()) and (not title or title.isspace()):
        raise Unusable("has neither title nor text")
    sections = sections_of(fields[parts.sections], text) if parts.sections is not None else ()
    return Document(
        title,
        text,
        id_of(fields[parts.id], parts.id) if parts.id is not None else None,
        labels_of(fields[parts.labels], parts.labels, separators) if parts.labels else (),
        text_of(fields[parts.split], parts.split) if parts.split is not None else "",
        date_of(fields[parts.date]) if parts.date is not None else "",
        _string(fields, parts.path),
        _string(fields, parts.media_type) or base.media_type,
        _metadata(fields, parts if sections else _no_sections(parts), base),
        sections or base.sections,
    )


def _string(fields: Mapping[str, Any], name: str | None) -> str:
    value = fields[name] if name is not None else ""
    return clean(value) if isinstance(value, str) else ""


def _metadata(fields: Mapping[str, Any], parts: FieldRoles, base: Document) -> dict[str, Any]:
    """Collect what no other part of the document contains."""
    metadata = dict(base.metadata)
    for name in parts.others:
        metadata[clean(name)] = json_safe(fields[name])
    # What turns out to be no date, no path or no media type is kept as it was written.
    if parts.date is not None and (value := fields[parts.date]) and not date_of(value):
        metadata[parts.date] = json_safe(value)
    for part in (parts.path, parts.media_type):
        if part is not None and (value := fields[part]) and not isinstance(value, str):
            metadata[part] = json_safe(value)
    if parts.metadata is not None and (value := fields[parts.metadata]) is not None:
        stated = json_safe(value)
        metadata.update(stated if isinstance(stated, dict) else {parts.metadata: stated})
    return metadata


def _no_sections(parts: FieldRoles) -> FieldRoles:
    """Return the same roles, with an unusable field of sections among the metadata."""
    if parts.sections is None:
        return parts
    return replace(parts, sections=None, others=(*parts.others, parts.sections))


def _names_no_field(option: str) -> bool:
    """Tell whether a value of --labels or --split is a keyword or a file with labels."""
    return option in _WORDS or option.lower().endswith(_LABEL_FILES)


def _is_automatic(part: str, options: ReadOptions) -> bool:
    return part not in {"labels", "split"} or getattr(options, part) in {"auto", "stated"}


class _Names:
    """The names of the fields of a record; there may be a million."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._exact = frozenset(names)
        self._folded: dict[str, str] = {}
        for name in names:
            self._folded.setdefault(name.strip().casefold(), name)

    def find(self, name: str) -> str | None:
        """Return the field of that name, ignoring case if none matches exactly."""
        return name if name in self._exact else self._folded.get(name.strip().casefold())


DEEPEST = 32  # metadata nested deeper is refused, so that every later step can recurse


class Unusable(ValueError):
    """A value of the wrong type for its field. The text is a reason for a `Problem`."""


def text_of(value: Any, field: str) -> str:
    """Return a string, a number or a list of these as text; None is ""."""
    if type(value) is str:
        return clean(value)
    if value is None:
        return ""
    if isinstance(value, (list, tuple)):
        return "\n".join(text_of(_scalar(item, field), field) for item in value)
    return clean(str(_word(_scalar(value, field))))


def id_of(value: Any, field: str) -> str | None:
    """Return a string or a number as an id; None if it is empty."""
    if isinstance(value, (list, tuple)):
        raise Unusable(f"its field “{field}” is a list, not an id")
    return text_of(value, field) or None


def labels_of(value: Any, field: str, separators: str = "") -> tuple[str, ...]:
    """Return a word or a list of words as labels, each once; split a string at `separators`."""
    if isinstance(value, str) and separators:
        labels: Iterable[str] = map(str.strip, split_labels(clean(value), separators))
    elif isinstance(value, (list, tuple, set, frozenset)):
        labels = [text_of(_scalar(item, field), field) for item in value]
    else:
        labels = [text_of(value, field)]
    return tuple(dict.fromkeys(label for label in labels if label and not label.isspace()))


def split_labels(text: str, separators: str) -> list[str]:
    """Split a text at any of the separators."""
    return re.split(f"[{re.escape(separators)}]", text) if separators else [text]


def date_of(value: Any) -> str:
    """Return a date in ISO 8601, or "" if the value is not a date.

    A date already in this form is unchanged. The form of e-mails is understood too; forms in which
    day and month could be confused are not.
    """
    if isinstance(value, (date, datetime)):
        return value.isoformat()
    text = str(value).strip() if isinstance(value, (str, int)) else ""
    if _YEAR_OR_MONTH.fullmatch(text):
        return text
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError:
        return _email_date(text)
    if _ISO_DATE.match(text):
        return text
    return parsed.isoformat()


def sections_of(value: Any, text: str) -> tuple[Section, ...]:
    """Return the sections that an exported library states; () if the value has another form.

    The form is a list of objects with `start`, `kind` and `name`, in ascending order within the
    text.
    """
    if not isinstance(value, list):
        return ()
    try:
        sections = tuple(
            Section(int(one["start"]), one["kind"], clean(one["name"])) for one in value
        )
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
        return ()
    starts = [0, *(section.start for section in sections), len(text)]
    known = all(section.kind in SECTION_KINDS for section in sections)
    return sections if known and starts == sorted(starts) else ()


def json_safe(value: Any, depth: int = 0) -> Any:
    """Return a value as JSON types; raises Unusable if it is nested too deeply."""
    if depth > DEEPEST:
        raise Unusable(f"its metadata is nested deeper than {DEEPEST} levels")
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {
            clean(str(json_safe(key, depth + 1))): json_safe(item, depth + 1)
            for key, item in value.items()
        }
    if isinstance(value, (list, tuple, set, frozenset)):
        return [json_safe(item, depth + 1) for item in value]
    if isinstance(value, (int, float)):
        return _json_number(value)
    if isinstance(value, (date, datetime, time)):
        return value.isoformat()
    return None if value is None else clean(str(value))


_YEAR_OR_MONTH = re.compile(r"\d{4}(-(0[1-9]|1[0-2]))?")
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d(T|$)")
_LONGEST_INTEGER = 1024


def _json_number(value: float) -> float | str | None:
    # Python refuses to print a number of thousands of digits in decimal.
    if isinstance(value, int):
        return value if value.bit_length() <= _LONGEST_INTEGER else hex(value)
    return value if math.isfinite(value) else None


def _email_date(text: str) -> str:
    try:
        return parsedate_to_datetime(text).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


def _scalar(value: Any, field: str) -> Any:
    if isinstance(value, (dict, list, tuple, set)):
        kind = "an object" if isinstance(value, dict) else "a nested list"
        raise Unusable(f"its field “{field}” is {kind}, not text")
    return value


def _word(value: Any) -> Any:
    """Return the JSON spelling of a Boolean, so that a label true reads as it was written."""
    return str(value).lower() if isinstance(value, bool) else json_safe(value)
