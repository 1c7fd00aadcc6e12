"""Evaluation of policies that shrink a memory: the relevant records that can still be found."""
