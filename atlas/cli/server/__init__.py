"""Commands of serving a store: keys, the server, and MCP for one client."""
