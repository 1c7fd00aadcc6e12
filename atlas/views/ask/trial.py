"""Trials of a block by the language model, by the names that pages import."""

from atlas.llm.trial import Reply, Trial, run_trial

__all__ = ["Reply", "Trial", "run_trial"]
