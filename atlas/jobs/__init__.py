"""Jobs in a worker process, with files for their progress and results."""
