from __future__ import annotations

import json

import pytest

from lpisearch.errors import BadOption
from lpisearch.text.languages import (
    NO_LANGUAGE,
    TokeniserSettings,
    available_languages,
    newest_list,
    stop_words,
)
from lpisearch.text.tokeniser import Tokeniser


def test_settings_survive_json() -> None:
    for language in available_languages():
        settings = TokeniserSettings.for_language(language)
        assert TokeniserSettings.from_dict(json.loads(json.dumps(settings.as_dict()))) == settings


def test_default_is_english_with_its_list() -> None:
    assert TokeniserSettings() == TokeniserSettings.for_language("english")
    assert TokeniserSettings().stop_words == "english-1"
    assert TokeniserSettings().stems_alike


def test_language_can_be_a_code_in_any_case() -> None:
    assert TokeniserSettings.for_language(" DE ").language == "german"
    assert TokeniserSettings.for_language("fi").stop_words == ""


@pytest.mark.parametrize(("typed", "meant"), [("englsh", "english"), ("deutch", "dutch")])
def test_unknown_language_suggests_the_nearest(typed: str, meant: str) -> None:
    with pytest.raises(BadOption, match=f"language: unknown language “{typed}” .*mean {meant}"):
        TokeniserSettings.for_language(typed)


def test_unknown_list_or_newer_rules_are_refused() -> None:
    with pytest.raises(BadOption, match="english-99"):
        TokeniserSettings(stop_words="english-99")
    with pytest.raises(BadOption, match="version 99"):
        TokeniserSettings.from_dict({**TokeniserSettings().as_dict(), "version": 99})


def test_another_stemmer_is_recognised() -> None:
    assert not TokeniserSettings(stemmer="snowball-2.0.0").stems_alike


@pytest.mark.parametrize("language", [name for name in available_languages() if newest_list(name)])
def test_stop_words_never_become_tokens(language: str) -> None:
    tokeniser = Tokeniser(TokeniserSettings.for_language(language))
    listed = stop_words(newest_list(language))
    assert 60 < len(listed) < 260
    assert tokeniser.joined(" ".join(listed).upper()) == ""


def test_lists_name_the_languages_they_are_for() -> None:
    listed = {name for name in available_languages() if newest_list(name)}
    assert listed >= {
        "english", "german", "french", "spanish", "italian", "portuguese", "dutch", "swedish",
    }  # fmt: skip
    assert stop_words("") == frozenset()


def test_a_mixed_library_has_the_settings_of_each_language() -> None:
    settings = TokeniserSettings.mixed("english")
    assert TokeniserSettings.from_dict(json.loads(json.dumps(settings.as_dict()))) == settings
    for language, lists in (("german", "german-1"), ("finnish", ""), ("", "english-1")):
        own = settings.of_language(language)
        assert (own.language, own.stop_words) == (language or "english", lists)
    assert settings.of_language("japanese").language == NO_LANGUAGE
    german = TokeniserSettings.for_language("german")
    assert german.of_language("french") is german
