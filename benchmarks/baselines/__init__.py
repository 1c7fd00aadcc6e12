"""Simpler methods that others would take, which the figures stand beside."""
