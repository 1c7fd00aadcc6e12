"""The Evaluation page."""
