"""Routes for the verbs of the memories, which `atlas.connect` calls."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Body, Response
from fastapi.responses import JSONResponse

from atlas.infra.actor import check_role, refuse_in_scope
from atlas.server.api.parts import LazyServedMemory, ThreadRoute, send_secret_counts
from atlas.server.served import ServedMemory
from atlas.verbs.encoding import encode
from atlas.verbs.schemas import Schemas
from atlas.verbs.table import SYSTEM, VERBS, Verb

router = APIRouter(prefix="/verbs", route_class=ThreadRoute)

Arguments = Annotated[dict[str, Any], Body(description="The arguments of the method, keyed by name.")]

NO_ARGUMENTS: dict[str, Any] = {}

RESULTS = Schemas()
"""Schemas of the results of verbs."""


class AsciiResponse(JSONResponse):
    """A JSON response in ASCII, which preserves lone surrogates."""

    def render(self, content: Any) -> bytes:
        """Return the content as JSON, encoded in ASCII."""
        return json.dumps(content, separators=(",", ":"), allow_nan=False).encode("ascii")


def _call_verb(verb: Verb, owner: str, served: ServedMemory, encoded: Any) -> Response:
    """Call a method and return its result. The number of replaced secrets is sent as a header."""
    check_role(verb.role, f"call `{verb.name}`")
    if verb.is_store_wide:
        refuse_in_scope(f"call `{verb.name}`")
    arguments = verb.decode_arguments(owner, encoded)
    target = served.memory if owner == SYSTEM else getattr(served.memory, owner)
    name = verb.name
    if not served.is_model_ready:
        name, arguments = _to_keyword_call(verb, arguments)
    bound_arguments = inspect.signature(getattr(target, name)).bind(**arguments)
    answer = AsciiResponse(None)
    with send_secret_counts(answer):
        result = getattr(target, name)(*bound_arguments.args, **bound_arguments.kwargs)
    answer.body = answer.render(encode(result))
    answer.headers["content-length"] = str(len(answer.body))
    return answer


def _to_keyword_call(verb: Verb, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the verb and arguments of the same search by keywords, for use until the embedding model is ready."""
    if verb.name == "retrieve":
        return "retrieve_words", {
            name: arguments[name] for name in ("query", "k", "where", "domain") if name in arguments
        }
    return verb.name, arguments | ({"by_words": True} if verb.name == "build_context" else {})


def _add_route(verb: Verb, owners: tuple[str, ...]) -> None:
    """Add the route of a verb."""
    endpoint: Callable[..., Response]
    if owners == (SYSTEM,):

        def endpoint(opened: LazyServedMemory, arguments: Arguments = NO_ARGUMENTS) -> Response:
            return _call_verb(verb, SYSTEM, opened, arguments)
    else:

        def endpoint(memory: str, opened: LazyServedMemory, arguments: Arguments = NO_ARGUMENTS) -> Response:
            return _call_verb(verb, memory, opened, arguments)

        endpoint.__annotations__["memory"] = Literal[owners]

    description = inspect.getdoc(verb.method(owners[0])) or ""
    router.post(
        f"/{verb.name}" if owners == (SYSTEM,) else f"/{{memory}}/{verb.name}",
        response_class=AsciiResponse,
        name=f"call_{verb.name}" if owners == (SYSTEM,) else f"call_{verb.name}_of_memory",
        description=description,
        openapi_extra={
            "requestBody": {"content": {"application/json": {"schema": _arguments_schema(verb, owners)}}},
            "responses": {"200": {"content": {"application/json": {"schema": _result_schema(verb, owners)}}}},
        },
    )(endpoint)


def _arguments_schema(verb: Verb, owners: tuple[str, ...]) -> dict[str, Any]:
    """Return the OpenAPI schema of a verb's arguments."""
    parameters = {
        name: parameter
        for owner in owners
        for name, parameter in list(inspect.signature(verb.method(owner)).parameters.items())[1:]
    }
    return {"properties": {name: {"description": str(parameter.annotation)} for name, parameter in parameters.items()}}


def _result_schema(verb: Verb, owners: tuple[str, ...]) -> dict[str, Any]:
    """Return the OpenAPI schema of a verb's result."""
    return RESULTS.schema_of_any([verb.types(owner)["return"] for owner in owners])


for _verb in VERBS:
    _add_route(_verb, _verb.owners)
