"""Keyword search over tables of words, whoever keeps them."""
