"""Background jobs in a worker process, and the files of their results."""
