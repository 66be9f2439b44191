"""The public entry point: an open document library and everything it can do.

The command line, the web page and Python come in here. Each method imports its room when it is
called, so that `import lpisearch` and `lpisearch --help` stay light.
"""

from __future__ import annotations

from lpisearch.library.choices import (
    DEFAULT_PATH,
    classifier_names,
    default_path,
    graph_names,
    method_names,
    pairs_of,
)
from lpisearch.library.library import Library, open_library

__all__ = [
    "DEFAULT_PATH",
    "Library",
    "classifier_names",
    "default_path",
    "graph_names",
    "method_names",
    "open_library",
    "pairs_of",
]
