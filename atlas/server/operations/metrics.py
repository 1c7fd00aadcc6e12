"""Metrics of a server in the Prometheus format."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from atlas.core.errors import AtlasError
from atlas.jobs.worker import count_jobs
from atlas.llm.budget import TokenUsage
from atlas.memory.kinds.table import searchable_kinds
from atlas.memory.system import MemorySystem
from atlas.server.operations.requests import RequestRecord
from atlas.server.spool import TraceSpool

logger = logging.getLogger(__name__)

LATENCIES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
"""Upper bounds of the histogram's buckets, in seconds."""

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class OpenedStore:
    """An open served store."""

    memory: MemorySystem
    spent: TokenUsage
    """Language model usage since the server started."""

    is_model_ready: bool
    """True once the embedding model is loaded. Until then searches use keywords only."""


StoreOpeners = Mapping[str, Callable[[], OpenedStore]]
"""Functions that open a store, keyed by store name. They are called at each scrape."""


class Metrics:
    """Counts of requests and the state of each store. Thread-safe."""

    def __init__(self, stores: StoreOpeners) -> None:
        self._registry = CollectorRegistry()
        self._requests = Counter(
            "atlas_requests",
            "Requests by route, method, status and role.",
            ("route", "method", "status", "role"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "atlas_request_seconds",
            "Seconds until the response began.",
            ("route", "method"),
            buckets=LATENCIES,
            registry=self._registry,
        )
        ProcessCollector(registry=self._registry)
        self._stores = stores

    def observe(self, record: RequestRecord) -> None:
        """Count a request."""
        method = record.method if record.method in _METHODS else "other"
        self._requests.labels(record.route, method, str(record.status), record.role).inc()
        if record.status:
            self._seconds.labels(record.route, method).observe(record.seconds)

    def text(self, store: str = "") -> bytes:
        """Return the metrics in the text format of Prometheus.

        Args:
            store: Name of the store to include, empty for all.
        """
        store_registry = CollectorRegistry()
        store_registry.register(
            _StoreCollector({name: open_store for name, open_store in self._stores.items() if store in ("", name)})
        )
        return generate_latest(self._registry) + generate_latest(store_registry)


class _StoreCollector(Collector):
    """Collector of the stores' current state."""

    def __init__(self, stores: StoreOpeners) -> None:
        self._stores = stores

    def describe(self) -> Iterator[Metric]:
        """Return no metrics, so that registration does not read the stores."""
        return iter(())

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of all stores. A store that cannot be read has `atlas_store_up` 0 and no other metric."""
        is_up = GaugeMetricFamily("atlas_store_up", "1 if the store can be read.", labels=("store",))
        families = {
            name: kind(name, text, labels=("store", *labels)) for name, (kind, text, labels) in _METRICS.items()
        }
        for store_name, open_store in self._stores.items():
            try:
                values = list(_read_values(open_store()))
            except AtlasError as error:
                logger.warning("the metrics of the store %s cannot be read: %s", store_name, error)
                is_up.add_metric((store_name,), 0)
                continue
            is_up.add_metric((store_name,), 1)
            for name, labels, value in values:
                families[name].add_metric((store_name, *labels), value)
        yield from (is_up, *families.values())


_METRICS: dict[str, tuple[type[GaugeMetricFamily | CounterMetricFamily], str, tuple[str, ...]]] = {
    "atlas_store_revision": (GaugeMetricFamily, "Revision of the store. It grows with each change.", ()),
    "atlas_records": (GaugeMetricFamily, "Records in a memory.", ("kind",)),
    "atlas_index_behind": (GaugeMetricFamily, "Changes that the index of a memory does not have yet.", ("kind",)),
    "atlas_index_up": (GaugeMetricFamily, "1 if the index can be reached.", ()),
    "atlas_embedding_model_ready": (GaugeMetricFamily, "1 if the embedding model is loaded.", ()),
    "atlas_traces_waiting": (GaugeMetricFamily, "Traces whose spans are still awaited.", ()),
    "atlas_traces_refused": (GaugeMetricFamily, "Traces that could not be stored.", ()),
    "atlas_jobs": (GaugeMetricFamily, "Jobs of this process, such as maps, by state.", ("kind", "state")),
    "atlas_language_model_calls": (CounterMetricFamily, "Calls of the language model.", ()),
    "atlas_language_model_tokens": (CounterMetricFamily, "Tokens of the language model.", ("direction",)),
}
"""Kind, description and labels (besides the store) of metrics, keyed by name."""


def _read_values(store: OpenedStore) -> Iterator[tuple[str, tuple[str, ...], float]]:
    """Yield the metrics of a store: name, labels (besides the store), and value."""
    storage, token_usage = store.memory.storage, store.spent
    spool = TraceSpool(storage.path)
    yield "atlas_store_revision", (), store.memory.revision()
    for name, kind in searchable_kinds().items():
        memory = kind.records(store.memory)
        yield "atlas_records", (name,), memory.count()
        if storage.model is not None:
            updater = storage.collection(memory.collection_name).parts.nearest.updater
            yield "atlas_index_behind", (name,), updater.n_behind()
    yield "atlas_index_up", (), not storage.indexes.fault
    yield "atlas_embedding_model_ready", (), store.is_model_ready
    yield "atlas_traces_waiting", (), spool.n_incomplete()
    yield "atlas_traces_refused", (), spool.n_refused()
    for labels, n_jobs in sorted(count_jobs(storage.path).items()):
        yield "atlas_jobs", labels, n_jobs
    yield "atlas_language_model_calls", (), token_usage.n_calls
    yield "atlas_language_model_tokens", ("read",), token_usage.tokens - token_usage.output_tokens
    yield "atlas_language_model_tokens", ("written",), token_usage.output_tokens
