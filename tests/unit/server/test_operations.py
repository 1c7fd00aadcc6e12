"""What an operator sees of a server: its log, its metrics, its traces and its health."""

from __future__ import annotations

import json
import logging
import re
from functools import partial

import httpx
import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from atlas.access.keys import ApiKeys
from atlas.core.errors import InvalidInput, StoreUnavailable
from atlas.infra.actor import Role
from atlas.llm.budget import TokenUsage
from atlas.server.operations.logs import LOGGERS, configure_logs, log_request
from atlas.server.operations.metrics import Metrics, OpenedStore
from atlas.server.operations.requests import RequestRecord
from atlas.server.operations.traces import RequestTraces
from tests.support.repository import REPOSITORY
from tests.support.serving import serving
from tests.support.waiting import GIVE_UP_SECONDS

get, post = (partial(method, timeout=GIVE_UP_SECONDS) for method in (httpx.get, httpx.post))

SECRET = "a sentence that only the memory should have"


@pytest.fixture
def key(memory) -> dict[str, str]:
    """The header of a writer's key."""
    _, secret = ApiKeys(memory.storage.path).add("crawler", Role.WRITER, created_by="owner")
    return {"Authorization": f"Bearer {secret}"}


@pytest.fixture
def log(capfd):
    """A function that configures the log in a form, and one that returns its lines. After the test all is as before."""
    before = {name: (logging.getLogger(name).handlers[:], logging.getLogger(name).propagate) for name in LOGGERS}
    listeners = []

    def configured(form: str) -> None:
        listeners.append(configure_logs(form))

    def written() -> str:
        """The lines until now."""
        while listeners:
            listeners.pop().stop()
        return capfd.readouterr().err

    yield configured, written
    written()
    for name, (handlers, propagate) in before.items():
        logging.getLogger(name).handlers, logging.getLogger(name).propagate = handlers, propagate
        logging.getLogger(name).setLevel(logging.NOTSET)


def test_each_request_is_one_line_of_json_without_contents(memory, key, log):
    log[0]("json")
    with serving(memory, observers=[log_request]) as address:
        body = {"task": {"description": SECRET}}
        answer = post(f"{address}/api/v1/context", json=body, headers={**key, "X-Request-ID": "abc-1"})
        get(f"{address}/api/v1/experience/unknown-id", headers=key)
    lines = [json.loads(line) for line in log[1]().splitlines() if '"atlas.requests"' in line]
    assert answer.headers["X-Request-ID"] == "abc-1"
    first, second = lines
    assert {"request_id": "abc-1", "method": "POST", "route": "/api/v1/context", "status": 200}.items() <= first.items()
    assert (first["actor"], first["role"], first["store"]) == ("crawler", "writer", memory.storage.path.name)
    assert first["milliseconds"] > 0
    assert (second["path"], second["route"], second["status"]) == (
        "/api/v1/experience/unknown-id", "/api/v1/{memory}/{record_id}", 404,
    )  # fmt: skip
    assert SECRET not in json.dumps(lines)


def test_a_line_of_text_cannot_be_forged_by_a_path(log):
    log[0]("text")
    record = RequestRecord(id="1", method="GET", path="/enter\n2026 INFO GET / 200", client="10.0.0.1", status=404)
    log_request(record)
    (line,) = log[1]().splitlines()
    assert "GET /enter\\n2026 INFO GET / 200 404 0.0 ms 10.0.0.1 [1]" in line


def test_the_secret_of_a_link_is_not_logged(memory, log):
    log[0]("text")
    with serving(memory, observers=[log_request]) as address:
        get(f"{address}/link/{SECRET}")
    text = log[1]()
    assert "GET /link/… 404" in text
    assert "sentence" not in text


def test_files_of_the_dashboard_are_logged_only_if_they_fail(log):
    log[0]("")
    for status in (200, 404):
        log_request(RequestRecord(id="1", method="GET", path="/static/js/main.js", client="", status=status))
    (line,) = log[1]().splitlines()
    assert "/static/js/main.js 404" in line


def test_off_leaves_warnings(log):
    log[0]("off")
    log_request(RequestRecord(id="1", method="GET", path="/", client="", status=500))
    logging.getLogger("atlas.server").warning("the store is gone")
    (line,) = log[1]().splitlines()
    assert "WARNING the store is gone" in line


def test_another_form_is_refused_with_the_ones_there_are():
    with pytest.raises(InvalidInput, match="expected one of text, json, off for ATLAS_LOG, got 'xml'"):
        configure_logs("xml")


