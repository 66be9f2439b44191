"""How things are said."""

import pytest

from lpisearch.messages import nearest


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("rpli", " (did you mean rlpi?)"),
        ("OLPI", " (did you mean olpi?)"),
        ("lsl", " (did you mean lsi?)"),
        ("quantum", ""),
        ("", ""),
    ],
)
def test_a_word_that_is_nearly_a_choice_is_hinted_at(word: str, hint: str) -> None:
    assert nearest(word, ["rlpi", "olpi", "lsi", "svm"]) == hint


def test_several_choices_may_be_hinted_at() -> None:
    assert nearest("wheat", ["Wheat", "whe\x1bat"], 2) == " (did you mean Wheat or whe\ufffdat?)"
