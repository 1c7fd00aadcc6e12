"""The measurement that comes with the sample data, made again: `python -m tests.support.sample_measurement`.

It is to be run after a text of the sample data or a ranking has changed; a test says so.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import atlas
from atlas.embedding.sentence_transformers import BUNDLED
from atlas.evaluation.job import evaluate_now
from atlas.evaluation.report import OwnEvaluation
from atlas.importers.sample import load_sample, measured_files
from atlas.importers.sample_measurement import to_portable, write_measurement
from tests.support.repository import REPOSITORY

SAMPLE = REPOSITORY / "sample_data"


def measure() -> OwnEvaluation:
    """Measure a new store of the sample data, as the job of the page Evaluation does."""
    settings = atlas.Settings(embedding_model=BUNDLED)
    with TemporaryDirectory() as scratch, atlas.open_memory(Path(scratch) / "store", settings=settings) as memory:
        load_sample(memory, SAMPLE, settings)
        return to_portable(evaluate_now(memory, seed=0, on_progress=lambda done, total, step: None), memory)


if __name__ == "__main__":
    write_measurement(measure(), measured_files(SAMPLE), SAMPLE)
