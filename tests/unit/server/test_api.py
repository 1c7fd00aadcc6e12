"""The HTTP API: what an agent asks and says, the keys that it needs, and errors that say what to do."""

from __future__ import annotations

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

import atlas
from atlas.access.keys import ApiKeys
from atlas.infra.actor import Role
from atlas.server.access import MAX_BODY_BYTES
from atlas.verbs.table import SYSTEM, VERBS
from tests.support.records import attempt
from tests.support.serving import serving

ATTEMPT = {
    "task": {"description": "rotate the logs of the crawler"},
    "steps": [{"action": "logrotate -f"}],
    "outcome": {"success": True},
}


@pytest.fixture
def api(address: str):
    """A client without a key."""
    with httpx.Client(base_url=f"{address}/api/v1", timeout=60) as client:
        yield client


def key(memory: atlas.MemorySystem, role: Role, name: str = "crawler", **given) -> dict[str, str]:
    """The header of a new key."""
    _, secret = ApiKeys(memory.storage.path).add(name, role, created_by="owner", **given)
    return {"Authorization": f"Bearer {secret}"}


def test_a_server_without_a_token_needs_no_key_as_long_as_there_is_none(api, memory):
    assert api.get("/operations").status_code == 200
    key(memory, Role.VIEWER)
    refused = api.get("/operations")
    assert (refused.status_code, refused.headers["content-type"]) == (401, "application/problem+json")
    assert "Authorization: Bearer KEY" in refused.json()["detail"]


def test_what_is_stored_is_found_by_the_next_context_and_named_in_the_history(api, memory):
    headers = key(memory, Role.WRITER)
    stored = api.post("/attempts", json=ATTEMPT, headers=headers).json()
    asked = {"task": {"description": "rotate the logs of the crawler"}}
    block = api.post("/context", json=asked, headers=headers).json()
    assert stored["experience"][:8] in block["text"]
    assert stored["experience"] in block["shown"]["experience"]
    assert memory.history(1)[0].actor == "crawler"


@pytest.mark.parametrize("scope", [{"scope.project": 5}, {"scope.project": " "}, {"scope.The Shop": "shop"}], ids=str)
def test_a_malformed_scope_is_refused_when_a_record_is_written_or_edited(api, memory, scope):
    headers = key(memory, Role.WRITER)
    bodies = {
        "experience": ("/attempts", ATTEMPT),
        "strategies": ("/strategies", {"situation": "a page is slow", "suggestion": "cache it"}),
        "concepts": ("/concepts", {"name": "keep", "description": "Keeps it", "code": "def keep(x):\n    return x"}),
        "journal": ("/journal", {"entry_type": "observation", "content": "the disk has 2 TB"}),
    }
    for name, (path, body) in bodies.items():
        added = api.post(path, json=body, headers=headers)
        assert added.is_success, added.text
        stored = added.json()
        record_id = stored if isinstance(stored, str) else stored.get("experience") or stored["id"]
        refused = api.post(path, json={**body, "metadata": scope}, headers=headers)
        assert (refused.status_code, "scope" in refused.json()["detail"]) == (422, True), name
        edited = api.patch(f"/{name}/{record_id}", json={"fields": {"metadata": scope}}, headers=headers)
        assert (edited.status_code, "scope" in edited.json()["detail"]) == (422, True), name


def test_a_held_out_attempt_gets_an_empty_block_and_is_marked(api, memory):
    headers = key(memory, Role.WRITER)
    api.post("/attempts", json=ATTEMPT, headers=headers)
    sides = {}
    for name in map(str, range(20)):
        asked = {"task": ATTEMPT["task"], "holdout": 0.5, "attempt": name}
        block = api.post("/context", json=asked, headers=headers).json()
        stored = api.post("/attempts", json=ATTEMPT, headers=headers).json()
        assert block["assignment"]["is_held_out"] == (not block["text"])
        sides[stored["experience"]] = "held out" if block["assignment"]["is_held_out"] else "shown"
    assert set(sides.values()) == {"held out", "shown"}
    assert {i: memory.experience.get(i).metadata["holdout"] for i in sides} == sides
    assert api.post("/context", json=asked | {"holdout": 1}, headers=headers).status_code == 422


