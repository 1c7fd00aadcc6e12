"""Clients that are generated from the OpenAPI document store, search and edit a record on a real server."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

import atlas
from atlas.access.keys import ApiKeys
from atlas.infra.actor import Role
from atlas.testing import HashEmbedder
from tests.support.environments import environment_with, run
from tests.support.serving import serving

PYTHON = """
import sys
from atlas_client import AuthenticatedClient
from atlas_client.api.default import add_strategy, call_get_of_memory, edit_record, search_records
from atlas_client.models import (
    CallGetOfMemoryArguments, EditInput, EditInputFields, RecordResponse, SearchRequest, Strategy, StrategyInput
)

client = AuthenticatedClient(base_url=sys.argv[1], token=sys.argv[2])
advice = StrategyInput(situation="a refund is above 500", suggestion="ask the manager first")
strategy_id = add_strategy.sync(client=client, body=advice)
found = search_records.sync("strategies", client=client, body=SearchRequest("refund above 500", threshold=0.0))
assert [hit.item.id for hit in found.hits] == [strategy_id]
changes = EditInput(fields=EditInputFields.from_dict({"title": "Refunds"}))
edited = edit_record.sync("strategies", strategy_id, client=client, body=changes)
assert isinstance(edited, RecordResponse)
arguments = CallGetOfMemoryArguments.from_dict({"record_id": strategy_id})
read = call_get_of_memory.sync("strategies", client=client, body=arguments)
assert isinstance(read, Strategy)
print(read.title, read.suggestion)
"""

TYPESCRIPT = """
import createClient from "openapi-fetch";
import type { components, paths } from "./atlas";

const headers = { Authorization: `Bearer ${process.argv[3]}` };
const client = createClient<paths>({ baseUrl: process.argv[2], headers });
const memory = "strategies" as const;

async function main() {
  const advice = { situation: "a refund is above 500", suggestion: "ask the manager first" };
  const added = await client.POST("/strategies", { body: advice });
  const id: string = added.data!;
  const found = await client.POST("/{memory}/search", {
    params: { path: { memory } },
    body: { query: "refund above 500", threshold: 0 },
  });
  const ids: string[] = found.data!.hits.map((hit) => hit.item.id);
  if (ids.join() !== id) throw new Error(`found ${ids}`);
  await client.PATCH("/{memory}/{record_id}", {
    params: { path: { memory, record_id: id } },
    body: { fields: { title: "Refunds" } },
  });
  const read = await client.POST("/verbs/{memory}/get", { params: { path: { memory } }, body: { record_id: id } });
  const strategy = read.data as components["schemas"]["Strategy"];
  console.log(strategy.title, strategy.suggestion);
}

main();
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of a server and a key. Its OpenAPI document is `openapi.json` in the working directory."""
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as memory, serving(memory) as address:
        api = f"{address}/api/v1"
        (tmp_path / "openapi.json").write_text(httpx.get(f"{api}/openapi.json", timeout=60).text, encoding="utf-8")
        yield api, ApiKeys(memory.storage.path).add("clerk", Role.WRITER, created_by="owner")[1]


@pytest.mark.slow
def test_a_generated_python_client_stores_searches_and_edits(served: tuple[str, str], tmp_path: Path):
    python = environment_with(["openapi-python-client"], tmp_path / "environment")
    generate = [python.with_name("openapi-python-client"), "generate", "--meta", "none", "--path", "openapi.json"]
    printed = run([*generate, "--output-path", "atlas_client"], tmp_path)
    assert "Cannot parse" not in printed, printed
    (tmp_path / "use.py").write_text(PYTHON, encoding="utf-8")
    assert run([python, "use.py", *served], tmp_path) == "Refunds ask the manager first\n"


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("npm") is None, reason="needs Node.js with npm")
def test_a_generated_typescript_client_stores_searches_and_edits(served: tuple[str, str], tmp_path: Path):
    run(["npm", "init", "--yes"], tmp_path)
    run(
        ["npm", "install", "--silent", "openapi-typescript@7", "openapi-fetch@0", "typescript@5", "@types/node@20"],
        tmp_path,
    )
    programs = tmp_path / "node_modules/.bin"
    options = ["--default-non-nullable", "false"]  # or a field of a request with a default would be required
    run([programs / "openapi-typescript", "openapi.json", "--output", "atlas.d.ts", *options], tmp_path)
    (tmp_path / "use.ts").write_text(TYPESCRIPT, encoding="utf-8")
    run(
        [programs / "tsc", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "node16", "use.ts"], tmp_path
    )
    assert run(["node", "use.js", *served], tmp_path) == "Refunds ask the manager first\n"
