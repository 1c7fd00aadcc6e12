"""Evaluating a store on its own attempts, as a job for the process that does long work."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from pathlib import Path

from atlas.analysis.artefacts import EvaluationFile
from atlas.analysis.jobs import job_key
from atlas.analysis.maps import OnProgress
from atlas.analysis.reporting import OwnEvaluation
from atlas.core.settings import Settings
from atlas.infra.clock import SystemClock
from atlas.memory.evaluating import evaluate_own
from atlas.memory.opening import open_memory
from atlas.memory.system import MemorySystem
from atlas.protocols.infra import Progress


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateOwn:
    """Try all ways to search a store, its profiles among them, on its own attempts; saved as an `EvaluationFile`."""

    store: str
    """The store's directory; it is only read."""

    out: str
    """The directory of the file: the store's `cache`, or another one where the store must not be written."""

    seed: int = 0

    @property
    def key(self) -> str:
        """Equal for jobs that do the same."""
        return job_key(self)

    def run(self, on_progress: OnProgress) -> None:
        """Do it."""
        on_progress(0, 0, "loading the embedding model")
        settings = replace(Settings.from_environment(), embedding_model="")  # the store's own, whatever others ask for
        with open_memory(self.store, read_only=True, create=False, settings=settings) as memory:
            found = evaluated_now(memory, seed=self.seed, on_progress=on_progress)
            EvaluationFile(Path(self.out), memory.experience.collection_name).save(found)


def evaluated_now(memory: MemorySystem, *, seed: int, on_progress: OnProgress) -> OwnEvaluation:
    """What can be measured on a store now.

    Raises:
        NotFound: There is nothing to compare with.
    """

    def watch(what: str) -> Progress:
        return lambda done, total: on_progress(done, total, what)

    ledger, profiles = memory.storage.ledger, memory.storage.profiles
    revision, ledger_id = ledger.revision(), ledger.position(memory.experience.collection_name).ledger_id
    held, in_use = usable_profiles(memory), profiles.in_use().name
    report = evaluate_own(memory, half="both", seed=seed, watch=watch)
    return OwnEvaluation(
        report=report,
        measured_at=SystemClock().now().isoformat(timespec="seconds"),
        revision=revision,
        ledger_id=ledger_id,
        profiles=held,
        in_use=in_use,
    )


def usable_profiles(memory: MemorySystem) -> dict[str, dict[str, float]]:
    """The weights of each profile that can be used, by its name."""
    every = memory.storage.profiles.every()
    return {profile.name: asdict(profile.weights) for profile in every if not profile.problem}
