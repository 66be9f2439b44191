"""What people see: one module for each page, in `ROUTES`."""

from __future__ import annotations

from starlette.routing import BaseRoute, Route

from lpisearch.web.pages.front import front

ROUTES: list[BaseRoute] = [Route("/", front, name="front")]