def test_an_entry_that_a_gate_keeps_out_is_answered_with_the_reason(api, memory):
    headers = key(memory, Role.WRITER)
    entry = {"entry_type": "observation", "content": "the crawler fills its disk by noon"}
    written = api.post("/journal", json=entry, headers=headers)
    assert written.status_code == 201
    assert memory.journal.get(written.json()["id"]).content == entry["content"]
    assert written.json()["refusal"] == ""
    kept_out = api.post("/journal", json=entry, headers=headers)
    assert (kept_out.status_code, kept_out.json()["id"]) == (200, None)
    [refused] = memory.journal.rejected().latest
    assert kept_out.json()["refusal"] == refused.refusal.reason != ""
    assert memory.journal.count() == 1


def test_an_attempt_that_is_sent_again_is_stored_once(api, memory):
    again = {"Idempotency-Key": "one"}
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: api.post("/attempts", json=ATTEMPT, headers=again).json(), range(8)))
    assert len({answer["experience"] for answer in answers}) == 1
    assert [answer["is_known"] for answer in answers].count(False) == 1
    assert memory.experience.count() == 31


def test_a_key_of_another_task_is_refused_and_stores_nothing(api, memory):
    again = {"Idempotency-Key": "one"}
    api.post("/attempts", json=ATTEMPT, headers=again)
    answer = api.post("/attempts", json={**ATTEMPT, "task": {"description": "bake bread"}}, headers=again)
    assert answer.status_code == 422
    assert "bake bread" in answer.json()["detail"]
    assert memory.experience.count() == 31


def test_outcomes_are_set_in_bulk_as_one_operation(api, memory):
    first, second, third = memory.experience.ids()[:3]
    body = {"outcomes": {first: True, second: False, third: None}, "reason": "the tests of the night"}
    assert api.post("/experience/outcomes", json=body).json() == sum(
        each.outcome.success is not body["outcomes"][each.id]
        for each in memory.experience.get_many([first, second, third])
    )


def test_a_viewer_reads_everything_and_writes_through_no_door(api, memory):
    headers = key(memory, Role.VIEWER)
    one = memory.experience.ids()[0]
    before = memory.count_operations()
    assert api.get(f"/experience/{one}", headers=headers).status_code == 200
    assert api.post("/experience/search", json={"query": "web report"}, headers=headers).status_code == 200
    writes: dict[str, Any] = {
        "/attempts": ATTEMPT,
        "/traces": {"resourceSpans": []},
        "/{memory}/{record_id}/uses": {"success": True},
        "/{memory}/marks": {"ids": [one], "pinned": True},
        "/experience/outcomes": {"outcomes": {one: None}},
        "/strategies": {"situation": "a page is slow", "suggestion": "cache it"},
        "/concepts": {"name": "cache", "description": "Keeps a value", "code": "def cache(x):\n    return x"},
        "/journal": {"entry_type": "reflection", "content": "caching pages made them fast"},
        "/operations/{operation_id}/undo": {},
        "/{memory}/{record_id}": {"pinned": True},
        "/review/accept": {"all": True},
        "/review/reject": {"all": True},
        "/access/keys": {"name": "mine"},
        "/access/keys/{name_or_id}/revoke": {},
        "/access/people/{person_id}/role": {"role": "admin"},
        "/access/people/{person_id}/remove": {},
        "/access/people/{person_id}/readmit": {},
        "/access/links": {"name": "mine"},
        "/access/links/{link_id}/end": {},
        "/access/backups": {},
    }
    described = {path: set(held) - {"get"} for path, held in api.get("/openapi.json").json()["paths"].items()}
    written = {path for path, methods in described.items() if methods and not path.startswith("/verbs/")}
    assert written == {*writes, "/context", "/{memory}/search"}
    named = {"memory": "experience", "record_id": one, "operation_id": memory.history(1)[0].id}
    named |= dict.fromkeys(("name_or_id", "person_id", "link_id"), "x")
    answers = {
        path: api.request(described[path].pop(), path.format(**named), json=body, headers=headers)
        for path, body in writes.items()
    }
    assert {path: answer.status_code for path, answer in answers.items()} == dict.fromkeys(answers, 403)
    assert all("is a viewer and may not" in answer.json()["detail"] for answer in answers.values())
    assert memory.count_operations() == before
    assert not memory.experience.usage([one])[one].n_retrieved


def test_a_viewer_may_call_no_verb_that_writes(api, memory):
    headers = key(memory, Role.VIEWER)
    writes = [(owner, verb) for verb in VERBS for owner in verb.owners if verb.role > Role.VIEWER]
    for owner, verb in writes:
        path = f"/verbs/{verb.name}" if owner == SYSTEM else f"/verbs/{owner}/{verb.name}"
        answer = api.post(path, json={}, headers=headers)
        assert (answer.status_code, answer.headers["Atlas-Error"]) == (403, "NotAllowed"), path


