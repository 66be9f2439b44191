"""What a paper and each of its tables are made of."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from benchmarks.papers.comparison import Comparison
    from benchmarks.papers.protocol import Part, Results
    from lpisearch.model.reports import Figure, Table

    Parts: TypeAlias = "Callable[[str], Sequence[Part]]"
    Found: TypeAlias = "Callable[[str, Results], Findings]"

FORMS = ("short", "full")
NOT_COMPLETE = "**Not complete**:"


@dataclass(frozen=True, slots=True)
class Findings:
    """What one run says of one table."""

    extent: str  # how much of the paper's protocol this form runs
    comparisons: tuple[Comparison, ...] = ()  # values compared
    tables: tuple[Table, ...] = ()  # what the paper has no number for, or only a curve
    figures: tuple[Figure, ...] = ()  # curves
    # on which each method was measured
    commits: Mapping[str, Sequence[str]] = field(default_factory=dict)
    measured: int = 0  # how many measurements it rests on, of those that the form takes

    def with_left(self, left: int, parts: int) -> Findings:
        """Say how much was not measured yet; each cell says its own count of draws."""
        if not left:
            return replace(self, measured=parts)
        said = (
            f"{self.extent} {NOT_COMPLETE} {parts - left:,} of {parts:,} measurements were "
            "made, the first draws of each; every value shows its number of draws."
        )
        return replace(self, extent=said, measured=parts - left)


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table (or figures) of a paper."""

    name: str  # by which it is asked for
    title: str  # of the paper
    parts: Parts  # what is to be measured, in a form: "short" or "full"
    findings: Found  # what the measurements come to
    reasons: str = ""  # why numbers differ from the paper's, as far as is known, as Markdown


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper."""

    name: str  # of its page
    title: str  # title, source: of the paper
    source: str
    protocol: str  # the settings, as Markdown
    tables: tuple[PaperTable, ...]  # in the order of the paper
