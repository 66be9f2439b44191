"""The languages a library can be in, and the settings of its tokeniser.

In goes the name of a language (or its two-letter code), out come frozen settings that are stored
with the library and with each index, so that a query is always cut up as the documents were.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import Stemmer

from lpisearch.errors import BadOption
from lpisearch.messages import Message, Option
from lpisearch.terms.stopwords import newest_list, stop_words
from lpisearch.wording import nearest

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_LANGUAGE = "none"
RULES_VERSION = 1
STEMMER = f"snowball-{Stemmer.version()}"


@dataclass(frozen=True, slots=True)
class TokeniserSettings:
    """How text becomes tokens: what is stored with a library.

    Attributes
    ----------
    language
        A Snowball language, or "none": then words are neither stemmed nor stopped.
    stop_words
        The name of a list, or "".
    stemmer
        The stemmer and its version, as a record of what made the stored tokens.
    version
        Of our own rules.
    """

    language: str = "english"
    stop_words: str = "english-1"
    stemmer: str = STEMMER
    version: int = RULES_VERSION

    def __post_init__(self) -> None:
        if self.language not in available_languages():
            raise _unknown(self.language)
        stop_words(self.stop_words)
        if self.version != RULES_VERSION:
            raise BadOption(
                "tokeniser",
                f"unsupported rules version {self.version}; this program uses {RULES_VERSION}",
            )

    @classmethod
    def for_language(cls, name: str) -> TokeniserSettings:
        """Return today's settings of a language, given by name or two-letter code."""
        language = name.strip().casefold()
        language = _CODES.get(language, language)
        return cls(language=language, stop_words=newest_list(language))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TokeniserSettings:
        """Read what `as_dict` wrote; entries of other names are ignored."""
        return cls(**{each.name: values[each.name] for each in fields(cls) if each.name in values})

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return asdict(self)

    @property
    def stems_alike(self) -> bool:
        """Whether the installed stemmer is the one that made the stored tokens."""
        return self.stemmer == STEMMER


class _CutInPairs(BadOption):
    """A language without spaces between words is asked for: it needs no setting."""

    def __init__(self, language: str) -> None:
        super().__init__(
            "language",
            f"“{language}” has no word stems; it is always indexed as pairs of characters, "
            "whatever the language of the library",
        )
        self.next_step = Message("use ", Option("language", NO_LANGUAGE), " or omit the option")


def available_languages() -> tuple[str, ...]:
    """Return every language that can be asked for, "none" last."""
    return _LANGUAGES


def _unknown(language: str) -> BadOption:
    if language in _IN_PAIRS:
        return _CutInPairs(language)
    guess = nearest(language, (*_LANGUAGES, *_CODES))
    return BadOption("language", f"unknown language “{language}”{guess}", _LANGUAGES)


_IN_PAIRS = {"chinese", "japanese", "korean", "thai", "zh", "ja", "ko", "th"}
# Variants of one language that Snowball keeps for old programs.
_OLD_ALGORITHMS = {"porter", "dutch_porter"}
_LANGUAGES = (*sorted(set(Stemmer.algorithms()) - _OLD_ALGORITHMS), NO_LANGUAGE)
_CODES = {
    "ar": "arabic", "hy": "armenian", "eu": "basque", "ca": "catalan", "cs": "czech",
    "da": "danish", "nl": "dutch", "en": "english", "eo": "esperanto", "et": "estonian",
    "fi": "finnish", "fr": "french", "de": "german", "el": "greek", "hi": "hindi",
    "hu": "hungarian", "id": "indonesian", "ga": "irish", "it": "italian", "lt": "lithuanian",
    "ne": "nepali", "no": "norwegian", "nb": "norwegian", "fa": "persian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "st": "sesotho",
    "es": "spanish", "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip
