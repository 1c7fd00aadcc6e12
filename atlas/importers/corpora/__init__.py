"""Judged corpora: retrieval tasks on runs that other programs wrote.

A file for each source makes a `JudgedCorpus` of what its importer reads. The relevant records follow from the runs by
rules in the code: the other trials of a task, the attempts at a problem. For `queries`, people have judged them.
"""

from atlas.importers.corpora.registry import find_corpora

__all__ = ["find_corpora"]
