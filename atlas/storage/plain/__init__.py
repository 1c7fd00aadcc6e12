"""A collection over a vector store of the user's own, with no more than the specification's methods."""
