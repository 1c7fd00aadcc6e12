"""General tools for sync and async code, processes and forks."""
