"""Commands for evaluation: retrieval quality, and the contribution of memories."""
