"""Make the lists of general word frequencies in `lpisearch/text/frequency_lists`.

Run `python -m benchmarks.frequencies`, after `pip install wordfreq==3.1.1`, whenever the tokeniser
or the stemmer changes. The README of the lists names their sources and their licence.

The words of a language are tokenised and stemmed as documents are, so that the frequencies of all
forms of a word add up, and those of stop words are left out. The 20,000 most frequent stems are
kept. Line n of a list, from 0, has the stems of frequency 10^(-n / 10), sorted. Numbers from 0
to 100 and years have the frequencies that wordfreq estimates.
"""

from __future__ import annotations

import gzip
import math
from collections import Counter, defaultdict
from importlib import import_module

from benchmarks import arguments
from lpisearch.text.languages import TokeniserSettings, available_languages
from lpisearch.text.tokeniser import Tokeniser
from lpisearch.text.vocabulary import FREQUENCY_LISTS, LEVELS

STEMS = 20_000
NUMBERS = (*range(101), *range(1800, 2031))
CODES = {
    "arabic": "ar", "catalan": "ca", "czech": "cs", "danish": "da", "dutch": "nl", "english": "en",
    "finnish": "fi", "french": "fr", "german": "de", "greek": "el", "hindi": "hi",
    "hungarian": "hu", "indonesian": "id", "italian": "it", "lithuanian": "lt", "norwegian": "nb",
    "persian": "fa", "polish": "pl", "portuguese": "pt", "romanian": "ro", "russian": "ru",
    "serbian": "sh", "spanish": "es", "swedish": "sv", "tamil": "ta", "turkish": "tr",
}  # fmt: skip
"""wordfreq's codes of the languages that it and Snowball both have."""


def main() -> None:
    """Write a list for each language, and print its size."""
    arguments.nothing(__doc__)
    FREQUENCY_LISTS.mkdir(exist_ok=True)
    for language, code in CODES.items():
        stems = stem_frequencies(language, code)
        text = list_of(stems)
        packed = gzip.compress(text.encode(), 9, mtime=0)
        (FREQUENCY_LISTS / f"{language}.txt.gz").write_bytes(packed)
        rarest = 1 - text.count("\n")
        print(
            f"{language:12} {len(stems):7,} stems, 10^{rarest / LEVELS:.1f}, {len(packed):7,} bytes"
        )
    print("no list:", ", ".join(sorted(set(available_languages()) - CODES.keys())))


def stem_frequencies(language: str, code: str) -> dict[str, float]:
    """Return the most frequent stems of a language."""
    wordfreq = import_module("wordfreq")
    tokeniser = Tokeniser(TokeniserSettings.for_language(language))
    words = wordfreq.get_frequency_dict(code, "best")
    frequencies: Counter[str] = Counter()
    for word, frequency in words.items():
        if any(letter.isalpha() for letter in word):
            for stem in tokeniser.tokens(word):
                frequencies[stem] += frequency
    numbers = {str(number): wordfreq.word_frequency(str(number), code) for number in NUMBERS}
    return dict(frequencies.most_common(STEMS)) | {n: each for n, each in numbers.items() if each}


def list_of(frequencies: dict[str, float]) -> str:
    """Return the text of a list: a line for each tenth of a power of ten."""
    lines = defaultdict(list)
    for stem, frequency in frequencies.items():
        lines[round(-LEVELS * math.log10(frequency))].append(stem)
    return "\n".join(" ".join(sorted(lines[level])) for level in range(max(lines) + 1))


if __name__ == "__main__":
    main()
