"""Access control of a served store: keys, people, links and roles."""
