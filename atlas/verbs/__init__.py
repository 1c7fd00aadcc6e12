"""The verbs of a memory in one table, and their arguments and results as JSON."""
