"""Base operations of a domain as concepts: functions that run, with examples.

`arc` has the operations on ARC's grids, `swe` those on a project's files, git, patches and commands. `loader` makes a
concept of each function: its code with all that it needs, so that it runs without this package, and the examples in its
docstring. `discovery` finds the loaders, those of other packages too, and `examples` runs a concept's examples.

The functions' docstrings and code are data. A store contains and searches them once the concepts are loaded, so a
change of either is an update for every store.
"""
