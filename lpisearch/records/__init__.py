"""Plain records passed between packages."""

from __future__ import annotations

from lpisearch.records.answers import (
    Answer,
    Classification,
    Hit,
    LabelShare,
    Passage,
    Run,
    Suggestion,
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
    SECTION_KINDS,
    Document,
    Entry,
    Filter,
    Finding,
    IngestReport,
    Problem,
    Progress,
    Section,
    Trouble,
)
from lpisearch.records.evaluation import Cell, Figure, Report, Series, Table, plain
from lpisearch.records.explanations import Explanation, Pair, SharedTopic
from lpisearch.records.facets import Facets, FacetValue
from lpisearch.records.indexes import (
    BuiltIndex,
    IndexPlan,
    IndexReport,
)
from lpisearch.records.labels import LabelReport, PredictedLabel, PredictionReport
from lpisearch.records.maps import NO_LABEL, NO_TOPIC, DocumentMap, Leg, Mark, Reason
from lpisearch.records.stored import (
    UNFINISHED,
    DamagedDocument,
    Details,
    DocumentWrite,
    FailedFile,
    Source,
    StoredPlace,
    TokenShard,
)

__all__ = [
    "NO_LABEL",
    "NO_TOPIC",
    "SECTION_KINDS",
    "UNFINISHED",
    "Answer",
    "BuiltIndex",
    "Cell",
    "Classification",
    "DamagedDocument",
    "Details",
    "Dimension",
    "DimensionDocument",
    "DimensionReport",
    "DimensionWord",
    "Document",
    "DocumentMap",
    "DocumentWrite",
    "Entry",
    "Explanation",
    "FacetValue",
    "Facets",
    "FailedFile",
    "Figure",
    "Filter",
    "Finding",
    "Hit",
    "IndexPlan",
    "IndexReport",
    "IngestReport",
    "LabelReport",
    "LabelShare",
    "Leg",
    "Mark",
    "Pair",
    "Passage",
    "PredictedLabel",
    "PredictionReport",
    "Problem",
    "Progress",
    "Reason",
    "Report",
    "Run",
    "Section",
    "Series",
    "SharedTopic",
    "Source",
    "StoredPlace",
    "Suggestion",
    "Table",
    "TokenShard",
    "Topic",
    "TopicDocument",
    "TopicReport",
    "Trouble",
    "plain",
]
