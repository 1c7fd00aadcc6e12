"""The description of a kind of memory: its filters and its orders."""
