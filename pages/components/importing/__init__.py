"""The box that imports files, wherever a page offers it."""
