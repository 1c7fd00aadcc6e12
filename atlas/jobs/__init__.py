"""Long work in a process of its own, and the files that pages read its progress and results from."""
