"""Words of texts, and how telling each is."""
