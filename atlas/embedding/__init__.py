"""Embedding models, windows of long texts, and an embedder that caches its vectors."""
