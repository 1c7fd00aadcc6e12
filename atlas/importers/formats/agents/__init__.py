"""Log formats of coding agents and tracing tools."""
