"""ATLAS for agents that speak the Model Context Protocol: ten tools, over stdio or HTTP."""
