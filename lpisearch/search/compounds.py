"""Compounds: words of a query that are joined without a space, such as O_NONBLOCK or os.path.join.

Such a word is one thing, so it is an implied phrase. Where it is all that is searched for, M is the
most that its tokens could add to a BM25 score: (k1 + 1) · Σ idf. A document that has the tokens one
after the other gets a bonus of M, and one that also has the same spelling, capitals and punctuation
included, a further M. So a document with the compound comes before any that has its parts apart,
and the same spelling before others, whatever the lengths of the documents.

Among other words M is multiplied by p², p being the compound's part of the query's Σ idf:
"two-dimensional" in a question of twelve words says little (docs/ranking.md). Capitals do not count
in a hyphenated word of prose, such as e-mail. In "hybrid" the bonus is divided by the deviation of
the words' scores, as these are. Nothing is added in "semantic".

The full-text table finds all documents with the tokens in order, however large the library. The
texts of at most `MOST_COMPARED` of them are compared with the spelling, the best by score first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.index.postings import K1
from lpisearch.numeric.rows import positions
from lpisearch.text.tokeniser import Tokeniser, camel_case_parts, is_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from lpisearch.search.engine import Engine, Scores
    from lpisearch.search.query import Query
    from lpisearch.search.snapshot import Snapshot

    Floats = NDArray[np.float32]


MOST_COMPARED = 500
MOST_COMPOUNDS = 8
"""Compounds of a query that count; a longer list was pasted."""

_PART = r"[^\W_]+"
_JOINT = r"(?:::|://|_+|[-_.:/\\@+&#~%=$‐‑])"  # noqa: RUF001 (hyphens of Unicode)
_LEADING = r"(?:--|[.$@#_]{1,4}|[~/\\](?=[\w.~]{1,80}[/\\]))?"
_CANDIDATE = re.compile(rf"(?<!\w){_LEADING}{_PART}(?:{_JOINT}{_PART})*(?:\+\+|#|_+)?")
# What tells an identifier from a hyphenated word of prose.
_IDENTIFIER = re.compile(r"[\d_.:\\@+&#~%=$]|\A--|\A/|[A-Z]{2}|[a-z][A-Z]")


@dataclass(frozen=True, slots=True)
class Compound:
    """A compound as typed, and its tokens; `variants` are those of other languages."""

    written: str
    tokens: tuple[str, ...]
    variants: tuple[tuple[str, ...], ...] = ()

    @property
    def is_identifier(self) -> bool:
        """Whether it is no hyphenated word of prose: capitals and punctuation matter."""
        return _IDENTIFIER.search(self.written) is not None

    @property
    def is_phrase(self) -> bool:
        """Whether its tokens alone tell it from its parts."""
        return len(self.tokens) > 1 or _is_camel_case(self.written)

    @property
    def phrases(self) -> list[tuple[str, ...]]:
        """The tokens that follow each other: of a camelCase word, that of the whole alone."""
        most = 1 if _is_camel_case(self.written) else None
        return [tokens[:most] for tokens in (self.tokens, *self.variants)]

    def is_in(self, *texts: str) -> bool:
        """Tell whether any of the texts has it in the same spelling."""
        pattern = _exact(self.written)
        if self.is_identifier:
            return any(self.written in text and pattern.search(text) for text in texts)
        return any(pattern.search(text) for text in texts)

    def find(self, text: str) -> tuple[int, int] | None:
        """Return where a text has it first, by preference in the same spelling."""
        match = _exact(self.written).search(text) or _loose(self.written).search(text)
        return match.span() if match else None

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where a text has it in any spelling."""
        return (match.span() for match in _loose(self.written).finditer(text))


def compounds_of(
    text: str, tokeniser: Tokeniser, others: Sequence[Tokeniser] = ()
) -> tuple[Compound, ...]:
    """Return the distinct compounds of a text as typed; `others` are for other languages."""
    found: dict[str, Compound] = {}
    for match in _CANDIDATE.finditer(text):
        written = match.group()
        if _is_camel_case(written) or is_name(written) or _is_joined(written):
            tokens = tokeniser.tokens(written)
            if tokens:
                variants = dict.fromkeys(tuple(other.tokens(written)) for other in others)
                other_tokens = tuple(own for own in variants if own and own != tuple(tokens))
                found[written] = Compound(written, tuple(tokens), other_tokens)
    return tuple(found.values())


