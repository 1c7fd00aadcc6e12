"""Search terms of texts, and their weights."""
