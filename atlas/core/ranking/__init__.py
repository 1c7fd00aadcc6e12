"""Numbers that decide which hits a search finds, and in which order."""
