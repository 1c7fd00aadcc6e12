"""Requests of the SDK and answers of our own server are as Pinecone's published OpenAPI has them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
import yaml

from atlas.core.index_address import read_index_address
from atlas.storage.following_index import IndexUnreachable
from atlas.storage.vectors.remote.pinecone import MAX_BYTES, PineconeService
from tests.support.storage.pinecone_server import MAX_IDS, Exchange, PineconeServer, serving

SPACE = "atlas-things-1"


@pytest.fixture
def published(real_data: Path) -> dict[str, Any]:
    text = (real_data / "pinecone" / "db_data_2026-04.oas.yaml").read_text(encoding="utf-8")
    described: dict[str, Any] = yaml.safe_load(text)
    return described


def strict(schema: Any) -> Any:
    """The schema, which refuses fields that it does not name, and JSON Schema's own words where OpenAPI's differ."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: strict(one) for name, one in schema.items() if name not in ("example", "default", "description")}
    if made.get("type") == "object" and "properties" in made:
        made.setdefault("additionalProperties", False)
    if made.get("type") == "array":  # it says `minLength` of arrays
        made |= {f"{most}Items": made[f"{most}Length"] for most in ("min", "max") if f"{most}Length" in made}
    return (
        made
        if isinstance(made.get("required", []), list) and made.get("type") in (None, "object")
        else unrequired(made)
    )


def unrequired(schema: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in schema.items() if name != "required"}


def check(value: Any, schema: Mapping[str, Any], published: Mapping[str, Any]) -> None:
    jsonschema.validate(value, {**strict(schema), "components": strict(published["components"])})


def check_exchange(exchange: Exchange, published: Mapping[str, Any]) -> None:
    described = published["paths"][exchange.path][exchange.method.lower()]
    if "requestBody" in described:
        check(exchange.request, described["requestBody"]["content"]["application/json"]["schema"], published)
    responses = described["responses"]
    answer = responses.get(str(exchange.status)) or responses[f"{exchange.status // 100}XX"]
    check(exchange.answer, answer["content"]["application/json"]["schema"], published)
    assert exchange.headers["api-key"]
    assert exchange.headers["x-pinecone-api-version"] == "2026-07"  # of the SDK, newer than what is published here


def vectors(n: int, dimension: int) -> Any:
    made = np.random.default_rng(n).standard_normal((n, dimension)).astype(np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def service_of(server: PineconeServer) -> PineconeService:
    return PineconeService(read_index_address(server.address), seconds=30.0)


def test_every_request_and_answer_is_as_published(pinecone: PineconeServer, published: dict[str, Any]) -> None:
    service = service_of(pinecone)
    service.make(SPACE, 8)
    service.upsert(SPACE, [f"{i}:0" for i in range(5)], vectors(5, 8))
    service.query(SPACE, vectors(1, 8)[0], 3)
    service.query("not there", vectors(1, 8)[0], 3)
    service.remove(SPACE, ["3:0", "99:0"])
    assert service.count(SPACE) == 4
    service.drop(SPACE)
    service.drop(SPACE)
    assert service.count(SPACE) == 0
    with pytest.raises(IndexUnreachable, match="the index has 8 dimensions, a vector 9"):
        service.upsert(SPACE, ["1:0"], vectors(1, 9))
    service.close()
    asked = {(exchange.method, exchange.path, exchange.status) for exchange in pinecone.exchanges}
    assert len(asked) == 9
    for exchange in pinecone.exchanges:
        check_exchange(exchange, published)


def test_the_check_refuses_what_is_not_published(published: dict[str, Any]) -> None:
    for request in ({"topk": 3, "vector": [1.0]}, {"topK": 0, "vector": [1.0]}, {"topK": "3", "vector": [1.0]}):
        exchange = Exchange(method="POST", path="/query", headers={}, request=request, status=200, answer={})
        with pytest.raises(jsonschema.ValidationError):
            check_exchange(exchange, published)


@pytest.mark.parametrize("dimension", [8, 384, 1_536])
def test_writes_keep_to_the_limits_of_one_request(dimension: int, pinecone: PineconeServer) -> None:
    with serving(dimension) as server:
        service = service_of(server)
        n = 2_300 if dimension < 1_000 else 400
        keys = [f"{i}:0" for i in range(n)]
        written, most = vectors(n, dimension), service.max_written(dimension)
        for start in range(0, n, most):
            service.upsert(SPACE, keys[start : start + most], written[start : start + most])
        gone = keys[:1_200]
        for start in range(0, len(gone), service.max_removed):
            service.remove(SPACE, gone[start : start + service.max_removed])
        assert service.count(SPACE) == max(0, n - 1_200)
        service.close()
    assert {exchange.status for exchange in server.exchanges} == {200}
    for exchange in server.exchanges:
        assert int(exchange.headers.get("content-length", 0)) <= MAX_BYTES
        request = exchange.request or {}
        assert len(request.get("vectors", request.get("ids", []))) <= MAX_IDS


def test_what_is_rounded_on_the_way_is_the_same_within_the_precision_of_the_vector(pinecone: PineconeServer) -> None:
    service, sent = service_of(pinecone), vectors(20, 8)
    service.upsert(SPACE, [f"{i}:0" for i in range(20)], sent)
    held = np.stack([pinecone.namespaces[SPACE].shown[f"{i}:0"] for i in range(20)])
    np.testing.assert_allclose(held, sent, atol=1e-7)
    service.close()
