"""Names of encodings: told by a mark, declared by a document, or guessed from its bytes.

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
    """Ask charset-normalizer, but only where its answer can be trusted."""
    first = next(_HIGH.finditer(data)).start()
    sample = data[max(0, first - _BEFORE) : first + SAMPLE_BYTES]
    runs = _HIGH.findall(sample)
    in_words = sum(len(run) for run in runs if len(run) > 1)
    if 2 * in_words <= sum(map(len, runs)):
        return ""  # single high bytes between ASCII letters: a Latin script
    from charset_normalizer import from_bytes  # noqa: PLC0415 - 30 ms that few files need

    for cut in range(_LONGEST_CHARACTER):  # the sample may end within a character
        match = from_bytes(sample[: len(sample) - cut], cp_isolation=_GUESSABLE).best()
        if match is not None and match.encoding in _GUESSABLE:
            return match.encoding
    return ""


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
# charset-normalizer is reliable on scripts other than Latin only: it takes "café" for cp1250.
_GUESSABLE = [
    "gb18030", "big5", "cp932", "euc_jp", "cp949",
    "cp1251", "koi8_r", "cp866", "cp1253", "cp1255", "cp1256", "cp874",
]  # fmt: skip
_HIGH = re.compile(rb"[\x80-\xff]+")
_BEFORE = 1024
_LONGEST_CHARACTER = 4
