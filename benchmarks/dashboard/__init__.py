"""Benchmarks of what a person waits for on the dashboard."""
