"""Base operations of a domain as concepts: functions that run, with examples, and the loaders that bring them."""
