"""Benchmarks of the protection of agents from what others have written."""