def test_a_verb_refuses_arguments_that_its_method_does_not_take(api, memory):
    one = memory.experience.ids()[0]
    for arguments, why in (
        ({"record_id": one, "depth": 2}, "'depth' is not an argument of similar; it accepts record_id, k, where"),
        ({"k": 2}, "similar needs record_id"),
        ({"record_id": one, "k": "2"}, "expected a whole number for k, got '2'"),
    ):
        answer = api.post("/verbs/experience/similar", json=arguments)
        assert (answer.status_code, why in answer.json()["detail"]) == (422, True), answer.json()
    assert api.post("/verbs/journal/prune", json={}).status_code == 422
    assert api.post("/verbs/experience/within", json={"kind": "x"}).status_code == 404


def test_a_revoked_or_expired_key_is_refused_at_once(api, memory):
    revoked = key(memory, Role.WRITER, "one")
    assert api.get("/operations", headers=revoked).status_code == 200
    ApiKeys(memory.storage.path).revoke("one")
    assert "was revoked" in api.get("/operations", headers=revoked).json()["detail"]
    expiring = key(memory, Role.WRITER, "two", expires_at=datetime.now(UTC) + timedelta(seconds=0.5))
    while (answer := api.get("/operations", headers=expiring)).status_code == 200:
        pass
    assert "expired" in answer.json()["detail"]


