"""Stores for the records of a memory: the protocol of a vector store, and one over ChromaDB."""

from atlas.core.hits import QueryResult
from atlas.protocols.infra import VectorStore
from atlas.storage.vectors.chroma_store import ChromaVectorStore

__all__ = ["ChromaVectorStore", "QueryResult", "VectorStore"]
