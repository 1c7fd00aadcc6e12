"""The OpenAPI document names its operations and types as a person would, and types what the API returns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from atlas.access.stores import Stores
from atlas.server.access import RequestAuthenticator
from atlas.server.api.app import make_api
from atlas.server.api.verbs import RESULTS


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    def no_memory() -> Any:
        raise AssertionError("the document is the same for every memory")

    authenticator = RequestAuthenticator(Stores({"docs": Path("docs")}, {}, owner="docs"), is_open=True)
    found: dict[str, Any] = TestClient(make_api(no_memory, authenticator)).get("/openapi.json").json()
    return found


def test_the_types_that_are_returned_have_plain_names(document):
    names = document["components"]["schemas"].keys()
    assert names >= {
        *("Experience", "Strategy", "CodeConcept", "JournalEntry", "RecordHit", "RecordVersion", "StrategyRate"),
        *("Problem", "TracesResponse", "SearchResponse", "Page", "RecordResponse"),
    }
    assert [name for name in names if not name.isalnum()] == []


def test_every_reference_leads_to_a_type(document):
    text = json.dumps(document)
    names = document["components"]["schemas"].keys()
    assert {part.partition('"')[0] for part in text.split("#/components/schemas/")[1:]} == names


def test_no_field_of_a_response_is_of_any_type(document):
    of_requests = ("Input", "Request")
    untyped = [
        f"{name}.{field}"
        for name, schema in document["components"]["schemas"].items()
        if not name.endswith(of_requests)
        for field, described in schema.get("properties", {}).items()
        if not described.keys() & {"type", "anyOf", "$ref", "allOf", "enum", "const"}
    ]
    assert untyped == []


def test_operations_have_plain_and_different_names(document):
    operations = [operation for methods in document["paths"].values() for operation in methods.values()]
    ids = [operation["operationId"] for operation in operations]
    assert len(set(ids)) == len(ids)
    assert {"context", "store_attempt", "read_record", "take_traces", "call_history", "call_edit_of_memory"} <= set(ids)


def test_every_operation_has_a_typed_answer(document):
    untyped = [
        (method, path, status)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        for status, answer in operation["responses"].items()
        if status.startswith("2") and status != "204"
        if not all(content.get("schema") for content in answer.get("content", {"": {}}).values())
    ]
    assert untyped == []


def test_types_of_verbs_and_of_routes_with_one_name_are_the_same(document):
    schemas = document["components"]["schemas"]
    assert RESULTS.named.keys() <= schemas.keys()
    for name, schema in RESULTS.named.items():
        assert schemas[name]["properties"].keys() == schema["properties"].keys(), name


def test_fields_of_answers_are_required_and_those_of_requests_are_not(document):
    schemas = document["components"]["schemas"]
    assert set(schemas["Strategy"]["required"]) == set(schemas["Strategy"]["properties"])
    assert schemas["StrategyInput"]["required"] == ["situation", "suggestion"]


def test_errors_are_problems(document):
    for path, methods in document["paths"].items():
        for operation in methods.values():
            for status in ("4XX", "5XX"):
                [kind] = operation["responses"][status]["content"].values()
                assert kind["schema"] == {"$ref": "#/components/schemas/Problem"}, path
