"""Integration with clients such as Claude Code: `atlas install`, and the hooks that it configures.

`table` lists the clients with their files. `edits` adds entries to configuration files, and removes them. `install` is
the command that shows and applies such edits. `hook` is the command that a client calls at a prompt and after a turn,
and `recording` stores the transcript of a session.
"""
