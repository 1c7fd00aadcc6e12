"""Retrieval tasks on runs that other programs wrote: one source a file, its gold defined in code."""

from atlas.importers.corpora.registry import find_corpora

__all__ = ["find_corpora"]
