"""Effects of memories on attempts: by a coin, by comparison, and strategy by strategy."""
