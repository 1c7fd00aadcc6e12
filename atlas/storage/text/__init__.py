"""Words of texts, and their weights."""
