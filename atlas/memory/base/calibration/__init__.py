"""The calibration of a store: its similarity scale, and the minimum relevance of a hit.

Both differ between stores. So they are measured on each store, from the similarities of its records, and from the
relevance of the best answers to queries on other subjects.
"""
