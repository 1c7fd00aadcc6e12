"""Commands that measure how well searches find records, what memories contribute, and whether they help."""
