"""Benchmarks of library learning: beside the published tables of Stitch and DreamCoder, and at growing sizes."""
