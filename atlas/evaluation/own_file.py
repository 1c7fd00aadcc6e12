"""The latest measurement of a store on its own attempts, kept beside the store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from operator import attrgetter
from typing import Any

import numpy.typing as npt

from atlas.core.schema import decode, encode
from atlas.evaluation.metrics import METRICS
from atlas.evaluation.report import OwnEvaluation, as_json
from atlas.jobs.artefact import ArtefactFile


class EvaluationFile(ArtefactFile[OwnEvaluation]):
    """The measurement of one collection."""

    kind = "evaluation"

    def _header(self, artefact: OwnEvaluation) -> Mapping[str, Any]:
        return {**encode(artefact), "report": as_json(artefact.report)}

    def _decode(self, header: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]) -> OwnEvaluation:
        evaluation = decode(
            OwnEvaluation, {**header, "report": json.loads(header["report"])}, "evaluation", strict=True
        )
        if datetime.fromisoformat(evaluation.measured_at).tzinfo is None or not evaluation.report.tasks:
            raise ValueError("the file lacks the time of the measurement, or its tasks")
        for task in filter(attrgetter("rows"), evaluation.report.tasks):
            compared = [by for row in task.rows for by in row.differences.values()]
            for by_metric in (task.chance, *(row.estimates for row in task.rows), *compared):
                if not {*METRICS} <= {*by_metric}:
                    raise ValueError(f"a row lacks some of the metrics {', '.join(METRICS)}")
        return evaluation
