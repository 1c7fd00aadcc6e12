"""Embedding a store again as a job: as it travels to another process, and what it makes of the store."""

from __future__ import annotations

import atlas
from atlas.jobs.job import decode_job, encode_job
from atlas.jobs.reembedding import ReembeddingJob
from atlas.testing import HashEmbedder
from tests.support.records import attempts
from tests.support.stores import DIMENSION, MODEL


def test_the_job_binds_the_store_to_the_other_model_and_tells_how_far_it_is(tmp_path):
    with atlas.open_memory(tmp_path, embedder=HashEmbedder(32), settings=atlas.Settings()) as memory:
        memory.experience.store_many(attempts(3))
    told: list[str] = []
    job = decode_job(encode_job(ReembeddingJob(store=str(tmp_path), model=MODEL)))
    job.run(lambda done, total, message: told.append(message))
    with atlas.open_memory(tmp_path, settings=atlas.Settings()) as memory:
        assert (memory.storage.model.name, memory.storage.model.dimension) == (MODEL, DIMENSION)
        assert memory.experience.count() == 3
    assert told[0] == "loading the model"
    assert told[-1].endswith("texts")
