"""A report as JSON, for programs and for a later look."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lpisearch.records.wire import full_report_record

if TYPE_CHECKING:
    from lpisearch.records import Report


def as_json(report: Report) -> str:
    """Give all of a report: values in full precision, null for what is not a finite number."""
    value = full_report_record(report)
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
