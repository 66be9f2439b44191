"""What all requests share: the library, what it is served by, and the jobs under way."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from starlette.requests import HTTPConnection

    from lpisearch.library import Library
    from lpisearch.settings.serving import ServeSettings


@dataclass(frozen=True, eq=False)
class WebState:
    """What all requests share; `request.app.state.lpisearch`.

    Attributes
    ----------
    library
        Open, and used by several threads.
    settings
        How it is served.
    secret
        Of this process alone: cookies and tokens of forms are signed with it.
    """

    library: Library
    settings: ServeSettings
    secret: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)

    @property
    def read_only(self) -> bool:
        """Whether nothing may be changed."""
        return self.settings.read_only


def state_of(request: HTTPConnection) -> WebState:
    """Return what a request shares with all others."""
    return cast("WebState", request.app.state.lpisearch)
