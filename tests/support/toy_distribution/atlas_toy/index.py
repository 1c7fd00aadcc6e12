"""Vectors in this process, at addresses such as `toy://shelf`."""

from atlas.storage.vectors.remote.service import ALWAYS_VISIBLE, Answer, VectorService


class ToyService(VectorService):
    def __init__(self, address, *, seconds):
        self.shelves = {}

    def make(self, namespace, dimension):
        self.shelves[namespace] = {}

    def drop(self, namespace):
        self.shelves.pop(namespace, None)

    def count(self, namespace):
        return len(self.shelves.get(namespace, ()))

    def upsert(self, namespace, keys, vectors):
        self.shelves[namespace] |= zip(keys, vectors.copy(), strict=True)
        return 0

    def remove(self, namespace, keys):
        self.shelves[namespace] = {key: v for key, v in self.shelves[namespace].items() if key not in keys}

    def query(self, namespace, vector, k):
        hits = [(key, float(v @ vector)) for key, v in self.shelves[namespace].items()]
        return Answer(hits=sorted(hits, key=lambda hit: -hit[1])[:k], sees_up_to=ALWAYS_VISIBLE)
