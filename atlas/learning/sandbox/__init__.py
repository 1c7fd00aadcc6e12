"""Programs of unknown origin, run within limits to prove that they still do the same.

A `Sandbox` runs programs, each in a fork of `forkserver` that `confinement` keeps from the network, from other
processes and from files, by a list of the `system_calls` that are allowed. Each works in a `directory` of its own.
`RunLimits` bound time, memory and output, and a `RunResult` says how a program ended. A `Verifier` runs an original
twice and the rewritten program once, and proves something only if the original does. `PublicNames` asks modules for
what a star import brings, and `preloading` says which are imported once for all.
"""

from atlas.learning.sandbox.modules import PublicNames
from atlas.learning.sandbox.runner import RunLimits, RunResult, Sandbox
from atlas.learning.sandbox.verification import Verdict, Verifier

__all__ = ["PublicNames", "RunLimits", "RunResult", "Sandbox", "Verdict", "Verifier"]
