"""View models of pages: pure functions from a memory and inputs to frozen values."""
