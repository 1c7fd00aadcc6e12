"""ATLAS for agents elsewhere: an HTTP API over a memory that is open here, and the keys that it asks for."""
