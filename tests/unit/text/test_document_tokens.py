from __future__ import annotations

import pytest

from lpisearch.model.documents import Document
from lpisearch.text.tokeniser import Tokeniser, document_tokens


@pytest.mark.parametrize(
    ("title", "text", "tokens"),
    [
        ("", "Bread rises", "bread rise"),
        ("Leaven", "Bread rises", "leaven leaven bread rise"),
        ("Leaven", "Leaven\n\nBread rises", "leaven leaven bread rise"),
        ("Rye  bread", "\n Rye bread\nrises", "rye bread rye bread rise"),
        ("Leaven", "", "leaven leaven"),
    ],
)
def test_the_words_of_a_title_count_twice(title: str, text: str, tokens: str) -> None:
    """It makes no difference whether a format keeps the title in the text or beside it."""
    assert document_tokens(Tokeniser(), Document(title, text)) == tokens
