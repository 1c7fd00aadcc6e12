"""Asking a language model: the client, structured answers, prompts and a budget."""
