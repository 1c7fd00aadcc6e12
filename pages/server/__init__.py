"""ATLAS for a team: the dashboard, the HTTP API and MCP, in one process on one port. `atlas serve` runs it."""
