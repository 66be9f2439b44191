"""The values that cross from room to room. None knows where it came from."""

from __future__ import annotations

from lpisearch.records.answers import (
    Answer,
    Classification,
    Hit,
    LabelShare,
    Passage,
    Topic,
    TopicDocument,
    TopicReport,
)
from lpisearch.records.dimensions import (
    Dimension,
    DimensionDocument,
    DimensionReport,
    DimensionWord,
)
from lpisearch.records.documents import (
    Document,
    Entry,
    Filter,
    Finding,
    IngestReport,
    Problem,
    Progress,
    Trouble,
)
from lpisearch.records.evaluation import Cell, Figure, Report, Series, Table
from lpisearch.records.indexes import (
    IndexPlan,
    IndexReport,
)

__all__ = [
    "Answer",
    "Cell",
    "Classification",
    "Dimension",
    "DimensionDocument",
    "DimensionReport",
    "DimensionWord",
    "Document",
    "Entry",
    "Figure",
    "Filter",
    "Finding",
    "Hit",
    "IndexPlan",
    "IndexReport",
    "IngestReport",
    "LabelShare",
    "Passage",
    "Problem",
    "Progress",
    "Report",
    "Series",
    "Table",
    "Topic",
    "TopicDocument",
    "TopicReport",
    "Trouble",
]
