"""What can be seen in a whole memory at once: its map, its domains, its near-duplicates, its figures."""