def test_health_needs_no_key_and_then_is_up_or_down_alone(api, memory):
    headers = key(memory, Role.VIEWER)
    assert api.get("/health").json() == {"status": "ready"}
    assert api.get("/health", headers={"Authorization": "Bearer guessed"}).json() == {"status": "ready"}
    assert api.get("/health", headers=headers).json().keys() == {
        "status",
        "version",
        "schema_version",
        "store",
        "is_model_ready",
        "n_behind",
        "is_index_reachable",
        "n_traces_waiting",
        "n_traces_refused",
    }


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "said"),
    [
        ("GET", "/nothing/here", None, 422, "'experience', 'concepts', 'journal' or 'strategies'"),
        ("GET", "/experience/none", None, 404, "it may have been deleted"),
        ("GET", "/operations/none", None, 404, "no operation has an id that begins with 'none'"),
        ("POST", "/attempts", {"task": {"description": ""}}, 422, "at least 1 character"),
        ("POST", "/attempts", {"task": {"description": "a\x00b"}}, 422, "pattern"),
        ("POST", "/attempts", {**ATTEMPT, "succes": True}, 422, "Extra inputs are not permitted"),
        ("POST", "/attempts", {**ATTEMPT, "timestamp": "2026-01-01T00:00:00"}, 422, "no time zone"),
        ("POST", "/experience/search", {"query": "x", "where": {"outcome": {"$near": 1}}}, 422, "$near"),
        ("GET", "/experience?where=[", None, 422, "a filter as JSON"),
        (
            "GET",
            "/experience?filter={}",
            None,
            422,
            "'filter' is no parameter of this address; it takes where, limit, order",
        ),
        (
            "GET",
            "/experience/none?With=uses&x=1",
            None,
            422,
            "'With' and 'x' are no parameters of this address; it takes with",
        ),
        ("GET", "/operations?k=1", None, 422, "it takes limit, offset, actor, kind, of, since"),
        ("POST", "/attempts?id=x", {"task": {"description": "x"}}, 422, "this address; it takes none"),
        ("GET", "/health?x=1", None, 422, "this address; it takes none"),
        ("PUT", "/attempts", None, 405, "Method Not Allowed"),
    ],
)
def test_bad_input_gets_a_problem_that_says_what_to_do(api, method, path, body, status, said):
    answer = api.request(method, path, json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert said in answer.json()["detail"]


@pytest.mark.parametrize("is_declared", [True, False])
def test_a_body_that_is_too_large_is_refused(api, memory, is_declared):
    body = json.dumps({"task": {"description": "x" * MAX_BODY_BYTES}}).encode()
    answer = api.post("/attempts", content=body if is_declared else iter([body[:1000], body[1000:]]))
    assert answer.status_code == 413
    assert "at most 16,777,216 bytes" in answer.json()["detail"]
    assert memory.experience.count() == 30


def test_a_truncated_body_is_refused(api):
    answer = api.post("/attempts", content=b'{"task": {"descr', headers={"content-type": "application/json"})
    assert answer.status_code == 422


@pytest.mark.parametrize("path", ["/api/v1/attempts", "/api/v1/traces", "/mcp/"])
def test_a_body_that_ends_too_early_is_let_go_of(address, api, memory, path):
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as cut:
        head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
        cut.sendall(head.encode() + b'{"task": {"descr')
    assert api.get("/health").status_code == 200
    assert memory.experience.count() == 30


def test_two_hundred_requests_at_once_lose_nothing(address, memory):
    # With as many connections as threads, the client closes none while another thread reads from it.
    limits = httpx.Limits(max_connections=250, max_keepalive_connections=250)
    api = httpx.Client(base_url=f"{address}/api/v1", timeout=60, limits=limits)

    def send(n: int) -> httpx.Response:
        task = {"description": f"sort list number {n % 100} of the north"}
        return api.post("/attempts", json={**ATTEMPT, "task": task}, headers={"Idempotency-Key": f"{n % 100}"})

    with api, ThreadPoolExecutor(200) as threads:
        sent = [threads.submit(send, n) for n in range(200)]
        assert api.get("/health").json()["status"] == "ready"
        answers = [one.result() for one in sent]
    ids = {answer.json()["experience"] for answer in answers if answer.status_code == 200}
    assert [answer.status_code for answer in answers] == [200] * 200
    assert len(memory.experience.get_many(list(ids))) == len(ids) == 100


def test_pages_of_a_list_hold_every_record_once(api, memory):
    seen, cursor = [], ""
    while cursor is not None:
        page = api.get("/experience", params={"limit": 7, "cursor": cursor}).json()
        seen += [record["id"] for record in page["records"]]
        cursor = page["cursor"]
    assert sorted(seen) == sorted(memory.experience.ids())
    assert page["n_records"] == 30


def test_the_history_is_narrowed_by_actor_kind_record_and_time(api, memory):
    headers = key(memory, Role.WRITER)
    begun = datetime.now(UTC)
    stored = api.post("/attempts", json=ATTEMPT, headers=headers).json()
    api.post("/experience/marks", json={"ids": [stored["experience"]], "pinned": True}, headers=headers)

    def told(**asked: str) -> list[tuple[str, str]]:
        page = api.get("/operations", params=asked, headers=headers).json()
        assert page["n_operations"] == len(page["operations"])
        return [(one["kind"], one["actor"]) for one in page["operations"]]

    both = [("mark", "crawler"), ("store", "crawler")]
    assert told(of=stored["experience"]) == told(actor="crawler") == told(since=begun.isoformat()) == both
    assert told(kind="mark") == both[:1]
    assert told(actor="nobody") == []
    operations = api.get("/operations", params={"kind": "store", "of": stored["experience"]}, headers=headers).json()
    assert operations["operations"][0]["id"] == stored["operation"]


def test_until_the_model_is_ready_words_alone_answer_and_it_is_said(memory):
    asked = {"task": {"description": "mend the web report of customer 37"}}
    with (
        serving(memory, is_model_ready=False) as address,
        httpx.Client(base_url=f"{address}/api/v1", timeout=60) as api,
    ):
        health = api.get("/health").json()
        assert (
            health["is_model_ready"],
            health["store"],
            health["n_behind"],
        ) == (False, "store", 0)
        block = api.post("/context", json=asked).json()
        assert (block["by_words"], "customer 37" in block["text"]) == (True, True)
        found = api.post("/experience/search", json={"query": "customer 37", "k": 3}).json()
        assert (found["by_words"], "customer 37" in str(found["hits"])) == (True, True)
        with atlas.connect(address) as elsewhere:
            assert "customer 37" in elsewhere.build_context(atlas.Task("", "", "customer 37")).text
            assert elsewhere.experience.retrieve("customer 37").hits
    with serving(memory) as address:
        assert httpx.post(f"{address}/api/v1/context", json=asked, timeout=60).json()["by_words"] is False


@pytest.mark.parametrize("k", [0, -1])
def test_less_than_one_result_is_refused_and_a_specified_method_lists_none(api, address, memory, k):
    memory.experience.store(attempt("rotate the logs"))
    for path, body in (("/experience/search", {"query": "logs"}), ("/context", {"task": {"description": "logs"}})):
        refused = api.post(path, json=body | {"k": k})
        assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")
    with atlas.connect(address) as elsewhere:
        assert elsewhere.experience.search_hits("logs", k) == elsewhere.experience.search_words("logs", k) == []


def test_a_misspelt_filter_is_a_problem_and_a_name_that_no_record_has_a_note(api, address, memory):
    memory.experience.store(attempt("rotate the logs"))
    asked = {"query": "logs", "where": {"outcom": "failed"}}
    refused = api.post("/experience/search", json=asked)
    assert (refused.status_code, refused.headers["content-type"]) == (422, "application/problem+json")
    assert refused.json()["detail"].endswith("did you mean 'outcome'?")
    assert api.get("/experience", params={"where": '{"outcom": "failed"}'}).status_code == 422
    note = "No record has 'region' yet, so nothing passes the filter on it."
    for by_words in (False, True):
        asked = {"query": "logs", "where": {"region": "north"}, "by_words": by_words}
        assert api.post("/experience/search", json=asked).json()["notes"] == [note]
    assert api.get("/experience", params={"where": '{"region": "north"}'}).json()["notes"] == [note]
    with atlas.connect(address) as elsewhere:
        assert elsewhere.experience.retrieve("logs", where={"region": "north"}).notes == (note,)


def test_what_a_key_under_review_stores_is_told_to_others_once_a_curator_accepts_it(api, memory):
    reviewed, writer = key(memory, Role.WRITER, "intern", is_reviewed=True), key(memory, Role.WRITER)
    stored = api.post("/attempts", json=ATTEMPT, headers=reviewed).json()
    assert stored["is_waiting"]
    asked = {"task": {"description": "rotate the logs of the crawler"}}

    def shown(headers: dict[str, str]) -> list[str]:
        return api.post("/context", json=asked, headers=headers).json()["shown"].get("experience", [])

    assert stored["experience"] in shown(reviewed)
    assert stored["experience"] not in shown(writer)
    refused = api.post(f"/experience/{stored['experience']}/uses", json={"success": True}, headers=reviewed)
    assert (refused.status_code, "store the attempt with `used`" in refused.json()["detail"]) == (403, True)
    memory.experience.release([stored["experience"]])
    assert stored["experience"] in shown(writer)


def test_a_record_named_as_an_open_path_needs_a_key_all_the_same(api, memory):
    key(memory, Role.VIEWER)
    memory.strategies.add(atlas.Strategy(id="health", situation="a page is slow", suggestion="cache it"))
    assert api.get("/strategies/health").status_code == 401
    assert api.patch("/strategies/health", json={"pinned": True}).status_code == 401


def test_a_stream_of_changes_ends_when_its_key_is_revoked(api, memory):
    headers = key(memory, Role.VIEWER, "watcher")
    with api.stream("GET", "/changes", headers=headers) as stream:
        lines = stream.iter_lines()
        assert next(lines).startswith(": following")
        ApiKeys(memory.storage.path).revoke("watcher")
        told = list(lines)
    assert "event: refused" in told
    assert any("was revoked" in line for line in told)


SECRET = "sk-" + "a1B2" * 6


def test_secrets_are_replaced_and_counted_whatever_is_written(api, memory):
    headers = key(memory, Role.WRITER)

    def written(method: str, path: str, **body: Any) -> httpx.Response:
        return api.request(method, path, json=body, headers=headers).raise_for_status()

    attempt = written("POST", "/attempts", **ATTEMPT | {"metadata": {"feedback": f"the key was {SECRET}"}}).json()
    assert attempt["scrubbed"] == {"API keys": 1}
    entry = written("POST", "/journal", entry_type="observation", content=f"the key was {SECRET}")
    assert entry.json()["scrubbed"] == {"API keys": 1}
    strategy = written("POST", "/strategies", situation="a key is asked for", suggestion=f"give {SECRET}")
    path = f"/experience/{attempt['experience']}"
    others = [
        strategy,
        written("PATCH", f"/strategies/{strategy.json()}", fields={"rationale": f"it is {SECRET}"}),
        written("PATCH", path, note=f"it is {SECRET}"),
        written("POST", "/experience/marks", ids=[attempt["experience"]], note=f"it is still {SECRET}"),
    ]
    assert [answer.headers["Atlas-Scrubbed"] for answer in (entry, *others)] == ["API keys=1"] * 5
    for place in ("/experience", "/journal", "/strategies", path):
        assert SECRET not in api.get(place, headers=headers).text
    assert "Atlas-Scrubbed" not in written("POST", "/strategies", situation="a fork", suggestion="go left").headers


def test_a_refused_entry_with_a_secret_is_answered_with_the_reason(api, memory):
    headers = key(memory, Role.WRITER)
    entry = {"entry_type": "observation", "content": f"the crawler logs in with {SECRET} by noon"}
    answers = [api.post("/journal", json=entry, headers=headers).json() for _ in range(2)]
    assert answers[1]["id"] is None
    assert answers[1]["refusal"] != "it was refused by a gate of the journal"
