"""concepts."""
