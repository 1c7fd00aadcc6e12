"""Tables and texts of the docs that are generated from the code, so that no page repeats it.

A line `<!-- generated: NAME -->` of a page is replaced by the result of the function of that name.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from atlas.access.stores import Stores
from atlas.cli import SUMMARIES, main
from atlas.core.settings import Settings
from atlas.infra.actor import Role
from atlas.server.access import RequestAuthenticator
from atlas.server.api.app import make_api
from atlas.verbs.table import EVERY, OWNERS, SYSTEM, VERBS, Verb, verbs_of
from atlas.views.kinds.filterable import OF_METADATA, filterable_fields

MARKER = re.compile(r"^<!-- generated: (\w+) -->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: object) -> str:
    """Return a page with its generated parts. MkDocs calls this for each page."""
    return MARKER.sub(lambda marker: GENERATED[marker[1]](), markdown)


def commands() -> str:
    """Return the help of every command, under its name."""
    return "\n\n".join(
        f"## `{' '.join(('atlas', *command))}`\n\n```text\n{_help(*command)}```" for command in _commands()
    )


def settings() -> str:
    """Return the table of the variables that are options of a store."""
    defaults = {option.name: _default(option) for option in fields(Settings)}
    rows: dict[str, str] = {}
    for option, variable, meaning in _documented_fields(Settings):
        start = rows.get(variable, f"| `{variable}` | {defaults[option]} |")
        rows[variable] = f"{start} {meaning}"
    return "\n".join(["| variable | default | meaning |", "|---|---|---|", *(f"{row} |" for row in rows.values())])


def verbs() -> str:
    """Return the table of the verbs of each memory, by the role that they need."""
    roles = (Role.VIEWER, Role.WRITER, Role.CURATOR)
    rows = {"each memory": [verb for verb in VERBS if verb.owners == EVERY]}
    for owner in OWNERS:
        rows["all at once" if owner == SYSTEM else owner] = [verb for verb in verbs_of(owner) if verb.owners != EVERY]
    lines = [f"| {name} | {' | '.join(_names(of, role) for role in roles)} |" for name, of in rows.items()]
    return "\n".join(["| of | a viewer | a writer also | a curator also |", "|---|---|---|---|", *lines])


def http() -> str:
    """Return every request of the API's own description but the verbs, and the fields of what it takes and gives."""
    authenticator = RequestAuthenticator(Stores({"docs": Path("docs")}, {}, owner="docs"), is_open=False)
    document = TestClient(make_api(_no_memory, authenticator)).get("/openapi.json").json()
    requests = [
        _request(path, method, operation)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
        if not path.startswith("/verbs/")
    ]
    schemas = [_schema(name, schema) for name, schema in document["components"]["schemas"].items()]
    return "\n\n".join(["## Requests", *requests, "## Bodies and answers", *filter(None, schemas)])


def fields_of_filters() -> str:
    """Return the table of the fields that a filter can name."""
    rows = [
        f"| {field.memory} | `{field.key}` | {field.label} | {', '.join(f'`{value}`' for value in field.values)} |"
        for field in filterable_fields()
    ]
    return "\n".join(["| of | field | filter on its page | values |", "|---|---|---|---|", *rows, "", OF_METADATA])


GENERATED: Mapping[str, Callable[[], str]] = {
    function.__name__: function for function in (commands, settings, verbs, http, fields_of_filters)
}
"""What a marker may name."""


def _help(*command: str) -> str:
    printed = io.StringIO()
    os.environ["COLUMNS"] = "100"
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main([*command, "--help"])
    return printed.getvalue()


def _commands() -> Iterator[tuple[str, ...]]:
    for name in SUMMARIES:
        text = _help(name)
        parts = re.findall(r"^    (\w+)  ", text, re.MULTILINE) if text.split("\n\n")[0].endswith("...") else []
        yield from ((name, part) for part in parts) if parts else ((name,),)


def _documented_fields(kind: type) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the variable and the meaning of each field whose docstring begins with a variable."""
    body = ast.parse(inspect.getsource(kind)).body[0]
    assert isinstance(body, ast.ClassDef)
    for node, below in zip(body.body, body.body[1:], strict=False):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and isinstance(below, ast.Expr):
            text = " ".join(ast.literal_eval(below.value).split())
            if match := re.match(r"(ATLAS_\w+)(: |, if it is )(.*)", text):
                yield node.target.id, match[1], _capitalised(match[3]) if match[2] == ": " else f"Or {match[3]}"


def _default(option: Field[Any]) -> str:
    if option.default is MISSING or option.default in ("", None, ()):
        return "–"
    value = int(option.default) if isinstance(option.default, bool) else option.default
    return f"{value:,}" if isinstance(value, int) else f"{value:g}" if isinstance(value, float) else f"`{value}`"


def _capitalised(text: str) -> str:
    return text[0].upper() + text[1:]


def _names(of: list[Verb], role: Role) -> str:
    return ", ".join(f"`{verb.name}`" for verb in of if verb.role == role)


def _request(path: str, method: str, operation: Mapping[str, Any]) -> str:
    body = operation.get("requestBody", {}).get("content", {})
    answer = operation["responses"].get("200", {}).get("content", {})
    lines = [
        f"### `{method.upper()} {path}`",
        operation.get("description", ""),
        _table("parameter", {one["name"]: one | one["schema"] for one in operation.get("parameters", ())}),
        _media("Takes", body),
        _media("Gives", answer),
    ]
    return "\n\n".join(filter(None, lines))


def _media(verb: str, content: Mapping[str, Any]) -> str:
    """Return the sentence on a body: its media types, each with what it holds."""
    kinds = [f"{_type(media.get('schema', {}))} as `{kind}`" for kind, media in content.items()]
    return f"{verb} {', or '.join(kinds)}." if kinds else ""


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    about = schema.get("description", "").partition("\n\n")[0]
    required = schema.get("required", ())
    properties = {key: value | {"required": key in required} for key, value in schema.get("properties", {}).items()}
    return "\n\n".join(filter(None, [f"### {name}", about, _table("field", properties)])) if properties else ""


def _table(of: str, rows: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [f"| `{name}` | {_required(row)} | {_cell(row.get('description', ''))} |" for name, row in rows.items()]
    return "\n".join([f"| {of} | type | meaning |", "|---|---|---|", *lines]) if lines else ""


def _required(schema: Mapping[str, Any]) -> str:
    return _type(schema) + (", required" if schema.get("required") else "")


def _type(schema: Mapping[str, Any]) -> str:
    """Return a schema in words: a link to the one that it names, or its JSON type."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(part) for part in schema["anyOf"])
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any value"))


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _no_memory() -> Any:
    raise AssertionError("the description of the API needs no memory")
