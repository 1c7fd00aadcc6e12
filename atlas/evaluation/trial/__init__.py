"""Trials: one command on the same tasks, with different context blocks."""
