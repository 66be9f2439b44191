"""What the pages say in words: a text file for each paper."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER = Path(__file__).parent / "texts"
_HEADING = re.compile(r"^## (\S+)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Prose:
    """The words of one page."""

    protocol: str  # how things are measured, as Markdown
    reasons: Mapping[str, str]  # why numbers differ from the paper's, as far as is known, by table

    @classmethod
    def read(cls, paper: str) -> Self:
        """Read the text of a paper: its protocol, then a heading for each table."""
        text = (FOLDER / f"{paper}.md").read_text(encoding="utf-8")
        protocol, *parts = _HEADING.split(text)
        pairs = zip(parts[::2], parts[1::2], strict=True)
        return cls(protocol.strip(), {table: reasons.strip() for table, reasons in pairs})

    def of(self, table: str) -> str:
        """Return the reasons of one table, "" without any."""
        return self.reasons.get(table, "")
