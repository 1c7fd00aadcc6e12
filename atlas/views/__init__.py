"""Contents of pages: pure functions from a memory and a person's inputs to frozen values."""
