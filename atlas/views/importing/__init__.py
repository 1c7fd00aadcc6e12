"""Importing from a page: what files hold before they are imported, and the import itself."""
