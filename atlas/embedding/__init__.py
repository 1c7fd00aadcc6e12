"""Texts as vectors: the model, the windows of long texts, and an embedder that remembers its vectors."""
