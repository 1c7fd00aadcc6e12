"""The calibration of a store: its similarity scale, and the minimum relevance of a hit.

Both differ more between stores than within one. So they are measured on the store itself, from the similarities of its
records, and from the relevance of the best answers to queries on other subjects.
"""
