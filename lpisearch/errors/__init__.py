"""Every error that lpisearch reports to its user.

```text
LpiSearchError                 what happened, and what to do next
├── LibraryError
│   ├── LibraryNotFound        no database at that path
│   ├── NotALibrary            the file is something else
│   ├── LibraryTooNew          written by a later version of the program
│   ├── LibraryLocked          another process is writing
│   ├── SeveralNames           hard links give the file two names
│   ├── LibraryUnwritable      folder or file cannot be written, or the disk is full
│   ├── LibraryUnreachable     the server of its database cannot be reached, or refuses
│   │   └── AddressRefused     its address cannot be understood
│   ├── ServerTooOld           the server of its database lacks what is needed
│   ├── VectorsUnavailable     vectors cannot be written to a table for other programs
│   ├── DriverMissing          what speaks with such a server is not installed
│   ├── LibraryDamaged         the file is not as it was written
│   └── DocumentDamaged        one document in it is not as it was written
├── SubspaceError
│   ├── IndexNotFound          the library has no such index
│   ├── IndexDamaged           a file of the index is not as it was written
│   ├── IndexUnreadable        the system does not let it be read now; it may be whole
│   ├── IndexTooNew            written by a later version of the program
│   ├── IndexOutdated          written by an earlier version of the program, which wrote less
│   ├── IndexUnwritable        its folder cannot be written
│   ├── ClassifierNotFound     the index has learned no labels
│   └── NothingToIndex         no documents, or none that differ
├── NothingToEvaluate          no labels, or none that differ
├── DocumentNotFound           no document has that id
├── SeveralDocuments           the file of that path holds more than one
├── NotUnicode                 a name that is no text, so that nothing is called so
├── NothingThere               a path names no file and no folder, and matches nothing
├── ReaderError                one file could not be read; the run goes on
├── ReportUnwritable           a report or a picture cannot be written
├── FileInTheWay               what would be replaced is no file of the kind to be written
├── PlotUnavailable            the library that draws pictures is not installed
├── BadPreference              a file of settings says what means nothing
├── PreferencesUnwritable      a file of settings cannot be written
├── ClusterError
│   ├── ClusterMissing         what speaks with a Dask cluster is not installed
│   ├── ClusterUnreachable     no scheduler answers at the address, or it has no worker
│   ├── ClusterMismatch        a worker has other versions of what computes an index
│   ├── FolderNotShared        a worker does not see the folder that it would write to
│   └── ClusterLost            scheduler or workers went away during the work
├── ServerUnreachable          no server answers at the address
├── ServerRefused              a server refuses what it is asked
├── NotServed                  what only the machine that has the library can do
└── BadOption                  a value that cannot work
```

Each class builds its text from data, so that a message is written once. A text names a field
(`dims`) or a call (`library.index()`) as data too: Python reads it so, and the command line says
`--dims` and `lpisearch index` (`lpisearch.messages`). It turns any error into `Error: … Next: …`
and exit status 1 (`BadOption`: 2).
"""

from __future__ import annotations

from lpisearch.errors.base import (
    BadOption,
    LpiSearchError,
)
from lpisearch.errors.clusters import (
    ClusterError,
    ClusterLost,
    ClusterMismatch,
    ClusterMissing,
    ClusterUnreachable,
    FolderNotShared,
)
from lpisearch.errors.documents import (
    DocumentNotFound,
    NothingThere,
    NotUnicode,
    ReaderError,
    SeveralDocuments,
)
from lpisearch.errors.indexes import (
    ClassifierNotFound,
    IndexDamaged,
    IndexNotFound,
    IndexOutdated,
    IndexTooNew,
    IndexUnreadable,
    IndexUnwritable,
    NothingToEvaluate,
    NothingToIndex,
    SubspaceError,
)
from lpisearch.errors.libraries import (
    AddressRefused,
    DocumentDamaged,
    DriverMissing,
    LibraryDamaged,
    LibraryError,
    LibraryLocked,
    LibraryNotFound,
    LibraryTooNew,
    LibraryUnreachable,
    LibraryUnwritable,
    NotALibrary,
    ServerTooOld,
    SeveralNames,
    VectorsUnavailable,
)
from lpisearch.errors.servers import (
    NotServed,
    ServerRefused,
    ServerUnreachable,
)
from lpisearch.errors.written import (
    BadPreference,
    FileInTheWay,
    PlotUnavailable,
    PreferencesUnwritable,
    ReportUnwritable,
)

__all__ = [
    "AddressRefused",
    "BadOption",
    "BadPreference",
    "ClassifierNotFound",
    "ClusterError",
    "ClusterLost",
    "ClusterMismatch",
    "ClusterMissing",
    "ClusterUnreachable",
    "DocumentDamaged",
    "DocumentNotFound",
    "DriverMissing",
    "FileInTheWay",
    "FolderNotShared",
    "IndexDamaged",
    "IndexNotFound",
    "IndexOutdated",
    "IndexTooNew",
    "IndexUnreadable",
    "IndexUnwritable",
    "LibraryDamaged",
    "LibraryError",
    "LibraryLocked",
    "LibraryNotFound",
    "LibraryTooNew",
    "LibraryUnreachable",
    "LibraryUnwritable",
    "LpiSearchError",
    "NotALibrary",
    "NotServed",
    "NotUnicode",
    "NothingThere",
    "NothingToEvaluate",
    "NothingToIndex",
    "PlotUnavailable",
    "PreferencesUnwritable",
    "ReaderError",
    "ReportUnwritable",
    "ServerRefused",
    "ServerTooOld",
    "ServerUnreachable",
    "SeveralDocuments",
    "SeveralNames",
    "SubspaceError",
    "VectorsUnavailable",
]
