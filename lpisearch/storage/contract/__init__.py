"""The storage interface.

A store holds one library: documents with labels and tokens, the files they came from, the
register of its indexes, and settings. `storage/sqlite/` and `storage/postgresql/` keep this
contract, and
`tests/contracts/test_stores.py` holds every store to it.

* **A snapshot sees one unchanging state**, that of its first question, whatever is written
  meanwhile. Reading never waits for a writer.
* **A transaction is kept together or not at all.** It sees what it has written itself.
* **Keys** are numbers of documents, ascending in the order in which they first came. A document
  keeps its key when it changes.
* **Strings** hold neither NUL nor halves of surrogate pairs: readers remove them, and a store
  refuses them with a ValueError. Sizes, times and keys go up to 63 bits.
* **Threads**: a store opened to read may be shared by threads, each with snapshots of its own;
  one opened to write, every snapshot and every transaction belong to one thread.
* **Errors** are those of `lpisearch.errors`; no type of a database crosses.
"""

from __future__ import annotations

from lpisearch.storage.contract.entries import IndexEntry
from lpisearch.storage.contract.reading import (
    Corpus,
    Demands,
    Documents,
    Indexes,
    IndexFiles,
    Labels,
    Lexical,
    Prefix,
    Settings,
    Sources,
)
from lpisearch.storage.contract.store import Snapshot, Store, Transaction
from lpisearch.storage.contract.writing import (
    DocumentChanges,
    ExportedVectors,
    Health,
    WritableIndexes,
    WritableIndexFiles,
    WritableLabels,
    WritableSettings,
    WritableSources,
)

__all__ = [
    "TOKENISER",
    "UNDER_WAY",
    "Corpus",
    "Demands",
    "DocumentChanges",
    "Documents",
    "ExportedVectors",
    "Health",
    "IndexEntry",
    "IndexFiles",
    "Indexes",
    "Labels",
    "Lexical",
    "Prefix",
    "Settings",
    "Snapshot",
    "Sources",
    "Store",
    "Transaction",
    "WritableIndexFiles",
    "WritableIndexes",
    "WritableLabels",
    "WritableSettings",
    "WritableSources",
]

UNDER_WAY = "under way"  # the setting that says which file a run was waiting for
TOKENISER = "tokeniser"  # the setting that says how the words of a library are cut
