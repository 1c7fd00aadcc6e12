"""Commands for serving a store: keys, the server, and MCP for one client."""
