"""Adapters to outside systems, one file each."""
