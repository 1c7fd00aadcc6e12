"""Indexes that a service keeps: the ledger's notes on them, and an adapter for each service."""
