"""The engines of a store and of its index, side by side."""
