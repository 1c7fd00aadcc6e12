"""Texts as vectors: the model, how long texts are cut for it, and what it was asked before."""
