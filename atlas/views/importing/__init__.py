"""Importing from a page: a preview of the files, and the import."""
