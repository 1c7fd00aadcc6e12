"""Indexes that a service keeps: what the ledger notes of them, and an adapter for each service."""
