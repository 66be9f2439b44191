from __future__ import annotations

import numpy as np
import pytest

from lpisearch.errors import BadOption
from lpisearch.text.vocabulary import Vocabulary, VocabularyLimits

FREQUENCIES = np.array([1, 5, 2, 10, 5, 3])


def chosen(limits: VocabularyLimits) -> list[int]:
    """Return the columns that stay, of ten documents."""
    return np.flatnonzero(limits.choose(FREQUENCIES, 10)).tolist()


@pytest.mark.parametrize(
    ("limits", "columns"),
    [
        (VocabularyLimits(), [0, 1, 2, 3, 4, 5]),
        (VocabularyLimits(min_df=3), [1, 3, 4, 5]),
        (VocabularyLimits(max_df=0.5), [0, 1, 2, 4, 5]),
        (VocabularyLimits(max_df=0.3), [0, 2, 5]),
        (VocabularyLimits(max_terms=2), [1, 3]),
        (VocabularyLimits(max_terms=3), [1, 3, 4]),
        (VocabularyLimits(min_df=2, max_df=0.9, max_terms=1), [1]),
        (VocabularyLimits(min_df=11), []),
    ],
)
def test_limits_keep_the_right_terms(limits: VocabularyLimits, columns: list[int]) -> None:
    """Limits include their bounds; of equally frequent terms the first stays."""
    assert chosen(limits) == columns


@pytest.mark.parametrize(
    ("n_documents", "smallest"), [(1, 1), (1000, 1), (1001, 2), (10_000, 2), (10_001, 3)]
)
def test_smallest_frequency_follows_the_size_of_the_library(
    n_documents: int, smallest: int
) -> None:
    """A small library keeps every word, a large one drops those that link nothing."""
    assert VocabularyLimits().min_df_for(n_documents) == smallest
    assert VocabularyLimits(min_df=7).min_df_for(n_documents) == 7


@pytest.mark.parametrize(
    ("name", "value"),
    [("min_df", 0), ("max_df", 0.0), ("max_df", 1.5), ("max_df", float("nan")), ("max_terms", 0)],
)
def test_impossible_limits_are_refused(name: str, value: float) -> None:
    """The message names the field and the value."""
    with pytest.raises(BadOption, match=f"{name}: must be .*{value}"):
        VocabularyLimits(**{name: value})  # type: ignore[arg-type] # a name from the table above


def test_terms_survive_storage() -> None:
    """Terms in any script come back from their bytes, in order."""
    vocabulary = Vocabulary(("zebra", "añil", "東京"), np.array([3, 1, 2], np.int32), 4)
    again = Vocabulary.from_bytes(vocabulary.terms_as_bytes(), vocabulary.document_frequencies, 4)
    assert again.terms == vocabulary.terms
    assert again.index == {"zebra": 0, "añil": 1, "東京": 2}


def test_text_without_known_words_has_no_terms() -> None:
    """An empty query and one of unknown words are both rows without entries."""
    vocabulary = Vocabulary(("a",), np.array([1], np.int32), 1)
    for tokens, unknown in (([], 0), (["x", "y", "x"], 3)):
        counted = vocabulary.count(tokens)
        assert (len(counted.indices), len(counted.counts), counted.unknown) == (0, 0, unknown)
        assert counted.indices.dtype == np.int32
