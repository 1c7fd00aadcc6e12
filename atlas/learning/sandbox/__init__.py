"""Untrusted programs, run within limits to verify that they still behave the same.

A `Sandbox` runs programs, each in a fork of `forkserver` that `confinement` keeps from the network, from other
processes and from files, by a list of the `system_calls` that are allowed. Each works in a `directory` of its own.
`RunLimits` bound time, memory and output, and a `RunResult` records how a program ended. A `Verifier` runs an original
twice and the rewritten program once, and compares the results. `PublicNames` finds the names that a star import binds,
and `preloading` selects the modules that are imported in advance.
"""

from atlas.learning.sandbox.modules import PublicNames
from atlas.learning.sandbox.runner import RunLimits, RunResult, Sandbox
from atlas.learning.sandbox.verification import Verdict, Verifier

__all__ = ["PublicNames", "RunLimits", "RunResult", "Sandbox", "Verdict", "Verifier"]
