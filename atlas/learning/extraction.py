"""Extraction of whole Python programs from successful attempts, with the tests of their tasks.

Each attempt gives at most one program. If the solution is Python, the program is the text itself, a fenced block, or
the completion of the task's prompt. Otherwise it is the last whole program in the steps: an action, a fenced block in
an action, a file that an action wrote, or the result of edits to a file. Programs that define a function are preferred
to scripts. A patch is not a program, because the patched files are missing.
"""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from atlas.core.types import Experience, Task, Trajectory
from atlas.learning.edits import END_OF_EDIT, rebuild_files
from atlas.learning.terms.parsing import MAX_CHARACTERS, can_compile, try_parse
from atlas.learning.terms.programs import Program
from atlas.learning.terms.walking import walk

Attempt = Trajectory | Experience

NOT_SUCCESSFUL = "the attempt did not succeed"
UNKNOWN = "the outcome of the attempt is unknown"
FOREIGN_LANGUAGE = "not written in Python"
NO_CODE = "the attempt has no solution"
PATCH = "a patch, without the files that it changes"
NOT_PYTHON = "no part of the attempt parses as a whole Python program"
NO_STATEMENT = "the Python code has no effect and defines nothing"
TOO_LONG = f"longer than {MAX_CHARACTERS:,} characters"
REPEATED_PROGRAM = "the same program for the same task as another attempt"

