"""Infrastructure for sync and async code, processes, files and forks."""