def consists_of(tokens: Iterable[str], compounds: Iterable[Compound]) -> bool:
    """Tell whether tokens are those of compounds, and nothing else."""
    own = {token for compound in compounds for token in compound.tokens}
    return bool(own) and own.issuperset(tokens)


def _is_camel_case(written: str) -> bool:
    return written.isalnum() and bool(camel_case_parts(written))


def _is_joined(written: str) -> bool:
    """Tell a compound by its signs; abbreviations (e.g., U.S.) are none."""
    parts = re.findall(_PART, written)
    if len(parts) == 1:
        return not written[0].isalnum()
    return max(map(len, parts)) > 1 or any(map(str.isdigit, parts))


@lru_cache(maxsize=256)
def _exact(written: str) -> re.Pattern[str]:
    before = r"(?<!\w)" if re.match(r"\w", written) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", written) else ""
    flags = 0 if _IDENTIFIER.search(written) else re.IGNORECASE
    return re.compile(before + re.escape(written) + after, flags)


@lru_cache(maxsize=256)
def _loose(written: str) -> re.Pattern[str]:
    """Return a pattern for the parts with other joints, in capitals or not."""
    parts = re.findall(_PART, written)
    if len(parts) == 1:
        return re.compile(_exact(written).pattern, re.IGNORECASE)
    joined = r"[\W_]{1,3}".join(map(re.escape, parts))
    return re.compile(rf"(?<![^\W_]){joined}(?![^\W_])", re.IGNORECASE)


def add_compounds(scores: Scores, query: Query, snapshot: Snapshot) -> Scores:
    """Add the bonus of the compounds of a query."""
    bonus = compound_bonus(scores.total, scores.rows, query, snapshot, scores.by)
    if bonus is None:
        return scores
    return replace(scores, total=scores.total + bonus, compounds=bonus)


def compound_bonus(
    total: Floats, rows: NDArray[np.int64], query: Query, snapshot: Snapshot, by: str
) -> Floats | None:
    """Return what compounds add to the scores of documents by their keys; None without any."""
    if not query.compounds or by == "semantic" or not len(rows):
        return None
    bonus = np.zeros(len(rows), np.float32)
    inverse = 1.0
    if snapshot.engine is not None and by == "hybrid":
        units = snapshot.engine.units
        inverse = float(units.word_standard(query, units.bm25(query)).inverse)
    for compound in query.compounds:
        most = np.float32(inverse * _bonus(compound, query, snapshot.engine, total))
        numbers = _numbers(compound, rows, snapshot)
        if compound.is_phrase:
            bonus[numbers] += most
        best = numbers[np.argsort(-total[numbers], kind="stable")]
        best = best[: MOST_COMPARED // len(query.compounds)]
        bonus[_spelled(compound, best, rows, snapshot)] += most
    return bonus


def _bonus(compound: Compound, query: Query, engine: Engine | None, total: Floats) -> float:
    """Return M, times the square of the part that the compound has of the query."""
    if engine is None:  # FTS5 does not tell the idf: the best score stands for the sum
        part = min(len(compound.tokens) / max(len(query.tokens), 1), 1.0)
        return float(total.max()) * part**2
    words = np.array([engine.postings.find(token) for token in compound.tokens], np.int64)
    own = float(engine.units.idf(words[words >= 0]).sum())
    every = float(query.weights @ engine.units.idf(query.words))
    part = min(own / every, 1.0) if every else 0.0
    return (K1 + 1) * own * part**2


def _numbers(compound: Compound, rows: NDArray[np.int64], snapshot: Snapshot) -> NDArray[np.int64]:
    """Return the documents that have the tokens of a compound one after the other."""
    candidates = snapshot.transaction.lexical.candidates
    keys = set[int]()
    for phrase in compound.phrases:
        keys |= candidates([[token] for token in phrase])
    return positions(np.sort(np.fromiter(keys, np.int64, len(keys))), rows)


def _spelled(
    compound: Compound,
    numbers: NDArray[np.int64],
    rows: NDArray[np.int64],
    snapshot: Snapshot,
) -> Sequence[int]:
    """Return those of some documents that have a compound in the same spelling."""
    number_of = dict(zip(rows[numbers].tolist(), numbers.tolist(), strict=True))
    texts = snapshot.transaction.documents.texts(number_of)
    return [number_of[key] for key, title, text in texts if compound.is_in(title, text)]
