"""The loaders of primitives at the paths that the specifications give them."""
