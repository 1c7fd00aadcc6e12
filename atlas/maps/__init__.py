"""Maps of a memory: projection, domains with names, near-duplicates."""
