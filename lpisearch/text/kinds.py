"""Kinds of documents that nobody looks for unless they name them, by stated rules.

licence
    A file that is named as licences are (LICENSE, COPYING, copyright, GPL-3, …), or whose text
    begins with the title of a well-known licence.
changes
    A file that is named as change logs are (ChangeLog, CHANGES, RELEASE-NOTES, …). NEWS, HISTORY
    and the like are names of other things too: such a file, and a page with such a title, must have
    at least three lines that begin with the number of a version or with a date.
generated
    A file that a program wrote for a program: indexes of a documentation's own search
    (searchindex.js, search-index.json, genindex.html, …), lists of dependencies (package-lock.json,
    …), minified files (style.min.css, or lines of more than 500 characters on average in a script).

The name is that of the file, without the suffix of text: LICENSE, LICENSE.txt and license.html are
alike, and license.py is not.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from lpisearch.model.documents import CHANGES, GENERATED, LICENCE

if TYPE_CHECKING:
    from lpisearch.model.documents import Document


_TEXTS = frozenset(
    ("", ".adoc", ".asc", ".htm", ".html", ".markdown", ".md", ".rst", ".txt", ".xhtml")
)
_NO_SUFFIX = re.compile(r"\.(\d.*|debian|lesser|lib|old|mit|bsd|apache|[al]?gpl.*)")
_PACKED = re.compile(r"\.(gz|bz2|xz|zst)$")
_SCRIPTS = frozenset((".css", ".js", ".mjs"))
_LICENCE = re.compile(
    r"(un)?licen[cs]es?([-_. ](agreement|mit|bsd|apache|gpl|lgpl|mpl|isc|cc0?)?[-_.\w]*)?"
    r"|copying([-_.]\w+)*|copyrights?|[al]?gpl[-_.]?\d[-_.\d]*|apache[-_.]2([-_.]0)?|mpl[-_.]\d.*"
)
_LICENCE_TITLE = re.compile(
    r"(gnu (affero |lesser |library )?general public license|gnu free documentation license"
    r"|apache license|mozilla public license|(the )?mit license|(the )?bsd .{0,20}license"
    r"|creative commons (legal code|attribution)|eclipse public license|boost software license"
    r"|european union public licen[cs]e|isc license|the artistic license)\b",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"change[-_. ]?logs?([-_. ].*)?|changes|release[-_. ]?(notes?|history)|version[-_. ]?history"
)
_MAYBE_CHANGES = re.compile(r"news([-_.].*)?|history|what'?s[-_. ]?new([-_. ].*)?|releases?")
_CHANGES_TITLE = re.compile(
    r"([\w.]{1,8} )?(change ?log|release (notes|history)|version history|what['’]s new)\b.{0,40}",
    re.IGNORECASE,
)
_VERSION = re.compile(
    r"^[\W_]{0,4}(?:(?:version|release|changes in|[\w.+-]{1,40} \()?\s{0,3})?"
    r"(?:v?\d+\.\d+(?:\.\d+)*|\d{4}-\d\d-\d\d|\d{1,2} \w{3,9} \d{4})\b",
    re.IGNORECASE | re.MULTILINE,
)
_LEAST_VERSIONS = 3
_READ = 20_000  # characters in which versions are looked for
_GENERATED = re.compile(
    r"search[-_.]?(index|data)([-_.].*)?\.(js|json|html?)|(gen|py-mod)index(-.*)?\.html?"
    r"|(package-lock|npm-shrinkwrap|composer\.lock|objects)\.json|.*[-.]lock(\.json|\.yaml)?"
    r"|.*[-.](min|bundle)\.(js|mjs|css)|.*\.(js|css)\.map"
)
_LONG_LINES = 500
_LEAST_CHARACTERS = 5000


def kind_of(path: str, document: Document) -> tuple[str, str]:
    """Return the kind of a document and the reason, or two empty texts."""
    file, suffix, is_text, kind, maybe = _of_path(path)
    if kind:
        return kind, f"it is named {file}"
    if suffix in _SCRIPTS and (length := _line_length(document.text)) > _LONG_LINES:
        return GENERATED, f"its lines have {length:,} characters on average"
    if is_text and (title := _LICENCE_TITLE.match(document.text.lstrip("#=* \n\t"))):
        return LICENCE, f"it begins with “{' '.join(title[0].split())}”"
    titled = _CHANGES_TITLE.fullmatch(document.title.strip())
    if (titled or maybe) and len(_VERSION.findall(document.text[:_READ])) >= _LEAST_VERSIONS:
        named = f"its title is “{document.title}”" if titled else f"it is named {file}"
        return CHANGES, f"{named}, and lines begin with versions or dates"
    return "", ""


@lru_cache(maxsize=64)
def _of_path(path: str) -> tuple[str, str, bool, str, bool]:
    """Return name, suffix, whether it is of text, and what `_of_name` says, of a file."""
    file = PurePath(path).name
    name = _PACKED.sub("", file.casefold())
    suffix = PurePath(name).suffix
    is_text = suffix in _TEXTS or _NO_SUFFIX.fullmatch(suffix) is not None
    return (file, suffix, is_text, *_of_name(name, suffix, is_text=is_text))


def _of_name(name: str, suffix: str, *, is_text: bool) -> tuple[str, bool]:
    """Return the kind that the name of a file states, and whether it may be a change log."""
    if _GENERATED.fullmatch(name):
        return GENERATED, False
    stem = name.removesuffix(suffix) if suffix in _TEXTS else name
    if is_text and _LICENCE.fullmatch(stem):
        return LICENCE, False
    if is_text and _CHANGES.fullmatch(stem):
        return CHANGES, False
    return "", is_text and _MAYBE_CHANGES.fullmatch(stem) is not None


def _line_length(text: str) -> int:
    """Return the mean length of the lines of a text; 0 of a short one."""
    return len(text) // (1 + text.count("\n")) if len(text) >= _LEAST_CHARACTERS else 0


_NAMED = {
    LICENCE: re.compile(
        r"\b((un)?licen[cs]\w*|lizenz\w*|licenza|copyrights?|copying|copyleft|[al]?gpl[-v\d.]*)\b"
    ),
    CHANGES: re.compile(
        r"\b(change[-_ ]?logs?|changes|changed|news|release[ds]?|versions?|history|what['’]s new)\b"
    ),
    GENERATED: re.compile(
        r"\b((search|gen)[-_ ]?(index|data)|minified|lock[-_ ]?files?)\b|\.min\."
    ),
}


def kinds_named(query: str) -> frozenset[str]:
    """Return the kinds that a query names: "licence of the fonts", "changelog tar"."""
    text = query.casefold()
    return frozenset(kind for kind, named in _NAMED.items() if named.search(text))