def samples(text: str) -> dict[tuple[str, ...], float]:
    """Values of metrics by their name and the values of their labels, in the order of the labels' names."""
    return {
        (sample.name, *(sample.labels[name] for name in sorted(sample.labels))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_count_requests_and_records(memory, key):
    with serving(memory, has_metrics=True) as address:
        for _ in range(3):
            post(f"{address}/api/v1/experience/search", json={"query": "attempt"}, headers=key)
        post(f"{address}/api/v1/experience/search", json={"query": "attempt"})
        get(f"{address}/api/v1/experience/{'x' * 8}", headers=key)
        get(f"{address}/api/v1/experience/{'y' * 8}", headers=key)
        found = samples(get(f"{address}/metrics", headers=key).text)
    search = ("POST", "/api/v1/{memory}/search")
    assert found["atlas_requests_total", search[0], "writer", search[1], "200"] == 3
    assert found["atlas_requests_total", "POST", "", "/api/v1", "401"] == 1
    assert found["atlas_requests_total", "GET", "writer", "/api/v1/{memory}/{record_id}", "404"] == 2
    assert found["atlas_request_seconds_count", *search] == 3
    assert found["atlas_records", "experience", "store"] == 30
    assert found["atlas_store_revision", "store"] == memory.revision()
    assert found["atlas_store_up", "store"] == found["atlas_index_up", "store"] == 1
    assert found["atlas_index_behind", "experience", "store"] >= 0


def test_metrics_need_a_key_without_a_scope(memory, key):
    api_keys = ApiKeys(memory.storage.path)
    _, scoped = api_keys.add("shop-agent", Role.WRITER, scope={"project": "shop"}, created_by="owner")
    with serving(memory, has_metrics=True) as address:
        assert get(f"{address}/metrics").status_code == 401
        assert get(f"{address}/metrics", headers={"Authorization": f"Bearer {scoped}"}).status_code == 403
        assert get(f"{address}/metrics", headers=key).status_code == 200
    with serving(memory) as address:
        assert get(f"{address}/metrics").status_code == 404


def test_a_key_reads_the_metrics_of_its_own_store_alone(memory):
    metrics = Metrics(dict.fromkeys(["store", "other"], lambda: OpenedStore(memory, TokenUsage(), True)))
    assert {labels[-1] for name, *labels in samples(metrics.text().decode()) if name == "atlas_store_up"} == {
        "store", "other",
    }  # fmt: skip
    assert {labels[-1] for name, *labels in samples(metrics.text("other").decode()) if name == "atlas_store_up"} == {
        "other"
    }


class Unreadable:
    """A memory whose store is out of reach."""

    @property
    def storage(self):
        raise StoreUnavailable("the database is gone")


def test_a_store_that_cannot_be_read_is_down_in_the_metrics():
    found = samples(Metrics({"store": lambda: OpenedStore(Unreadable(), TokenUsage(), False)}).text().decode())
    assert found["atlas_store_up", "store"] == 0
    assert ("atlas_store_revision", "store") not in found


def test_a_request_is_a_span_below_that_of_its_sender(memory, key):
    exporter = InMemorySpanExporter()
    traces = RequestTraces(exporter)
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    with serving(memory, observers=[traces.observe]) as address:
        post(
            f"{address}/api/v1/context", json={"task": {"description": SECRET}}, headers={**key, "traceparent": parent}
        )
    traces.close()
    (span,) = exporter.get_finished_spans()
    assert span.name == "POST /api/v1/context"
    assert f"{span.parent.span_id:016x}" == "b7ad6b7169203331"
    assert span.attributes["atlas.actor"] == "crawler"
    assert span.end_time > span.start_time
    assert SECRET not in span.to_json()


def test_live_and_ready_need_no_key(memory, key):
    with serving(memory) as address:
        answers = [get(f"{address}/api/v1/health/{name}") for name in ("live", "ready")]
    assert [(answer.status_code, answer.json()) for answer in answers] == [(200, {"status": "ready"})] * 2


def test_the_dashboard_of_grafana_asks_for_metrics_that_exist(memory):
    dashboard = json.loads((REPOSITORY / "deploy" / "grafana.json").read_text())
    queries = [target["expr"] for panel in dashboard["panels"] for target in panel["targets"]]
    metrics = Metrics({"store": lambda: OpenedStore(memory, TokenUsage(n_calls=1), True)})
    metrics.observe(RequestRecord(id="1", method="GET", path="/", client="", status=200))
    families = text_string_to_metric_families(metrics.text().decode())
    names = {name for family in families for name in (family.name, *(sample.name for sample in family.samples))}
    wanted = set(re.findall(r"\b(?:atlas|process)_[a-z_]+", " ".join(queries)))
    assert len(wanted) >= 9
    assert wanted <= names