_PYTHON_LABELS = ("", "py", "python", "python3")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})\s*([\w+#.-]*)")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")
_PATCH = re.compile(r"^(diff --git |--- \S+.*\n\+\+\+ )", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The programs that were found in attempts."""

    programs: tuple[Program, ...]
    """Programs in the order of their attempts."""

    dropped: Mapping[str, int]
    """Number of attempts without a program, keyed by reason, most frequent first."""


def programs_of(attempts: Iterable[Attempt], *, unknown_too: bool = False) -> Extraction:
    """Return the Python programs of the attempts that succeeded.

    Args:
        unknown_too: Include attempts with an unknown outcome.
    """
    programs: dict[tuple[str, str], Program] = {}
    dropped: Counter[str] = Counter()
    for attempt in attempts:
        program_or_reason = _extract_program(attempt, unknown_too)
        if isinstance(program_or_reason, str):
            dropped[program_or_reason] += 1
            continue
        program = program_or_reason
        if (program.task_id, program.source) in programs:
            dropped[REPEATED_PROGRAM] += 1
        else:
            programs[program.task_id, program.source] = program
    return Extraction(programs=tuple(programs.values()), dropped=dict(dropped.most_common()))


def _extract_program(attempt: Attempt, unknown_too: bool) -> Program | str:
    """Return the program of an attempt, or the reason why there is none."""
    if attempt.outcome.success is False:
        return NOT_SUCCESSFUL
    if attempt.outcome.success is None and not unknown_too:
        return UNKNOWN
    task = attempt.task
    if str(task.context.get("language") or "").lower() not in _PYTHON_LABELS:
        return FOREIGN_LANGUAGE
    source = _find_source(attempt)
    if source is None:
        return _missing_program_reason(attempt)
    return Program(
        id=attempt.id, task_id=task.id, description=task.description, source=source, tests=build_tests(task, source)
    )


def build_tests(task: Task, source: str) -> str:
    """Return the task's tests as Python code to append to a program. Empty without tests.

    Tests may be a string or a list of assertions (as in MBPP), in the context's `test`, `tests` or `test_list`, or in
    the verification's `tests`. If they define `check(candidate)` without calling it (as in HumanEval), a call with the
    context's `entry_point` is added. The code raises if a test fails.
    """
    fields: list[Any] = [task.context.get(name) for name in ("test", "tests", "test_list")]
    tests = next((text for text in map(_join_lines, [*fields, task.verification.parameters.get("tests")]) if text), "")
    tree = try_parse(tests)
    if tree is None or not tree.body:
        return ""
    setup = _join_lines(task.context.get("test_setup_code"))
    entry_point = str(task.context.get("entry_point") or "")
    if _defines_check(tree) and entry_point.isidentifier():
        tests = f"{tests.rstrip()}\n\ncheck({entry_point})\n"
    return f"{setup}\n{tests}" if setup and try_parse(setup) is not None else tests


def _join_lines(value: Any) -> str:
    if isinstance(value, list | tuple) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    return value if isinstance(value, str) and value.strip() else ""


def _defines_check(tree: ast.Module) -> bool:
    """Return whether tests define `check` without calling it."""
    is_defined = any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in tree.body)
    called = {node.func.id for node in walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return is_defined and "check" not in called


def _solution(attempt: Attempt) -> str:
    solution = attempt.solution_output if isinstance(attempt, Experience) else attempt.metadata.get("solution")
    return solution if isinstance(solution, str) else ""


def _find_source(attempt: Attempt) -> str | None:
    """Return the source of the program in an attempt: in its solution, or else in its steps. None if there is none."""
    prompt = attempt.task.context.get("prompt")
    solution = _solution(attempt)
    sources = [
        source
        for text in _candidate_texts(solution, prompt if isinstance(prompt, str) else "")
        if (source := _complete_program(text))
    ]
    if not sources:
        sources = [source for text in _step_candidates(attempt) if (source := _complete_program(text))]
    with_functions = (source for source in sources if _defines_function(source))
    return next(with_functions, sources[0] if sources else None)


def _candidate_texts(text: str, prompt: str = "") -> Iterator[str]:
    """Yield the parts of a string that may be a program, most likely first."""
    if not text.strip():
        return
    if prompt and not can_compile(text):
        yield f"{prompt}{text}"
        yield f"{prompt.rstrip()}\n{textwrap.indent(textwrap.dedent(text), '    ')}"
    yield from _here_documents(text)
    yield text
    yield from reversed([block for label, block in _fenced_blocks(text) if label in _PYTHON_LABELS])


def _here_documents(text: str) -> Iterator[str]:
    """Yield the here-document of a shell command, if it has one.

    The caller tries the here-document before the command, which may parse as Python too.
    """
    command, _, heredoc = text.lstrip().partition("\n")
    if start := _HEREDOC.search(command):
        lines = itertools.takewhile(lambda line: line.strip() != start[2], heredoc.split("\n"))
        yield "\n".join(lines)


def _fenced_blocks(text: str) -> list[tuple[str, str]]:
    """Return the label, in lower case, and the content of each fenced block of a string, without unclosed blocks."""
    blocks: list[tuple[str, str]] = []
    label, opening_fence, lines = "", "", list[str]()
    for line in text.split("\n"):
        fence = _FENCE.match(line)
        if not opening_fence and fence:
            opening_fence, label, lines = fence[1], fence[2].lower(), []
        elif opening_fence and line.strip() == opening_fence:
            blocks.append((label, "\n".join(lines)))
            opening_fence = ""
        else:
            lines.append(line)
    return blocks


def _step_candidates(attempt: Attempt) -> Iterator[str]:
    """Yield the texts in the steps that may be programs, latest first."""
    yield from reversed(rebuild_files(attempt.steps))
    for step in reversed(attempt.steps):
        if END_OF_EDIT not in step.action:  # an edit command may parse as Python together with the text around it
            yield from _candidate_texts(step.action)


def _complete_program(text: str) -> str | None:
    """Return a text as a program, without blank lines around it, or None if it is not Python or has no effect."""
    if len(text) > MAX_CHARACTERS:
        return None
    source = textwrap.dedent(text).strip("\r\n") + "\n"
    tree = try_parse(source)
    if tree is not None and any(map(_has_effect, tree.body)) and can_compile(source):
        return source
    return None


def _has_effect(statement: ast.stmt) -> bool:
    """Return whether a statement has an effect. A bare annotation or expression, as in parsed prose, has none."""
    is_bare_annotation = isinstance(statement, ast.AnnAssign) and statement.value is None
    return not is_bare_annotation and not isinstance(statement, ast.Expr | ast.Pass)


def _defines_function(source: str) -> bool:
    tree = try_parse(source)
    return tree is not None and any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in walk(tree))


def _missing_program_reason(attempt: Attempt) -> str:
    """Return the reason why no program was found in an attempt."""
    solution = _solution(attempt)
    texts = [solution, *(step.action for step in attempt.steps)]
    labels = [label for text in texts for label, _ in _fenced_blocks(text)]
    reasons = {
        NO_CODE: not any(text.strip() for text in texts),
        TOO_LONG: len(solution) > MAX_CHARACTERS,
        PATCH: _PATCH.search(solution) is not None,
        FOREIGN_LANGUAGE: bool(labels) and not any(label in _PYTHON_LABELS for label in labels),
        NO_STATEMENT: bool(solution.strip()) and can_compile(solution),
    }
    return next((reason for reason, applies in reasons.items() if applies), NOT_PYTHON)
