"""Descriptions of the kinds of memories: their filters, orders, columns and editable fields."""
