"""The dashboard by itself, for a person at this machine, as a program."""
