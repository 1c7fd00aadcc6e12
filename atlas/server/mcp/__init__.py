"""The MCP server: ten tools, over stdio or HTTP."""
