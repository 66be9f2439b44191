"""What a paper and each of its tables are made of."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    from benchmarks.papers.comparison import Comparison
    from benchmarks.papers.protocol import Part, Results
    from lpisearch.model.reports import Figure, Table

    Parts: TypeAlias = "Callable[[str], Sequence[Part]]"
    Found: TypeAlias = "Callable[[str, Results], Findings]"

FORMS = ("short", "full")


@dataclass(frozen=True, slots=True)
class Findings:
    """What one run says of one table.

    Attributes
    ----------
    extent
        How much of the paper's protocol this form runs.
    comparisons
        Values compared.
    tables
        What the paper has no number for, or only a curve.
    figures
        Curves.
    measured
        How many measurements it rests on, of those that the form takes.
    """

    extent: str
    comparisons: tuple[Comparison, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    measured: int = 0

    def with_left(self, left: int, parts: int) -> Findings:
        """Say how much was not measured yet; each cell says its own count of draws."""
        if not left:
            return replace(self, measured=parts)
        said = (
            f"{self.extent} **Not complete**: {parts - left:,} of {parts:,} measurements were "
            "made, the first draws of everything; the count of draws stands beside each value."
        )
        return replace(self, extent=said, measured=parts - left)


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table (or figures) of a paper.

    Attributes
    ----------
    name
        By which it is asked for.
    title
        Of the paper.
    parts
        What is to be measured, in a form: "short" or "full".
    findings
        What the measurements come to.
    reasons
        Why numbers differ from the paper's, as far as is known, as Markdown.
    """

    name: str
    title: str
    parts: Parts
    findings: Found
    reasons: str = ""


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper.

    Attributes
    ----------
    name
        Of its page.
    title, source
        Of the paper.
    protocol
        The settings, as Markdown.
    tables
        In the order of the paper.
    """

    name: str
    title: str
    source: str
    protocol: str
    tables: tuple[PaperTable, ...]
