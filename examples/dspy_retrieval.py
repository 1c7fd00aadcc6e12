"""A DSPy program that retrieves from a memory.

pip install dspy
python dspy_retrieval.py       # writes the store `dspy-memory` into the current directory
"""

import dspy

import atlas
from atlas.integrations.dspy import AtlasRM


def main() -> None:
    """Note two rules, and retrieve the one that a question is about."""
    with atlas.open_memory("dspy-memory") as memory:
        for rule in ("Refunds above 500 need a manager.", "Parcels leave the shop at noon."):
            memory.journal.add("observation", rule, generation=1)
        dspy.configure(rm=AtlasRM(memory))
        print("\n".join(dspy.Retrieve(k=1)("Who approves large refunds?").passages))


if __name__ == "__main__":
    main()
