"""Effects of memories on attempts: by random assignment, by comparison, and for each strategy."""
