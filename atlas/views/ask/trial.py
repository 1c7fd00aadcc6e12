"""Trials of a block by the language model, by the names that pages import."""

from atlas.llm.trial import Reply, Trial, tried

__all__ = ["Reply", "Trial", "tried"]
