"""Protocols between the parts of ATLAS, and for external systems."""
