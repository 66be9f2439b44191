"""The API reference as a self-contained HTML page."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from lpisearch.records.wire import json_text

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>API – lpisearch</title>
<link rel="stylesheet" href="/static/style.css">
</head>
<body class="api">
<main>
"""
_END = "</main>\n</body>\n</html>\n"


def page_of(described: dict[str, Any]) -> str:
    """Return the page of an OpenAPI description."""
    return "".join([_HEAD, *_lines(described), _END])


def _lines(described: dict[str, Any]) -> Iterator[str]:
    info = described["info"]
    yield f"<h1>{escape(info['title'])} {escape(info['version'])}: the API</h1>\n"
    yield f"<p>{escape(info['description'])} For programs: "
    yield '<a href="openapi.json">openapi.json</a>.</p>\n'
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            yield from _operation(method.upper(), path, operation)
    yield "<h2>Forms</h2>\n"
    for name, form in described["components"]["schemas"].items():
        yield f'<details id="{escape(name)}"><summary>{escape(name)}</summary>\n'
        yield f"<pre>{escape(json_text(form, indent=1))}</pre></details>\n"


def _operation(method: str, path: str, operation: dict[str, Any]) -> Iterator[str]:
    name = operation["operationId"]
    yield f'<section id="{escape(name)}">\n<h2><code>{method} {escape(path)}</code></h2>\n'
    yield f"<p>{escape(operation['summary'])}.</p>\n"
    if operation["parameters"]:
        yield "<table><thead><tr><th>Parameter<th>Description<th>Values</thead><tbody>\n"
        for param in operation["parameters"]:
            must = " (required)" if param["required"] else ""
            yield f"<tr><td><code>{escape(param['name'])}</code>{must}"
            yield f"<td>{escape(param['description'])}<td>{escape(_values(param['schema']))}\n"
        yield "</tbody></table>\n"
    if "requestBody" in operation:
        for kind, body in operation["requestBody"]["content"].items():
            yield f"<p>Body: <code>{escape(kind)}</code></p>\n"
            if body:
                yield f"<details><summary>Schema</summary><pre>{escape(json_text(body, indent=1))}"
                yield "</pre></details>\n"
    yield from _answers(operation["responses"])
    yield "</section>\n"


def _answers(responses: dict[str, Any]) -> Iterator[str]:
    for status, response in responses.items():
        for kind, body in response.get("content", {}).items():
            form = body.get("schema", {}).get("$ref", "").rsplit("/", 1)[-1]
            link = f' <a href="#{escape(form)}">{escape(form)}</a>' if form else ""
            yield f"<p>{escape(status)}: <code>{escape(kind)}</code>{link}</p>\n"


def _values(form: dict[str, Any]) -> str:
    if form["type"] == "array":
        return f"{_values(form['items'])}, repeatable"
    if "enum" in form:
        return ", ".join(form["enum"])
    bounds = [
        f"{said} {form[name]:,}"
        for name, said in (("minimum", "at least"), ("maximum", "at most"))
        if name in form
    ]
    default = [f"default {form['default']!r}"] if form.get("default") not in (None, "") else []
    return ", ".join([form["type"], *bounds, *default])
