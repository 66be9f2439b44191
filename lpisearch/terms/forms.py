"""Surface forms of tokens: "baking" for "bake"."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lpisearch.terms.tokeniser import Tokeniser

MOST_CHARACTERS = 200_000
"""As much of a text is looked at: what is said of it is said of its beginning."""


def surface_forms(text: str, tokeniser: Tokeniser) -> dict[str, str]:
    """Return for each token of a text the form in which the text writes it most often.

    Capitals make no difference to the count; of the ways to write a form, the most frequent is
    given. Looked at is as much of a text as for a snippet.
    """
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    written: Counter[str] = Counter()
    for chunk, count in Counter(text[:MOST_CHARACTERS].split()).items():
        for start, end, token in tokeniser.spans(chunk):
            forms[token][chunk[start:end].casefold()] += count
            written[chunk[start:end]] += count
    spelled: dict[str, str] = {}
    for form in sorted(written, key=lambda form: (written[form], form)):
        spelled[form.casefold()] = form
    return {
        token: spelled[max(counts, key=lambda form: (counts[form], form))]
        for token, counts in forms.items()
    }
