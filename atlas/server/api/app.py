"""The API application: its routes, errors and OpenAPI document."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBearer
from pydantic import TypeAdapter
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from atlas.core.errors import AtlasError
from atlas.memory.kinds.table import searchable_kinds
from atlas.server.access import ApiKeyMiddleware, BodyLimitMiddleware, RequestAuthenticator
from atlas.server.api import access, attempts, changes, context, health, history, records, review, traces, verbs
from atlas.server.api.parts import check_query, record_route
from atlas.server.problems import ERROR, MEDIA_TYPE, Problem, problem_of
from atlas.server.served import MemoryProvider

DESCRIPTION = """
What an agent has learned: ask for it before a task (`/context`), and say after it how it went (`/attempts`).
Errors are RFC 9457 problems whose `detail` says what was expected, what came, and what to do.
"""


_REFERENCE = re.compile(r'"#/components/schemas/(\w+)"')

PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"description": about, "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    for status, about in {"4XX": "The request cannot be met as it is.", "5XX": "The server cannot meet it now."}.items()
}
"""Errors of all routes in the OpenAPI document."""


class Api(FastAPI):
    """The FastAPI application of the API. Its OpenAPI document describes the error responses once."""

    def openapi(self) -> dict[str, Any]:
        """Return the OpenAPI document."""
        document = super().openapi()
        schemas = document["components"]["schemas"]
        schemas["Problem"] = TypeAdapter(Problem).json_schema()
        document["components"]["schemas"] = {**verbs.RESULTS.named, **schemas}
        _require_response_fields(document)
        return document


def _require_response_fields(document: dict[str, Any]) -> None:
    """Mark all fields of response types as required, because a response has every field, even if it is empty.

    Types that requests use, directly or in other types, are left unchanged.
    """
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    schemas = document["components"]["schemas"]
    text = json.dumps([operation.get("requestBody") for operation in operations])
    request_schemas: set[str] = set()
    while new_schemas := {*_REFERENCE.findall(text)} - request_schemas:
        request_schemas |= new_schemas
        text = json.dumps([schemas[name] for name in new_schemas])
    for name in verbs.RESULTS.named.keys() - request_schemas:
        schemas[name]["required"] = [*schemas[name]["properties"]]


def make_api(open_memory: MemoryProvider, authenticator: RequestAuthenticator) -> ASGIApp:
    """Return the ASGI application of the HTTP API, for mounting below a path."""
    state = {"open_memory": open_memory, "authenticator": authenticator}

    async def api(scope: Scope, receive: Receive, send: Send) -> None:
        await _routes(tuple(searchable_kinds()))({**scope, "state": {**scope.get("state", {}), **state}}, receive, send)

    open_paths = ("/health", "/health/live", "/health/ready", "/openapi.json")
    return ApiKeyMiddleware(BodyLimitMiddleware(api), authenticator, open_paths=open_paths)


@lru_cache(maxsize=1)
def _routes(kinds: tuple[str, ...]) -> Api:
    """Return the router of all routes. The routes read the memory from the state of the request.

    Building them takes some tenths of a second.

    Args:
        kinds: Names of the memories, which the description of the API lists.
    """
    api = Api(
        title="ATLAS memory",
        version="1",
        description=DESCRIPTION,
        docs_url=None,  # the docs page would load scripts from another site
        redoc_url=None,
        responses=PROBLEMS,
        generate_unique_id_function=lambda route: route.name,  # generated clients name their functions so
    )
    checks = [Depends(record_route), Depends(check_query)]
    key = Depends(HTTPBearer(auto_error=False, description="A key: atlas keys add NAME"))
    # A request is compared with each route until one matches, so those of agents come first.
    for router in (records.searches, context.router, attempts.router):
        api.include_router(router, dependencies=[key, *checks])
    api.include_router(health.router, dependencies=checks)
    for routes in (traces, history, changes, verbs, access, review, records):
        api.include_router(routes.router, dependencies=[key, *checks])
    api.add_exception_handler(AtlasError, _problem_response)
    api.add_exception_handler(RequestValidationError, _validation_response)
    api.add_exception_handler(HTTPException, _plain_response)
    return api


async def _problem_response(request: Request, error: Exception) -> Response:
    assert isinstance(error, AtlasError)
    return problem_of(error).response({ERROR: type(error).__name__})


async def _validation_response(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    problems = [f"{'.'.join(map(str, error_part['loc']))}: {error_part['msg']}" for error_part in error.errors()[:5]]
    return Problem(422, "Invalid input", "; ".join(problems)[:1_000]).response()


async def _plain_response(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    title = HTTPStatus(error.status_code).phrase
    detail = f"{error.detail}: {request.method} {request.url.path}" if error.detail == title else str(error.detail)
    return Problem(error.status_code, title, detail).response(error.headers)
