"""Prompts for language models, one per module, and the formatting of records in them."""
