"""What pages show, one view a page: pure functions from a memory and a person's inputs to frozen values."""
