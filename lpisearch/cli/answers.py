"""Remember the last search results, so that `lpisearch open 3` knows result 3.

Only places are kept, neither the question nor a word of the documents, in the folder for such state
of the system. What cannot be kept is not missed before it is asked for.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lpisearch.errors import LpiSearchError
from lpisearch.files import whole_file

if TYPE_CHECKING:
    from lpisearch.places import Place as AnyPlace
    from lpisearch.records import Answer

_FOR_ME_ALONE = 0o600
_ASK = "lpisearch query TEXT"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a hit is: a document of a library, its file, and the page of its best passage."""

    id: str
    path: str
    page: str = ""


def state_folder() -> Path:
    """Return where answers and the history of the prompt are kept."""
    from platformdirs import user_state_path

    return user_state_path("lpisearch", appauthor=False)


def remember(library: AnyPlace, answer: Answer) -> None:
    """Keep where the hits of an answer are, under their numbers; nothing is said if it cannot."""
    places = {str(hit.rank): asdict(Place(hit.id, hit.path, hit.snippet.page)) for hit in answer}
    text = json.dumps({"library": str(library.absolute()), "hits": places})
    with suppress(OSError, UnicodeEncodeError):
        file = _file()
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with whole_file(file, _FOR_ME_ALONE) as stream:
            stream.write(text.encode())


def recall(number: int, library: AnyPlace | None = None) -> Place:
    """Return where a hit of the last answer is.

    Parameters
    ----------
    number
        As it was shown.
    library
        The one that is meant, if one was named.

    Raises
    ------
    LpiSearchError
        Nothing was asked, the answer has no such hit, or it was of another library.
    """
    try:
        kept = json.loads(_file().read_bytes())
        asked, hits = str(kept["library"]), kept["hits"]
    except (OSError, ValueError, KeyError, TypeError):
        raise LpiSearchError("There is no earlier search to open a result from.", _ASK) from None
    if library is not None and str(library.absolute()) != asked:
        raise LpiSearchError(f"The last search was in {asked}, not in {library}.", _ASK)
    try:
        return Place(**hits[str(number)])
    except KeyError:
        have = f"results {min(map(int, hits))} to {max(map(int, hits))}" if hits else "nothing"
        raise LpiSearchError(
            f"The last search has no result {number}; it returned {have}.", _ASK
        ) from None


def _file() -> Path:
    return state_folder() / "last-answer.json"
