"""The escapes and the arguments of troff, as text."""

from __future__ import annotations

import re

_ESCAPE = re.compile(
    r"\\(?:"
    r"(?P<comment>\")|"
    r"f(?:\[[^]\n]{0,60}\]|\(..|.)|"
    r"[smkFnRgY](?:[-+]?(?:\[[^]\n]{0,60}\]|\(..|'[^'\n]{0,60}'|\d))|"
    r"[hvwxXlLDbBoANzZ]'[^'\n]{0,200}'|"
    r"\*(?:\[(?P<string>[^]\n]{1,60})\]|\((?P<pair>..)|(?P<one>.))|"
    r"\((?P<two>..)|"
    r"\[(?P<named>[^]\n]{1,60})\]|"
    r"(?P<sign>.)"
    r")"
)
_SIGNS = {"-": "-", "e": "\\", "\\": "\\", "~": " ", " ": " ", "0": " ", "'": "'", "`": "`",
          "t": "\t", "E": "\\", ".": "."}  # fmt: skip
_NAMES = {
    "em": "—", "en": "–", "hy": "-", "bu": "•", "co": "©", "rg": "®", "tm": "™", "lq": "“",
    "rq": "”", "oq": "\u2018", "cq": "’", "aq": "'", "dq": '"', "ga": "`", "ti": "~", "ha": "^",
    "rs": "\\", "sl": "/", "at": "@", "sh": "#", "Do": "$", "ba": "|", "bv": "|", "lB": "[",
    "rB": "]", "lC": "{", "rC": "}", "la": "⟨", "ra": "⟩", "<=": "≤", ">=": "≥", "!=": "≠",
    "->": "→", "<-": "←", "mu": "×", "+-": "±", "de": "°", "ss": "ß", "Aq": "'", "Po": "£",
    "Eu": "€", "mc": "µ", "pl": "+", "mi": "−", "eq": "=", "Fo": "«", "Fc": "»", "ff": "ff",
    "fi": "fi", "fl": "fl", "Tm": "™", "R": "®", "nb": " ", "pc": "·", "sc": "§", "ua": "↑",
    "da": "↓", "rh": "☞", "ci": "○", "sq": "□", "lh": "☜", "OK": "✓", "a'": "á", "e'": "é",
}  # fmt: skip
_ACCENTS = {
    ":": "\u0308", "'": "\u0301", "`": "\u0300", "^": "\u0302", "~": "\u0303", ",": "\u0327",
    "o": "\u030a",
}  # fmt: skip
_UNICODE = re.compile(r"u([0-9A-F]{4,6})")
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|((?:[^\s"\\]|\\.|(?<=\S)")+)')


def plain(text: str) -> str:
    """Return text without escapes: fonts and sizes go, named characters become themselves."""
    if "\\" not in text:
        return text
    return _without_comment(text)


def arguments(text: str) -> list[str]:
    r"""Return the arguments of a request, which quotation marks may hold together.

    Examples
    --------
    >>> arguments(' LS 1 "User Commands"')
    ['LS', '1', 'User Commands']
    """
    found = _ARGUMENT.finditer(text.split('\\"', 1)[0])
    return [one[2] if one[1] is None else one[1].replace('""', '"') for one in found]


def _without_comment(text: str) -> str:
    pieces: list[str] = []
    last = 0
    for found in _ESCAPE.finditer(text):
        pieces.append(text[last : found.start()])
        last = found.end()
        if found["comment"]:
            return "".join(pieces)
        pieces.append(_character(found))
    return "".join(pieces) + text[last:]


def _character(found: re.Match[str]) -> str:
    if sign := found["sign"]:
        return _SIGNS.get(sign, "")
    name = found["two"] or found["named"] or found["pair"] or found["string"] or found["one"] or ""
    if name in _NAMES:
        return _NAMES[name]
    if (number := _UNICODE.fullmatch(name)) is not None:
        code = int(number[1], 16)
        return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else ""  # noqa: PLR2004 (the range of Unicode)
    if len(name) == 2 and name[0] in _ACCENTS:  # noqa: PLR2004 (an accent and a letter)
        from unicodedata import normalize

        return normalize("NFC", name[1] + _ACCENTS[name[0]])
    return ""
