"""The formats that ATLAS imports, keyed by name, and how to recognise them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from atlas.core.errors import ImportFailed
from atlas.core.imports.plugins import IMPORTERS, find_plugin, log_fault, make_from_plugins
from atlas.core.types import Trajectory
from atlas.importers.files import NothingToImport, read_head
from atlas.importers.formats import (
    atlas_jsonl,
    inspect_ai,
    inspect_scores,
    messages,
    protea,
    reflexion,
    swe_agent,
    tau_bench,
    voyager,
)
from atlas.importers.formats.agents import (
    aider,
    atif,
    claude_code,
    codex,
    copilot,
    gemini_cli,
    langfuse,
    langsmith,
    mini_swe_agent,
    openhands,
    openinference,
    otlp,
    vscode_chat,
)
from atlas.importers.rows import Limits, Row


def no_deciding_score(_: Trajectory) -> str:
    """Return an empty string, for formats in which no score decides the outcome of an attempt."""
    return ""


@dataclass(frozen=True, slots=True)
class Format:
    """One source format."""

    name: str
    """Value of `--format`."""

    title: str
    """Display name."""

    matches: Callable[[Path, bytes], bool]
    """Predicate that recognises the format by a file's first 64 KiB."""

    read: Callable[[Path, Limits], Iterator[Row]]
    """Generator of the rows of a file. Raises `ImportFailed` if the file as a whole cannot be read."""

    is_log: bool = False
    """True for personal logs, which may contain secrets and whose attempts have stable ids."""

    why_unknown: str = "the file does not say how the attempt ended"
    """Reason why the outcome of an attempt may be unknown."""

    judged_by: Callable[[Trajectory], str] = no_deciding_score
    """Function that returns the rule by which a score decided an attempt's outcome, such as `reward ≥ 1`, or ''."""


_BUILT_IN_FORMATS = (
    Format("atlas", "ATLAS JSONL", atlas_jsonl.matches, atlas_jsonl.read),
    Format("tau-bench", "τ-bench runs", tau_bench.matches, tau_bench.read, judged_by=tau_bench.judged_by),
    Format("reflexion", "Reflexion logs", reflexion.matches, reflexion.read),
    Format("swe-agent", "SWE-agent trajectories", swe_agent.matches, swe_agent.read),
    Format(
        "mini-swe-agent",
        "mini-SWE-agent trajectories",
        mini_swe_agent.matches,
        mini_swe_agent.read,
        is_log=True,
        why_unknown="a run does not say whether it solved its task",
    ),
    Format("inspect", "Inspect logs", inspect_ai.matches, inspect_ai.read, judged_by=inspect_scores.judged_by),
    Format("voyager", "Voyager skills", voyager.matches, voyager.read),
    Format(
        "claude-code",
        "Claude Code sessions",
        claude_code.matches,
        claude_code.read,
        is_log=True,
        why_unknown="a session does not say whether a request was met",
    ),
    Format(
        "codex",
        "Codex rollouts",
        codex.matches,
        codex.read,
        is_log=True,
        why_unknown="a rollout does not say whether a request was met",
    ),
    Format(
        "copilot",
        "Copilot CLI sessions",
        copilot.matches,
        copilot.read,
        is_log=True,
        why_unknown="a session does not say whether a request was met",
    ),
    Format(
        "gemini-cli",
        "Gemini CLI sessions",
        gemini_cli.matches,
        gemini_cli.read,
        is_log=True,
        why_unknown="a session does not say whether a request was met",
    ),
    Format(
        "aider",
        "aider chat histories",
        aider.matches,
        aider.read,
        is_log=True,
        why_unknown="a history does not say whether a request was met",
    ),
    Format(
        "vscode-chat",
        "VS Code chats",
        vscode_chat.matches,
        vscode_chat.read,
        is_log=True,
        why_unknown="nobody voted on the answer",
    ),
    Format(
        "openhands",
        "OpenHands trajectories",
        openhands.matches,
        openhands.read,
        is_log=True,
        why_unknown="a trajectory does not say whether a request was met",
    ),
    Format(
        "atif",
        "ATIF trajectories",
        atif.matches,
        atif.read,
        is_log=True,
        why_unknown="the run has no reward",
        judged_by=atif.judged_by,
    ),
    Format(
        "langfuse",
        "Langfuse exports",
        langfuse.matches,
        langfuse.read,
        is_log=True,
        why_unknown="no score of the trace was named as success",
    ),
    Format(
        "langsmith",
        "LangSmith runs",
        langsmith.matches,
        langsmith.read,
        is_log=True,
        why_unknown="no feedback of the trace was named as success",
    ),
    Format(
        "openinference",
        "OpenInference spans",
        openinference.matches,
        openinference.read,
        is_log=True,
        why_unknown="no score of the trace was named as success",
    ),
    Format(
        "otlp",
        "OpenTelemetry traces",
        otlp.matches,
        otlp.read,
        is_log=True,
        why_unknown="no score of the trace was named as success",
    ),
    Format("protea", "Protea memories", protea.matches, protea.read),
    Format(
        "messages",
        "chat messages",
        messages.matches,
        messages.read,
        is_log=True,
        why_unknown="messages do not say whether the task was done",
    ),
)
"""Built-in formats, in the order in which they are tried."""


@cache
def all_formats() -> Mapping[str, Format]:
    """Return the formats, keyed by name, in the order in which they are tried. Those of plug-ins come last."""
    built_in = {format.name: format for format in _BUILT_IN_FORMATS}
    plugin_formats = make_from_plugins(IMPORTERS, Format, built_in)
    return built_in | {name: replace(format, name=name) for name, format in plugin_formats.items()}


def detect(path: Path, limits: Limits | None = None) -> Format:
    """Return the format of a file, recognised by its content.

    Raises:
        NothingToImport: The file is empty, or has an unknown format.
        ImportFailed: The file cannot be read, or is too large.
    """
    try:
        head = read_head(path, limits or Limits())
    except OSError as error:
        raise ImportFailed(
            f"{path.name} cannot be read: {error.strerror or error}; check the path and its permissions"
        ) from error
    for format in all_formats().values():
        if _matches(format, path, head):
            return format
    raise NothingToImport(f"{path.name} is in an unknown format; known: {', '.join(all_formats())}; give --format")


def _matches(format: Format, path: Path, head: bytes) -> bool:
    """Return whether a file is in a format. A plug-in's format that raises is reported and does not match."""
    plugin = None if format in _BUILT_IN_FORMATS else find_plugin(IMPORTERS, format.name)
    if plugin is None:
        return format.matches(path, head)
    try:
        return format.matches(path, head)
    except Exception as error:  # noqa: BLE001 - whatever a plug-in raises, the other formats are tried
        log_fault(plugin, plugin.unusable_error(f"its `matches` raised {type(error).__name__}: {error}"))
        return False
