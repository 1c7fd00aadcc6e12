"""The HTTP API: one module for what is asked of each noun, and the shapes and errors that they share."""
