"""Vector stores for a memory's records: the protocol, and an implementation over ChromaDB."""

from atlas.core.hits import QueryResult
from atlas.protocols.infra import VectorStore
from atlas.storage.vectors.chroma_store import ChromaVectorStore

__all__ = ["ChromaVectorStore", "QueryResult", "VectorStore"]
