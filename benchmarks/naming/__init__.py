"""Names of functions judged by a table: what may be said of well-known ones, and what not of those that look alike."""
