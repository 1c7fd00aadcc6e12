"""The memories and what they are made of."""
