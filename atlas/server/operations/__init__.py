"""Operation of a server: logs, metrics, traces and rate limits."""
