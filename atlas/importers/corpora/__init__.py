"""Judged corpora: retrieval tasks on runs that other programs wrote.

One module per source builds a `JudgedCorpus` from the imported runs. Relevance is derived from the runs by a rule, such
as the other trials of the same task. Only `queries` has human judgments.
"""

from atlas.importers.corpora.registry import find_corpora

__all__ = ["find_corpora"]
