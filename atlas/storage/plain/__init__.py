"""A collection over the user's own vector store, with only the specification's methods."""
