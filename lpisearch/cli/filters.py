"""Options that filter documents."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from lpisearch.cli import completion

if TYPE_CHECKING:
    from lpisearch.records import Filter

DOCUMENTS = "Filters"
"""Their heading."""

Labels = Annotated[
    list[str] | None,
    typer.Option(
        "--label",
        metavar="LABEL",
        help="Only documents with this label (repeatable).",
        rich_help_panel=DOCUMENTS,
        autocompletion=completion.labels,
    ),
]
Predicted = Annotated[
    list[str] | None,
    typer.Option(
        "--predicted",
        metavar="LABEL",
        help="Only documents with this predicted label; with --label, either may match "
        "(repeatable).",
        rich_help_panel=DOCUMENTS,
    ),
]
PathGlob = Annotated[
    str,
    typer.Option(
        "--path",
        metavar="FOLDER|GLOB",
        help="Only documents under this folder or matching this glob (path or id).",
        rich_help_panel=DOCUMENTS,
    ),
]
Split = Annotated[
    str,
    typer.Option(
        "--split",
        metavar="NAME",
        help="Only documents in this split (train or test set).",
        rich_help_panel=DOCUMENTS,
    ),
]
Since = Annotated[
    str,
    typer.Option(
        "--since",
        metavar="DATE",
        help="Only documents dated on or after DATE, such as 2024-05.",
        rich_help_panel=DOCUMENTS,
    ),
]
Until = Annotated[
    str,
    typer.Option(
        "--until",
        metavar="DATE",
        help="Only documents dated on or before DATE.",
        rich_help_panel=DOCUMENTS,
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        "--where",
        metavar="KEY=VALUE",
        help="Only documents with this metadata (repeatable).",
        rich_help_panel=DOCUMENTS,
    ),
]


def filter_of(
    labels: list[str] | None,
    path: str,
    split: str,
    since: str = "",
    until: str = "",
    where: list[str] | None = None,
    predicted: list[str] | None = None,
) -> Filter:
    """Gather what was said of the documents; a relative path is seen from the current folder too.

    Raises
    ------
    BadOption
        A condition is not KEY=VALUE.
    """
    from lpisearch.records import Filter
    from lpisearch.settings.conditions import read_condition

    metadata = tuple(read_condition(each) for each in where or ())
    here = _current_folder() if path else ""
    either = tuple(labels or ()), tuple(predicted or ())
    return Filter(either[0], path, split, since, until, metadata, here, either[1])


def _current_folder() -> str:
    try:
        return os.getcwd()  # noqa: PTH109 (a string is what a filter holds)
    except OSError:  # it was removed meanwhile
        return ""
