"""Programs that people work with, such as Claude Code: what `atlas install` writes, and the hooks that they then call.

`table` lists the clients with their files. `edits` adds entries to the text of a configuration file and takes them out
again. `install` is the command that shows and applies such edits. `hook` is the command that a client calls at a prompt
and after a turn, and `recording` stores what a session's transcript contains.
"""
