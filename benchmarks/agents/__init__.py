"""Benchmarks of what agents reach from elsewhere: a server, and the command that speaks MCP."""
