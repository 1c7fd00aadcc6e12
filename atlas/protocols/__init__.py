"""Protocols that the parts of ATLAS, and outside systems, have to meet."""
