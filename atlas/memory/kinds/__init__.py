"""The kinds of records that a memory system has, and what files and prompts make of each."""
