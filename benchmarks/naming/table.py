"""Forty well-known functions as compression finds them, each in several ways, with the names that fit."""

from benchmarks.naming.algorithms import ALGORITHMS
from benchmarks.naming.sequences import SEQUENCES

TABLE = (*SEQUENCES, *ALGORITHMS)
