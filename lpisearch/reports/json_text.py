"""A report as JSON, for programs and for a later look."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lpisearch.reports.cells import plain

if TYPE_CHECKING:
    from lpisearch.records import Figure, Report, Table


def as_json(report: Report) -> str:
    """Give all of a report: values in full precision, null for what is not a finite number."""
    value = {
        "title": report.title,
        "command": report.command,
        "parameters": {name: plain(cell) for name, cell in report.parameters.items()},
        "versions": dict(report.versions),
        "tables": [_table(table) for table in report.tables],
        "figures": [_figure(figure) for figure in report.figures],
    }
    return json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _table(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "title": table.title,
        "columns": list(table.columns),
        "rows": [{name: plain(cell) for name, cell in row.items()} for row in table.rows],
        "notes": list(table.notes),
    }


def _figure(figure: Figure) -> dict[str, Any]:
    return {
        "name": figure.name,
        "title": figure.title,
        "x_label": figure.x_label,
        "y_label": figure.y_label,
        "log_x": figure.log_x,
        "series": [
            {
                "name": series.name,
                "x": [plain(x) for x in series.x],
                "y": [plain(y) for y in series.y],
                "spread": series.spread and [plain(width) for width in series.spread],
            }
            for series in figure.series
        ],
    }
