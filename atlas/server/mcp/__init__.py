"""The MCP server: tools over stdio or HTTP."""
