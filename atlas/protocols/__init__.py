"""What the parts of ATLAS need of one another, and of outside systems."""
