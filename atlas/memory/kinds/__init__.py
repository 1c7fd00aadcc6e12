"""The kinds of records in a memory system, and their forms in files and prompts."""
