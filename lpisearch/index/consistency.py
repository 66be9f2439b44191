"""Shapes and values of the arrays of an index, which a stranger may have written.

Checksums prove that files are as they were written, not that they fit each other. So shapes and
kinds of numbers are compared whenever an index is opened, from the headers alone. Where every byte
is read anyway, at the first opening and by `doctor`, so is every number: finite, and within the
array that it points into.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class _Rule:
    """What an array must be; lengths are numbers, or names that stand for the same everywhere."""

    kinds: str  # letters of `dtype.kind`
    shape: tuple[int | str, ...]
    points_into: str = ""  # the name of the length that bounds its numbers
    is_ascending: bool = False  # from 0 to that length


_HASH_BYTES, _TAKEN_IN, _TWIN_KEYS = 16, 3, 5
_PASSAGE = "passage_"
_NONE = -1  # in an array of pointers: none
_STEPS, _SCALES = "_steps", "_scales"  # of packed rows


def _lists(
    starts: str, entries: str, lists: str, kinds: str = "iu", into: str = ""
) -> dict[str, _Rule]:
    """Return the rules for lists that stand one after the other, and where each starts."""
    return {
        starts: _Rule("iu", (f"{lists} + 1",), entries, is_ascending=True),
        entries: _Rule(kinds, (entries,), into),
    }


def _rows(name: str, rows: str, columns: str) -> dict[str, _Rule]:
    """Return the rules for rows that may be packed."""
    return {
        f"{name}s": _Rule("fi", (rows, columns)),
        f"{name}{_STEPS}": _Rule("f", (rows,)),
        f"{name}{_SCALES}": _Rule("f", (columns,)),
    }


def _codes(prefix: str) -> dict[str, _Rule]:
    """Return the rules for the codes of terms."""
    others = f"{prefix}others"
    return {
        f"{prefix}code_terms": _Rule("i", (f"{prefix}codes",), "words"),
        f"{prefix}code_others": _Rule("i", (others,), "words"),
        f"{prefix}code_places": _Rule("i", (others,), f"{prefix}sequence_terms"),
    }


def _postings(prefix: str, documents: str) -> dict[str, _Rule]:
    """Return the rules for documents, or for passages, and their terms."""
    postings, strongest = f"{prefix}postings", f"{prefix}strongest terms"
    own = {
        "document_lengths": _Rule("iu", (documents,)),
        "distinct_terms": _Rule("iu", (documents,)),
        "posting_starts": _Rule("iu", ("words + 1",), postings, is_ascending=True),
        "posting_places": _Rule("iu", (postings,), documents),
        "posting_counts": _Rule("iu", (postings,)),
        "strongest_terms": _Rule("iu", (documents, strongest), "words"),
        "strongest_counts": _Rule("iu", (documents, strongest)),
        **_rows("vector", documents, "dimensions"),
    }
    return {f"{prefix}{name}": rule for name, rule in own.items()}


def _appended(prefix: str, lexicon: str, words: str, units: str) -> dict[str, _Rule]:
    """Return the rules for the entries of appended documents, and for new words."""
    entries = f"new {prefix}entries"
    return {
        f"new_{prefix}posting_starts": _Rule("iu", (f"{words} + 1",), entries, is_ascending=True),
        f"new_{prefix}posting_places": _Rule("iu", (entries,), units),
        f"new_{prefix}posting_counts": _Rule("iu", (entries,)),
        f"new_{lexicon}line_numbers": _Rule("iu", (words,), words),
        f"new_{prefix}lost_frequencies": _Rule("iu", (words,)),
    }


_RULES = {
    **_postings("", "documents"),
    **_postings(_PASSAGE, "passages"),
    **_lists("sequence_starts", "sequence_terms", "documents", into="words"),
    **_lists("passage_sequence_starts", "passage_sequence_terms", "passages", into="words"),
    **_codes(""),
    **_codes(_PASSAGE),
    **_lists("plain_starts", "plain_spellings", "plain", "u"),
    **_lists("written_starts", "written_words", "written", "u"),
    **_lists("field_lexicon_starts", "field_lexicon", "field words", "u"),
    **_lists("field_posting_starts", "field_posting_places", "field words", into="units"),
    "field_posting_counts": _Rule("iu", ("field_posting_places",)),
    "field_lexicon_columns": _Rule("iu", ("field words",)),
    "field_document_lengths": _Rule("iu", ("units",)),
    "field_name_sizes": _Rule("u", ("documents",)),
    "written_documents": _Rule("iu", ("written",)),
    **_appended("", "", "words", "documents"),
    **_appended(_PASSAGE, "", "words", "passages"),
    **_appended("field_", "field_", "field words", "units"),
    "twins": _Rule("iu", ("documents",), "documents"),
    "twin_keys": _Rule("u", ("documents", _TWIN_KEYS)),
    "passage_owners": _Rule("iu", ("passages",), "documents"),
    "passage_spans": _Rule("iu", ("passages", 2)),
    "document_rows": _Rule("iu", ("documents",)),
    "content_hashes": _Rule("u", ("documents", _HASH_BYTES)),
    "taken_in": _Rule("iu", ("documents", _TAKEN_IN)),
    "terms": _Rule("u", ("bytes of terms",)),
    "document_frequencies": _Rule("iu", ("terms",)),
    "idf": _Rule("f", ("terms",)),
    "term_factors": _Rule("f", ("terms",)),
    **_rows("loading", "terms", "dimensions"),
    "scales": _Rule("f", ("dimensions",)),
    "lexicon": _Rule("u", ("bytes of words",)),
    "lexicon_starts": _Rule("iu", ("words + 1",), "bytes of words", is_ascending=True),
    "lexicon_columns": _Rule("iu", ("words",), "terms"),
    **_rows("classifier_vector", "labelled", "classifier's dimensions"),
    **_rows("classifier_loading", "terms", "classifier's dimensions"),
    **_rows("classifier_svm_weight", "terms", "labels"),
    "classifier_centroids": _Rule("f", ("labels", "classifier's dimensions")),
    "classifier_svm_intercepts": _Rule("f", ("labels",)),
    **_rows("classifier_map_svm_weight", "classifier's dimensions", "labels"),
    "classifier_map_svm_intercepts": _Rule("f", ("labels",)),
    "classifier_member_starts": _Rule("iu", ("labelled + 1",), "memberships", is_ascending=True),
    "classifier_members": _Rule("iu", ("memberships",), "labels"),
}


# Arrays whose names begin so belong together; “_s” is for the steps and scales of packed rows.
_FAMILIES = (
    *("sequence_", "passage_sequence_", "code_", "passage_code_", "plain_", "written_", "field_"),
    *("classifier_svm_", "classifier_map_svm_", "classifier_member", "classifier_vector_s"),
    *("new_posting_", "new_passage_posting_", "new_field_posting_", "classifier_loading_s"),
    *("loading_s", "vector_s", "passage_vector_s", "classifier_svm_weight_s"),
)
_TEXTS = ("terms", "lexicon", "field_lexicon", "plain_spellings", "written_words")


def misfit(arrays: Arrays) -> str:
    """Return which array does not fit the others, by type or shape; "" if all do."""
    lengths: dict[str, int] = {}
    for family in _FAMILIES:
        own = {name for name in _RULES if name.startswith(family)}
        own -= {name for name in own if name.endswith((_STEPS, _SCALES)) != family.endswith("_s")}
        if own & arrays.keys() and (lost := sorted(own - arrays.keys())):
            return f"{lost[0]} is missing"
    for name in sorted(_RULES.keys() & arrays.keys()):
        rule, array = _RULES[name], arrays[name]
        if array.dtype.kind not in rule.kinds or array.ndim != len(rule.shape):
            return f"{name} has the wrong type or shape"
        for length, needed in zip(array.shape, rule.shape, strict=True):
            key, more = _length(needed)
            if length < more or lengths.setdefault(key, length - more) != length - more:
                return f"{name} does not fit the other arrays"
    documents, units = lengths.get("documents", 0), lengths.get("units")
    passages = None if units is None else units - documents
    # An index that was made before passages has none, whatever has units for them.
    if passages is not None and (passages < 0 or lengths.get("passages", passages) != passages):
        return "field_document_lengths does not fit the other arrays"
    return ""


def wrong_values(arrays: Arrays) -> str:
    """Return which array has a number that cannot be; "" if none has. Every number is read."""
    lengths = {
        key: length - more
        for name in _RULES.keys() & arrays.keys()
        for length, (key, more) in zip(
            arrays[name].shape, map(_length, _RULES[name].shape), strict=True
        )
    }
    for name in _TEXTS:
        try:
            arrays[name].tobytes().decode() if name in arrays else ""
        except UnicodeDecodeError:
            return f"{name} has bytes that are not UTF-8"
    for name, array in arrays.items():
        rule = _RULES.get(name)
        if array.dtype.kind == "f" and not all(np.isfinite(part).all() for part in _parts(array)):
            return f"{name} has numbers that are not finite"
        if rule is None or not rule.points_into:
            continue
        bound = lengths[rule.points_into] - (not rule.is_ascending)
        if any(part.min() < _NONE or part.max() > bound for part in _parts(array)):
            return f"{name} points outside the index"
        ends = (int(array[0]), int(array[-1])) if rule.is_ascending else ()
        if rule.is_ascending and (ends != (0, bound) or (np.diff(array) < 0).any()):
            return f"{name} is not in order"
    return ""


def _length(needed: int | str) -> tuple[str, int]:
    """Split “terms + 1” into a name and a number; a plain number has the name “1”."""
    if isinstance(needed, int):
        return "1", needed - 1
    name, _, more = needed.partition(" + ")
    return name, int(more or 0)


_ROWS = 1 << 16


def _parts(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield an array in parts, so that a large one is never in memory as a whole."""
    plain = array.view(np.ndarray)
    return (plain[at : at + _ROWS] for at in range(0, len(plain), _ROWS))
