"""Reports as CSV, Markdown, JSON, HTML, plots and terminal bars.

What is slow to import (matplotlib) is imported where something is drawn.
"""

from __future__ import annotations

from lpisearch.reports.bars import as_bars
from lpisearch.reports.cells import shown
from lpisearch.reports.csv_text import as_csv, csv_line
from lpisearch.reports.folder import check_folder, write_report
from lpisearch.reports.json_text import as_json
from lpisearch.reports.markdown_text import as_markdown
from lpisearch.reports.page import as_html
from lpisearch.reports.plots import draw, svg_text

__all__ = [
    "as_bars",
    "as_csv",
    "as_html",
    "as_json",
    "as_markdown",
    "check_folder",
    "csv_line",
    "draw",
    "shown",
    "svg_text",
    "write_report",
]
