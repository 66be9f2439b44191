"""The index of a library by its path, and counts of a few texts, for tests and benchmarks."""

from collections.abc import Iterable, Sequence

import numpy as np

from lpisearch.index.subspace import SubspaceIndex
from lpisearch.location import Location
from lpisearch.search.session import Session
from lpisearch.text.vocabulary import Counts, Vocabulary, VocabularyLimits, count_all_terms, narrow


def open_index(library: Location, name: str = "default") -> SubspaceIndex:
    """Open an index of a library."""
    with Session(library) as session:
        return session.index(name)


def build_counts(
    texts: Iterable[Sequence[str]], limits: VocabularyLimits | None = None
) -> tuple[Vocabulary, Counts]:
    """Learn the vocabulary of lists of texts, which are joined tokens, and count its terms."""
    terms, every = count_all_terms(texts)
    n_documents, n_terms = every.matrix.shape
    frequencies = np.bincount(every.matrix.indices, minlength=n_terms).astype(np.int32)
    vocabulary, stays = Vocabulary.choose_by(terms, frequencies, n_documents, limits)
    return vocabulary, Counts(narrow(every.matrix, stays), every.lengths)
