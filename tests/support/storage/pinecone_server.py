"""A server on this machine that speaks Pinecone's data plane, as far as an index of ours asks for it.

What is written shows when the test says so. Limits are those that Pinecone publishes, and its log positions stand in
the headers that the SDK's own models read.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

import numpy as np

COMMITTED, INDEXED = "x-pinecone-request-lsn", "x-pinecone-max-indexed-lsn"
MAX_BYTES, MAX_IDS, MAX_HITS = 2 << 20, 1_000, 10_000
KEY = "pcsk_of_a_test"


@dataclass(frozen=True, kw_only=True)
class Trouble:
    """What one request meets instead of an answer."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    """None for the answer that it would have had."""

    seconds: float = 0.0
    """Time before it is answered."""

    until: threading.Event | None = None
    """What the request waits for before it is done."""

    reached: threading.Event | None = None
    """What the request says once it has come."""

    n_sent: int | None = None
    """Bytes after which the connection is cut."""


@dataclass(frozen=True, kw_only=True)
class Exchange:
    """One request and its answer."""

    method: str
    path: str
    """With `{namespace}` in the place of a name."""

    headers: dict[str, str]
    request: Any
    status: int
    answer: Any


@dataclass
class Namespace:
    """The vectors of a namespace, of which the last writes may not show yet."""

    log: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    shown: dict[str, Any] = field(default_factory=dict)
    position: int = 0
    """The last write that shows."""

    def show(self, position: int) -> None:
        """Let all writes up to a position show. One that has shown does so from then on."""
        for at, changes in self.log:
            if self.position < at <= position:
                for key, vector in changes.items():
                    self.shown.pop(key, None)
                    if vector is not None:
                        self.shown[key] = np.array(vector, np.float32)
        self.position = max(self.position, min(position, self.log[-1][0] if self.log else 0))


class PineconeServer:
    """One index."""

    def __init__(self, dimension: int, metric: str = "cosine") -> None:
        self.dimension, self.metric = dimension, metric
        self.namespaces: dict[str, Namespace] = {}
        self.exchanges: list[Exchange] = []
        self.troubles: list[Trouble] = []
        """What the next requests meet, in turn."""

        self.is_late = False
        """Whether writes show only once `show` is called."""

        self.most_upserts = sys.maxsize
        """Writes that it takes from here on. Further ones are refused."""

        self.sends_positions = True
        self.key = KEY
        self.address = ""
        self._position = 0
        self._lock = threading.Lock()

    def show(self, position: int = sys.maxsize) -> None:
        """Let writes show, up to a position."""
        with self._lock:
            for namespace in self.namespaces.values():
                namespace.show(position)

    def positions(self) -> list[int]:
        """The positions of all writes, of every namespace."""
        return sorted(at for namespace in self.namespaces.values() for at, _ in namespace.log)

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, dict[str, str], Any]:
        """The status, headers and body of an answer."""
        asked = json.loads(body) if body else {}
        with self._lock:
            if path.startswith("/namespaces/"):
                return self._of_namespace(method, unquote(path.removeprefix("/namespaces/")))
            handler = {
                "/vectors/upsert": self._upsert,
                "/vectors/delete": self._delete,
                "/query": self._query,
                "/describe_index_stats": self._stats,
            }.get(path)
            if handler is None or method != "POST":
                return refused(404, f"there is no {method} {path}")
            if len(body) > MAX_BYTES:
                return refused(413, "the request is larger than 2 MB")
            return handler(asked)

    def _upsert(self, asked: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        vectors = asked["vectors"]
        self.most_upserts -= 1
        if self.most_upserts < 0:
            return refused(402, "the plan allows no further writes")
        if not 1 <= len(vectors) <= MAX_IDS:
            return refused(400, f"an upsert takes 1 to {MAX_IDS} vectors, not {len(vectors)}")
        for vector in vectors:
            if len(vector["values"]) != self.dimension:
                return refused(400, f"the index has {self.dimension} dimensions, a vector {len(vector['values'])}")
            if not any(vector["values"]):
                return refused(400, "a dense vector must have a value that is not zero")
        changes = {vector["id"]: vector["values"] for vector in vectors}
        return 200, self._write(asked.get("namespace", ""), changes), {"upsertedCount": len(vectors)}

    def _delete(self, asked: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        name, ids = asked.get("namespace", ""), asked.get("ids", [])
        if name not in self.namespaces:
            return refused(404, "Namespace not found")
        if not 1 <= len(ids) <= MAX_IDS:
            return refused(400, f"a delete takes 1 to {MAX_IDS} ids, not {len(ids)}")
        return 200, self._write(name, dict.fromkeys(ids)), {}

    def _write(self, name: str, changes: dict[str, Any]) -> dict[str, str]:
        self._position += 1
        namespace = self.namespaces.setdefault(name, Namespace())
        namespace.log.append((self._position, changes))
        if not self.is_late:
            namespace.show(self._position)
        return {COMMITTED: str(self._position)} if self.sends_positions else {}

    def _query(self, asked: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        if not 1 <= asked["topK"] <= MAX_HITS:
            return refused(400, f"topK should be 1 to {MAX_HITS}, not {asked['topK']}")
        name = asked.get("namespace", "")
        namespace = self.namespaces.get(name, Namespace())
        query = np.array(asked["vector"], np.float32)
        keys = list(namespace.shown)
        rows = np.stack([*namespace.shown.values(), query])[:-1]
        scores = rows @ query / np.maximum(np.linalg.norm(rows, axis=1) * np.linalg.norm(query), 1e-12)
        order = np.argsort(-scores, kind="stable")[: asked["topK"]].tolist()
        matches = [{"id": keys[at], "score": float(scores[at]), "values": []} for at in order]
        answer = {"matches": matches, "namespace": name, "usage": {"readUnits": 1}}
        return 200, {INDEXED: str(namespace.position)} if self.sends_positions else {}, answer

    def _stats(self, asked: dict[str, Any]) -> tuple[int, dict[str, str], Any]:
        counts = {name: {"vectorCount": len(held.shown)} for name, held in self.namespaces.items()}
        answer = {
            "namespaces": counts,
            "dimension": self.dimension,
            "indexFullness": 0.0,
            "totalVectorCount": sum(held["vectorCount"] for held in counts.values()),
            "metric": self.metric,
            "vectorType": "dense",
        }
        return 200, {}, answer

    def _of_namespace(self, method: str, name: str) -> tuple[int, dict[str, str], Any]:
        if name not in self.namespaces:
            return refused(404, "Namespace not found")
        if method == "DELETE":
            del self.namespaces[name]
            return 200, {}, {}
        return 200, {}, {"name": name, "record_count": len(self.namespaces[name].shown)}


def refused(status: int, said: str) -> tuple[int, dict[str, str], Any]:
    return status, {}, {"code": 3, "message": said, "details": []}


class _Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Http

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        index = self.server.index
        trouble = index.troubles.pop(0) if index.troubles else Trouble()
        time.sleep(trouble.seconds)
        if trouble.reached:
            trouble.reached.set()
        if trouble.until:
            trouble.until.wait(60)
        status, headers, answer = self._answer(index, trouble, body)
        self._note(body, status, answer)
        self._send(status, {**headers, **trouble.headers}, trouble, json.dumps(answer).encode())

    do_GET = do_DELETE = do_POST  # noqa: N815 - the base class's names

    def _answer(self, index: PineconeServer, trouble: Trouble, body: bytes) -> tuple[int, dict[str, str], Any]:
        if self.headers.get("api-key") != index.key:
            return refused(401, f"the key {self.headers.get('api-key')} is not valid")
        if trouble.status != 200:
            return refused(trouble.status, "trouble")
        return index.answer(self.command, self.path, body)

    def _note(self, body: bytes, status: int, answer: Any) -> None:
        path = "/namespaces/{namespace}" if self.path.startswith("/namespaces/") else self.path
        exchange = Exchange(
            method=self.command,
            path=path,
            headers={name.lower(): value for name, value in self.headers.items()},
            request=json.loads(body) if body else None,
            status=status,
            answer=answer,
        )
        self.server.index.exchanges.append(exchange)

    def _send(self, status: int, headers: dict[str, str], trouble: Trouble, answer: bytes) -> None:
        body = answer if trouble.body is None else trouble.body
        self.send_response(status)
        for name, value in {"content-type": "application/json", "content-length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body[: trouble.n_sent])
        self.close_connection = self.close_connection or trouble.n_sent is not None

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(dimension: int, *, port: int = 0, metric: str = "cosine") -> Iterator[PineconeServer]:
    """An index that is there as long as the block."""
    server = PineconeServer(dimension, metric)
    with listening(server, port):
        yield server


@contextmanager
def listening(server: PineconeServer, port: int = 0) -> Iterator[None]:
    """Have an index answer as long as the block. It is gone afterwards, and may come back on its port."""
    http = _Http(("127.0.0.1", port), server)
    server.address = f"pinecone://127.0.0.1:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield
    finally:
        http.shutdown()
        http.end_connections()
        http.server_close()
        thread.join()


class _Http(ThreadingHTTPServer):
    """A server that can cut the connections that clients keep open."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], index: PineconeServer) -> None:
        super().__init__(address, _Handler)
        self.index = index
        self._open: set[Any] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def end_connections(self) -> None:
        for request in list(self._open):
            self.shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that do not wait for their answer."""
