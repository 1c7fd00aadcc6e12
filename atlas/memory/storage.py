"""What holds the records of a memory: the protocol of a vector store, and one over ChromaDB."""

from atlas.core.hits import QueryResult
from atlas.infra.chroma_store import ChromaVectorStore
from atlas.protocols.infra import VectorStore

__all__ = ["ChromaVectorStore", "QueryResult", "VectorStore"]
