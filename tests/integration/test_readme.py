"""The examples in the README run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import atlas

README = Path(__file__).parents[2] / "README.md"


def test_the_python_examples_of_the_readme_run(tmp_path):
    examples = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert examples
    program = "\n".join(examples)
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "succeeded Sum the invoices of March by customer" in run.stdout
    assert "would go: Sum the invoices of March by customer" in run.stdout
    with atlas.open_memory(tmp_path / "my-agent", read_only=True) as memory:
        assert len(memory.experience) == 1
        assert [operation.kind for operation in memory.history()] == ["undo", "prune", "store"]


def test_the_readme_names_every_command_of_the_command_line():
    shown = subprocess.run([sys.executable, "-m", "atlas", "--help"], capture_output=True, text=True, check=True).stdout
    commands = re.findall(r"^    (\w+)  ", shown, re.MULTILINE)
    assert "import" in commands
    text = README.read_text(encoding="utf-8")
    assert [command for command in commands if f"atlas {command}" not in text] == []


def test_the_runs_that_the_readme_remembers_are_attempts(tmp_path):
    examples = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    (example,) = [one for one in examples if "atlas.remember" in one]
    program = f"import atlas\n{example}"
    run = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    with atlas.open_memory(tmp_path / "my-runs", read_only=True) as memory:
        first, second = memory.experience.get_many(memory.experience.ids())
        assert (first.outcome.success, first.solution_output, len(first.steps)) == (True, "42", 1)
        assert (second.outcome.success, second.feedback) == (False, "there is no file for June")
