"""Canonical forms of functions, which are equal, or nearly so, for code with the same behaviour.

Loops become comprehensions, temporary variables are inlined, and comparisons have one direction. Forms are only
compared. Forms are never run, and programs are not rewritten to them.
"""
