"""The former path of `atlas.memory.experience.model_extraction`, kept for one release."""

from atlas.memory.experience.model_extraction import LLMSummarizingExtractor

__all__ = ["LLMSummarizingExtractor"]
