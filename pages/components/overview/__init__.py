"""overview."""
