"""Marks on records (tags, pins and notes), their JSON copies, and relevance judgements."""
