"""Log formats of other programs, one per module."""
