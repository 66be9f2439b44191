from __future__ import annotations

import json

import pytest

from lpisearch.errors import BadOption
from lpisearch.text.languages import TokeniserSettings, available_languages, newest_list, stop_words
from lpisearch.text.tokeniser import Tokeniser


def test_settings_survive_json() -> None:
    """What is stored with a library gives the same settings back."""
    for language in available_languages():
        settings = TokeniserSettings.for_language(language)
        assert TokeniserSettings.from_dict(json.loads(json.dumps(settings.as_dict()))) == settings


def test_default_is_english_with_its_list() -> None:
    """No settings at all means English."""
    assert TokeniserSettings() == TokeniserSettings.for_language("english")
    assert TokeniserSettings().stop_words == "english-1"
    assert TokeniserSettings().stems_alike


def test_language_can_be_a_code_in_any_case() -> None:
    """Two letters are enough, and a language without a list has no stop words."""
    assert TokeniserSettings.for_language(" DE ").language == "german"
    assert TokeniserSettings.for_language("fi").stop_words == ""


@pytest.mark.parametrize(("typed", "meant"), [("englsh", "english"), ("deutch", "dutch")])
def test_unknown_language_suggests_the_nearest(typed: str, meant: str) -> None:
    """A slip of the finger is answered with what was probably meant."""
    with pytest.raises(BadOption, match=f"language: unknown language “{typed}” .*mean {meant}"):
        TokeniserSettings.for_language(typed)


def test_unknown_list_or_newer_rules_are_refused() -> None:
    """Settings of a later program are an error, never silently other tokens."""
    with pytest.raises(BadOption, match="english-99"):
        TokeniserSettings(stop_words="english-99")
    with pytest.raises(BadOption, match="version 2"):
        TokeniserSettings.from_dict({**TokeniserSettings().as_dict(), "version": 2})


def test_another_stemmer_is_told_apart() -> None:
    """Tokens made by another version of the stemmer can be recognised."""
    assert not TokeniserSettings(stemmer="snowball-2.0.0").stems_alike


@pytest.mark.parametrize("language", [name for name in available_languages() if newest_list(name)])
def test_stop_words_never_become_tokens(language: str) -> None:
    """Each word of each list vanishes from a text in its language."""
    tokeniser = Tokeniser(TokeniserSettings.for_language(language))
    listed = stop_words(newest_list(language))
    assert 60 < len(listed) < 260
    assert tokeniser.joined(" ".join(listed).upper()) == ""


def test_lists_name_the_languages_they_are_for() -> None:
    """The common European languages have a list; the empty name is the empty list."""
    listed = {name for name in available_languages() if newest_list(name)}
    assert listed >= {
        "english", "german", "french", "spanish", "italian", "portuguese", "dutch", "swedish",
    }  # fmt: skip
    assert stop_words("") == frozenset()
