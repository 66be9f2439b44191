"""The base error, and the error for invalid options."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from lpisearch.messages import Message, Option, call

if TYPE_CHECKING:
    from collections.abc import Iterable


class LpiSearchError(Exception):
    """What happened, and what to do next."""

    exit_status: ClassVar[int] = 1

    def __init__(self, what: str, next_step: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.next_step = next_step

    @property
    def message(self) -> Message:
        """Both in one text, for a face to say in its own words."""
        return (
            Message(self.what, " Next: ", self.next_step) if self.next_step else Message(self.what)
        )

    def __str__(self) -> str:
        return str(self.message)


class BadOption(LpiSearchError):
    """An option has a value that cannot work.

    Parameters
    ----------
    field
        Its name in Python, such as "dims"; or those of several.
    reason
        Why the value cannot work, without a full stop.
    choices
        All that can.
    """

    exit_status: ClassVar[int] = 2

    def __init__(
        self, field: str | tuple[str, ...], reason: str, choices: Iterable[str] = ()
    ) -> None:
        names = (field,) if isinstance(field, str) else field
        self.fields = names
        listed = [part for name in names for part in (", ", Option(name))][1:]
        known = ", ".join(choices)
        super().__init__(
            Message(*listed, ": ", reason, "."),
            f"choose one of: {known}" if known else call("help"),
        )
