"""The lines of a TREC run, and names as their fields.

The fields of a run and of judgements stand between spaces, and programs that read them part at any
white space. So a name is written percent-encoded as in a URL: "%", white space and what cannot be
seen become the bytes of their UTF-8, such as %20. No two names are written alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator

    from lpisearch.records.answers import Run

_RUN_NAME = "lpisearch"
_ERRORS = "surrogatepass"  # halves of pairs, which JSON can state, come back too


def run_lines(runs: Iterable[Run]) -> Iterator[str]:
    """Yield the lines of a TREC run.

    Scores fall strictly, so that no program has to break a tie.

    Examples
    --------
    >>> list(run_lines([("q 1", [("my letters/one.txt", 2.5), ("two.txt", 2.5)])]))
    ['q%201 Q0 my%20letters/one.txt 1 2.5 lpisearch', 'q%201 Q0 two.txt 2 2.49999976 lpisearch']
    """
    for query, ranked in runs:
        ceiling = float("inf")
        for rank, (document, score) in enumerate(ranked, start=1):
            ceiling = _below(score, ceiling)
            names = f"{as_field(query)} Q0 {as_field(document)}"
            yield f"{names} {rank} {ceiling:.9g} {_RUN_NAME}"


def as_field(name: str) -> str:
    """Return a name as one field of a run or of judgements."""
    return "".join(
        quote(sign, safe="", errors=_ERRORS) if _is_written(sign) else sign for sign in name
    )


def named(field: str, known: Container[str]) -> str:
    """Return the name that a field of judgements means, of those that are known.

    That is the one which would be written so; else the field itself, as files that were not made
    from a run name a document.
    """
    try:
        name = unquote(field, errors=_ERRORS)
    except UnicodeDecodeError:  # nothing is written so
        return field
    return field if field in known and name not in known else name


def _is_written(sign: str) -> bool:
    return sign in "% " or not sign.isprintable()


def _below(score: float, ceiling: float) -> float:
    """Return the score, or the next smaller one that trec_eval, which reads float32, can tell."""
    import numpy as np

    single = np.float32(score)
    if float(single) < ceiling:
        return float(single)
    return float(np.nextafter(np.float32(ceiling), np.float32(-np.inf)))
