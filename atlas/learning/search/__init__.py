"""Engines that find common parts of programs: Stitch, anti-unification and a language model."""
