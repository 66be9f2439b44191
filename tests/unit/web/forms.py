"""Whether JSON conforms to a form of the description: as much of JSON Schema as that uses."""

from typing import Any

from lpisearch.web.api import described

_KINDS: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "object": dict,
    "array": list,
    "null": type(None),
}


def differences(value: Any, form: Any, where: str = "$") -> list[str]:
    """Return where a value is not of a form, given as a schema or by name."""
    form = described()["components"]["schemas"][form] if isinstance(form, str) else form
    if "$ref" in form:
        return differences(value, form["$ref"].rsplit("/", 1)[-1], where)
    if "anyOf" in form:
        each_of = [differences(value, each, where) for each in form["anyOf"]]
        return [] if [] in each_of else each_of[0]
    kinds = form.get("type", list(_KINDS))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not any(_is(value, kind) for kind in kinds):
        return [f"{where}: {value!r} is not of {kinds}"]
    if "enum" in form and value not in form["enum"]:
        return [f"{where}: {value!r} is none of {form['enum']}"]
    found: list[str] = []
    if isinstance(value, dict):
        found = _of_object(value, form, where)
    if isinstance(value, list) and "items" in form:
        for at, each in enumerate(value):
            found += differences(each, form["items"], f"{where}[{at}]")
    return found


def _is(value: Any, kind: str) -> bool:
    if isinstance(value, bool):
        return kind == "boolean"
    return isinstance(value, _KINDS[kind])


def _of_object(value: dict[str, Any], form: dict[str, Any], where: str) -> list[str]:
    known = form.get("properties")
    found = [f"{where}.{name} is missing" for name in form.get("required", ()) if name not in value]
    if known:
        found += [f"{where}.{name} is not described" for name in value if name not in known]
    for name, each in value.items():
        if known and name in known:
            found += differences(each, known[name], f"{where}.{name}")
        elif "additionalProperties" in form:
            found += differences(each, form["additionalProperties"], f"{where}.{name}")
    return found
