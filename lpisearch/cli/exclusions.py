"""Treat words with a minus sign as query text, not as options."""

from __future__ import annotations

import re
from typing import Any

from lpisearch.cli.commands import VerbCommand

_SHORT = len("-k")
_MARK = "\N{INVISIBLE SEPARATOR}"
_EXCLUSION = re.compile(r"-[^\W_]|-[\"“„«(]")


class ExclusionsAsText(VerbCommand):
    """Takes -word for a word to exclude, which Click would read as an option of one letter.

    `words` names the argument that takes them.

    An argument of one minus and a letter, a digit, a quote or a parenthesis belongs to the
    question, unless it is an option of one letter, alone (-k) or with its number (-k5). What
    follows an option that takes a value is its value, and after -- everything is text, as always.
    """

    words = "text"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, with exclusions marked so that no option is seen in them."""
        flags = {name for option in self.params for name in option.opts if _is_flag(option)}
        short = {name for option in self.params for name in option.opts if len(name) == _SHORT}
        short.update(name for name in ctx.help_option_names if len(name) == _SHORT)
        flags.update(ctx.help_option_names)
        marked: list[str] = []
        is_value = False
        for at, word in enumerate(args):
            if word == "--":
                marked += args[at:]
                break
            excludes = not is_value and _EXCLUSION.match(word) and not _is_short(word, short)
            marked.append(_MARK + word if excludes else word)
            is_value = not is_value and _takes_value(word, flags)
        rest = super().parse_args(ctx, marked)
        words: list[str] = ctx.params.get(self.words) or []
        ctx.params[self.words] = [word.removeprefix(_MARK) for word in words]
        return rest


def _is_flag(option: Any) -> bool:
    return bool(getattr(option, "is_flag", False))


def _is_short(word: str, short: set[str]) -> bool:
    return word[:_SHORT] in short and (len(word) == _SHORT or word[_SHORT:].isdecimal())


def _takes_value(word: str, flags: set[str]) -> bool:
    """Tell whether the next word belongs to an option."""
    is_option = word.startswith("--") or (len(word) == _SHORT and word.startswith("-"))
    return is_option and "=" not in word and word not in flags
