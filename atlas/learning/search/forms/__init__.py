"""Forms of functions that are equal, or nearly so, for code which does the same, however it is written.

Loops become comprehensions, temporaries are put where they are read, and comparisons point one way. Forms serve to
recognise what code does. They are never run, and nothing is rewritten to them.
"""
