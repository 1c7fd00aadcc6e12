"""The HTTP API: one module of routes per resource, and their common shapes and errors."""
