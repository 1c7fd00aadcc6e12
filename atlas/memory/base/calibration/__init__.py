"""The scale of a store: which similarity is near, and from which relevance on a search has found something.

Both differ from store to store by more than they differ within one. So they are measured on the store itself: how near
its records are to each other, and how relevant the best answer is to questions about other subjects.
"""
