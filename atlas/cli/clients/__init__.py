"""Integration with clients such as Claude Code: `atlas install`, and the hooks that it configures.

`table` lists the clients with their files. `edits` adds entries to the text of a configuration file and takes them out
again. `install` is the command that shows and applies such edits. `hook` is the command that a client calls at a prompt
and after a turn, and `recording` stores what a session's transcript contains. `watch` follows a directory of
transcripts.
"""
