"""Allowed host names.

A page of somebody else may let its own name point to this machine (DNS rebinding), and its scripts
would then pass for ours. So a request must name `localhost`, a plain address, or a name that was
given. An address cannot be made to point elsewhere.
"""

from __future__ import annotations

import ipaddress
import re
from typing import TYPE_CHECKING

from starlette.datastructures import Headers

from lpisearch.web.problems import refusal

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.types import ASGIApp, Receive, Scope, Send

_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:\[\]@/\\?#\s]+)(?::\d{1,5})?", re.ASCII)


class KnownHosts:
    """Refuses what is asked of another name.

    Parameters
    ----------
    names
        Those that are ours, beside plain addresses and `localhost`.
    """

    def __init__(self, app: ASGIApp, names: Collection[str]) -> None:
        self.app = app
        self._names = {"localhost", *(name.lower().rstrip(".") for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on if it names us."""
        if scope["type"] == "http" and not self._is_ours(Headers(scope=scope).getlist("host")):
            said = "Unknown host name; allow it with `serve --name NAME`."
            await refusal(scope["path"], 421, said)(scope, receive, send)
            return
        await self.app(scope, receive, send)

    def _is_ours(self, hosts: list[str]) -> bool:
        found = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
        if found is None:
            return False
        name = found[1].strip("[]").lower().rstrip(".")
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return name in self._names
        return True
