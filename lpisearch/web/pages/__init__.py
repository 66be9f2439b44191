"""What people see: one module for each page, in `ROUTES`."""

from __future__ import annotations

from starlette.routing import BaseRoute, Route

from lpisearch.web.pages.front import front
from lpisearch.web.pages.login import login

ROUTES: list[BaseRoute] = [
    Route("/", front, name="front"),
    Route("/login", login, methods=["GET", "POST"], name="login"),
]
