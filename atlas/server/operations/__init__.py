"""Operation of a server: logs, metrics, traces and limits of its requests."""
