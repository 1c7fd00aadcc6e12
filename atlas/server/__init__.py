"""The ATLAS server: dashboard, HTTP API and MCP, with access control."""
