"""Indexes in external services: the ledger's notes on them, and an adapter for each service."""
