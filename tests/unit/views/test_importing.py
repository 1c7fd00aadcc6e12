"""Importing from a page: what an import would do is told before it does it, and one undo takes it back."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import atlas
from atlas.core.errors import InvalidInput
from atlas.infra.actor import Actor, Role, acting
from atlas.testing import HashEmbedder
from atlas.views.importing.files import ImportRequest, import_request, preview_import, request_of
from tests.support.repository import REPOSITORY

STRATEGIES = REPOSITORY / "sample_data" / "story" / "strategies.jsonl"
KEY = "sk-abcdefghijklm0123456789"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[atlas.MemorySystem]:
    with atlas.open_memory(tmp_path / "store", embedder=HashEmbedder()) as opened:
        yield opened


@pytest.fixture
def asked() -> Iterator[Callable[..., ImportRequest]]:
    """Makes wishes, and puts them away at the end."""
    with ExitStack() as made:

        def make(*given: Any, **how: Any) -> ImportRequest:
            wish = request_of(*given, **how)
            made.callback(wish.sources.close)
            return wish

        yield make


def span(number: int, said: str, score: float | None = None) -> dict:
    """A call to a model, the only one of its trace."""
    asked = json.dumps([{"role": "user", "content": f"Mend the parser, part {number}"}])
    held = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": asked, "gen_ai.output.messages": said}
    judged = {"gen_ai.evaluation.name": "right", "gen_ai.evaluation.score.value": score}
    return {
        "traceId": f"{number:032x}",
        "spanId": f"{number:016x}",
        "name": "chat",
        "attributes": attributes(held),
        "events": [] if score is None else [{"name": "gen_ai.evaluation.result", "attributes": attributes(judged)}],
    }


def attributes(held: dict) -> list[dict]:
    kinds = {str: "stringValue", float: "doubleValue"}
    return [{"key": key, "value": {kinds[type(value)]: value}} for key, value in held.items()]


def log(*spans: dict) -> list[tuple[str, bytes]]:
    """An upload of the lines that an exporter writes, and of one that was cut."""
    lines = [json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}) for one in spans]
    return [("traces.jsonl", "\n".join([*lines, '{"resourceSpans": [', ""]).encode())]


def facts(preview) -> dict[str, str]:
    return {fact.name: fact.value for fact in preview.facts}


def test_a_preview_counts_shows_samples_and_adds_nothing(memory, asked):
    files = log(span(1, f"I used {KEY}"), span(2, "Done.", 1.0), span(3, "Not done.", 0.0), span(4, "Done too."))
    preview = preview_import(memory, asked(files, success="right>=0.5"))
    assert (preview.headline, preview.button) == ("4 records of 1 file would be added.", "Import 4 records")
    assert facts(preview) == {"Experiences": "4", "Here already": "0", "Refused": "1"}
    assert preview.notes == (
        "Outcomes from the score right ≥ 0.5: 2 attempts.",
        "Of what was read, 2 attempts have an unknown outcome: no score of the trace was named as success.",
        "Secrets that are taken out of the texts: API keys 2.",
    )
    assert [(one.title, one.about.split(",")[0]) for one in preview.samples] == [
        ("Mend the parser, part 1", "? unknown"),
        ("Mend the parser, part 2", "✓ succeeded"),
        ("Mend the parser, part 3", "✗ failed"),
    ]
    assert KEY not in str(preview.samples)
    assert [problem.split(":")[0] for problem in preview.problems] == ["traces.jsonl, row 5"]
    assert len(memory.experience) == 0


@pytest.mark.parametrize(("rule", "notes"), [("", 0), ("rihgt<1", 1)])
def test_a_preview_says_that_a_score_gave_no_outcome_only_where_one_was_named(memory, asked, rule, notes):
    preview = preview_import(memory, asked(log(span(1, "Done.", 1.0)), success=rule))
    assert [note for note in preview.notes if "score rihgt < 1: 0 attempts" in note] == list(preview.notes[:notes])
    assert len(preview.notes) == notes + 1


def test_what_was_previewed_is_imported_as_one_operation_and_once(memory, asked):
    wish = asked(log(span(1, "Done."), span(2, "Done.")))
    imported = import_request(memory, wish)
    assert imported.done is not None
    assert imported.done.sentence == "Imported 2 records from 1 file"
    again = preview_import(memory, wish)
    assert (facts(again), again.button) == ({"Here already": "2", "Refused": "1"}, "")
    memory.undo(imported.done.operation_id)
    assert len(memory.experience) == 0


def test_files_of_several_kinds_are_imported_together_and_what_is_refused_is_named(memory, asked):
    files = [("../strategies.jsonl", STRATEGIES.read_bytes() + b"no JSON\n"), ("notes.txt", b"hello " + KEY.encode())]
    imported = import_request(memory, asked(files))
    assert imported.done is not None
    assert imported.done.sentence == "Imported 8 records from 2 files"
    assert [problem.split(":")[0] for problem in imported.problems] == ["strategies.jsonl, row 9", "notes.txt"]
    memory.undo(imported.done.operation_id)
    assert len(memory.strategies) == 0


def test_a_path_is_read_where_the_page_runs_on_the_persons_own_machine_alone(memory):
    assert preview_import(memory, request_of([], str(STRATEGIES))).button == "Import 8 records"
    with acting(Actor("admin", Role.ADMIN)), pytest.raises(InvalidInput, match="must be uploaded"):
        request_of([], str(STRATEGIES))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "choose files"),
        ({"path": "/nowhere/at/all"}, "no file or directory"),
        ({"path": "~nobody-of-that-name/runs"}, "cannot be looked up"),
        ({"path": ".", "success": "right"}, "correctness>=0.5"),
    ],
)
def test_what_cannot_be_imported_is_refused_with_what_to_do(given, said):
    with pytest.raises(InvalidInput, match=said):
        request_of([], **given)


def test_uploads_of_one_name_lie_apart_and_nobody_takes_the_result_of_another(asked):
    """Harbor names every run's file alike, and its reader looks for a result beside each."""
    sent = asked([("one/trajectory.json", b"1"), ("result.json", b"{}"), ("../two/trajectory.json", b"2")])
    paths = sent.sources.paths
    assert [path.name for path in paths] == ["trajectory.json", "result.json", "trajectory.json"]
    assert [path.read_bytes() for path in paths] == [b"1", b"{}", b"2"]
    assert not any(path.with_name("result.json").exists() for path in (paths[0], paths[2]))
    assert not any((path.parents[1] / "result.json").exists() for path in paths)
