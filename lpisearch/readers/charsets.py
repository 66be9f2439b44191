"""Detect encodings from a BOM, a declaration or the bytes.

Bytes come in, Python's name of an encoding goes out, or "".
"""

from __future__ import annotations

import codecs
import re

SAMPLE_BYTES = 64 * 1024
"""How much of a text charset-normalizer is shown: more does not make it surer."""

LONGEST_MARK = 4


def byte_order_mark(data: bytes) -> tuple[str, int]:
    """Return the encoding that the mark tells and the length of the mark, or "" and 0."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding, len(mark)
    return "", 0


def known(declared: str) -> str:
    """Return Python's name of a declared encoding, or "" if it is unknown or no plain one."""
    try:
        name = codecs.lookup(declared.strip()).name
    except (LookupError, ValueError):
        return ""
    return _LARGER.get(name, name) if _DECLARABLE.fullmatch(name) else ""


def guess(data: bytes) -> str:
    """Ask charset-normalizer, but only where its answer can be trusted.

    For a sentence or two it finds many encodings equally good, Thai, Korean and Chinese for one
    text; of those, the one that gives the most usual characters of its script is taken.
    """
    first = next(_HIGH.finditer(data)).start()
    sample = data[max(0, first - _BEFORE) : first + SAMPLE_BYTES]
    runs = [len(run) for run in _HIGH.findall(sample)]
    # Umlauts and accents stand alone between ASCII letters, at most in pairs, as in “größer”.
    if sum(run * run for run in runs) < _SHORTEST_RUN * sum(runs):
        return ""
    from charset_normalizer import from_bytes

    for cut in range(_LONGEST_CHARACTER):  # the sample may end within a character
        matches = from_bytes(sample[: len(sample) - cut], cp_isolation=list(_SCRIPTS))
        found = {match.encoding: match for match in matches if match.encoding in _SCRIPTS}
        if found:
            ranks = {
                name: (round(_usual_share(str(found[name]), name), 1), found[name].coherence)
                for name in _SCRIPTS
                if name in found
            }
            best = max(ranks, key=lambda name: ranks[name])
            return best if ranks[best][0] >= _USUAL_SHARE else ""
    return ""


def _usual_share(text: str, encoding: str) -> float:
    """Return the share of usual characters among those that are not ASCII."""
    characters = [character for character in text[:_LOOKED_AT] if character > "\x7f"]
    if not characters:
        return 0.0
    script = _SCRIPTS[encoding]
    if isinstance(script, str):
        usual = sum(len(found) for found in re.findall(f"[{script}\\W]+", "".join(characters)))
        # In the wrong Cyrillic encoding, capitals and small letters change places.
        strange = len(_CAPITAL_WITHIN_WORD.findall(text[:_LOOKED_AT]))
        return max(0, usual - 3 * strange) / len(characters)
    pairs = [character.encode(encoding, "replace") for character in characters]
    usual = sum(len(pair) == _PAIR and pair[0] in script for pair in pairs)
    if encoding in _WITHOUT_LOW_TRAIL:
        usual -= sum(len(pair) == _PAIR and pair[0] in script and pair[1] <= _LOW for pair in pairs)
    if encoding in _JAPANESE and not _KANA.search("".join(characters)):
        usual //= 2
    return usual / len(characters)


_MARKS = (
    # The mark of UTF-16 begins that of UTF-32, so the longer ones come first.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARABLE = re.compile(
    r"utf-8|ascii|iso8859-\d+|cp\d+|koi8-[rut]|gb\w+|hz|big5\w*|shift_jis\w*|euc_\w+"
    r"|iso2022_\w+|mac-\w+|johab|tis-620"
)
# What browsers read when a page names the older, smaller set.
_LARGER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
# The encodings to guess from, for scripts other than Latin (charset-normalizer takes "café" for
# cp1250), best first where two fit alike. For each, what is usual: the letters of a script, or
# the first bytes of its more frequent characters (kana, Hangul, the first level of ideographs)
# and punctuation.
_SCRIPTS: dict[str, str | frozenset[int]] = {
    "cp1251": "\u0400-\u04ff",
    "koi8_r": "\u0400-\u04ff",
    "cp866": "\u0400-\u04ff",
    "cp1253": "\u0370-\u03ff",
    "cp1255": "\u05d0-\u05ea",
    "cp949": frozenset((0xA1, 0xA3, *range(0xB0, 0xC9))),
    "euc_jp": frozenset((0xA1, 0xA3, 0xA4, 0xA5, *range(0xB0, 0xD0))),
    "cp932": frozenset((0x81, 0x82, 0x83, *range(0x88, 0x99))),
    "gb18030": frozenset((0xA1, 0xA3, *range(0xB0, 0xD8))),
    "big5": frozenset(range(0xA1, 0xC7)),
    "cp1256": "\u0621-\u064a",
    "cp874": "\u0e01-\u0e4e",
}
_JAPANESE = ("euc_jp", "cp932")
_KANA = re.compile(r"[\u3040-\u30ff]")
# In these, a low second byte is an extension for rare characters.
_WITHOUT_LOW_TRAIL = ("cp949", "gb18030")
_LOW = 0xA0
_PAIR = 2
_CAPITAL_WITHIN_WORD = re.compile("[\u03b1-\u03c9\u0430-\u0451][\u0391-\u03a9\u0400-\u042f]")
_USUAL_SHARE = 0.8
_LOOKED_AT = 4000
_HIGH = re.compile(rb"[\x80-\xff]+")
_BEFORE = 1024
_SHORTEST_RUN = 3  # on average, as a character of the text sees it
_LONGEST_CHARACTER = 4
