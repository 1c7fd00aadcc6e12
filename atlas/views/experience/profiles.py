"""Problems of the active ranking profile."""

from __future__ import annotations

from atlas.memory.system import MemorySystem
from atlas.storage.profiles import problem_in_use


def profile_problems(memory: MemorySystem) -> tuple[str, ...]:
    """Return a sentence on the problem of the active profile. It contains its name, which is untrusted text."""
    if memory.storage.settings.ranking is not None:  # weights that were given in code win over any profile
        return ()
    problem = problem_in_use(memory.storage.profiles.in_use())
    return (f"{problem[0].upper()}{problem[1:]}.",) if problem else ()
