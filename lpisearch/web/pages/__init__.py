"""Routes of pages."""

from __future__ import annotations

from starlette.routing import BaseRoute, Route

from lpisearch.web.pages import exchange, facsimile, management, overview
from lpisearch.web.pages.document import change_labels, document, original
from lpisearch.web.pages.management import evaluate, evaluation_page, login, logout
from lpisearch.web.pages.results import facet, search, why
from lpisearch.web.pages.templates import in_turn

_POST = ["POST"]
ROUTES: list[BaseRoute] = [
    Route("/", in_turn(search), name="search"),
    Route("/feed", in_turn(exchange.feed)),
    Route("/export", in_turn(exchange.export)),
    Route("/saved", exchange.save, methods=_POST),
    Route("/label", exchange.label_many, methods=_POST),
    Route("/facet", in_turn(facet)),
    Route("/why", in_turn(why)),
    Route("/document", in_turn(document)),
    Route("/document/file", original),
    Route("/document/original", facsimile.facsimile),
    Route("/document/page", facsimile.page_image),
    Route("/document/image", facsimile.image_file),
    Route("/document/open", facsimile.open_file, methods=_POST),
    Route("/document/labels", change_labels, methods=_POST),
    Route("/map", overview.map_page),
    Route("/map/data", overview.map_data),
    Route("/map/points", overview.map_points),
    Route("/map/documents", overview.map_documents),
    Route("/map/lit", overview.map_lit),
    Route("/map/place", overview.map_document),
    Route("/topics", overview.topics_page),
    Route("/labels", overview.labels_page),
    Route("/labels", overview.change_label, methods=_POST),
    Route("/classify", overview.classify_page),
    Route("/upload/classify", overview.classify, methods=_POST),
    Route("/upload/classify", overview.classify_page),
    Route("/evaluation", evaluation_page),
    Route("/evaluation", evaluate, methods=_POST),
    Route("/library", management.library_page),
    Route("/library/allow", management.allow_home, methods=_POST),
    Route("/advanced", management.advanced_page),
    Route("/settings", management.settings_page),
    Route("/settings", management.set_language, methods=_POST),
    Route("/library/health", management.health),
    Route("/library/jobs", management.jobs_part),
    Route("/library/ingest", management.ingest, methods=_POST),
    Route("/library/unwatch", management.unwatch, methods=_POST),
    Route("/library/index", management.index, methods=_POST),
    Route("/library/stop", management.stop, methods=_POST),
    Route("/upload/files", management.upload, methods=_POST),
    Route("/help", overview.help_page),
    Route("/login", login, methods=["GET", "POST"], name="login"),
    Route("/logout", logout, methods=_POST),
]
