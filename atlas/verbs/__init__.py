"""The table of the memories' verbs, and the JSON encoding of their arguments and results."""
