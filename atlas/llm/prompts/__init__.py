"""Prompts for language models: one module for each question, and the records that they are shown."""
