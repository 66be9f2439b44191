"""A report as JSON, for programs and for a later look."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.records.wire import full_report_record, json_text

if TYPE_CHECKING:
    from lpisearch.records import Report


def as_json(report: Report) -> str:
    """Give all of a report: values in full precision, null for what is not a finite number."""
    return json_text(full_report_record(report), indent=2) + "\n"
