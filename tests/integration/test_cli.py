"""The command line does what it says, and says what to do if it cannot."""

from __future__ import annotations

import io
import json
import os
import sqlite3
import sys
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

import pytest

import atlas
from atlas.cli import main
from atlas.core.codec import encode_trajectory
from atlas.embedding.sentence_transformers import BUNDLED
from atlas.memory.concepts.automatic import RESULT_NOTE
from atlas.testing import HashEmbedder
from atlas.views.settings.store import level_text
from tests.support.messages_server import call, message, serving
from tests.support.records import needing

TASKS = ("sort a list", "parse a date", "draw a chart", "rotate a grid")


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store with four attempts, of which the first two failed; browsing it needs no model."""
    monkeypatch.setenv("ATLAS_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("ATLAS_ACTOR", "tester")
    with atlas.open_memory(embedder=HashEmbedder(384, BUNDLED)) as memory:
        memory.experience.store_many([attempt(text, success=i > 1) for i, text in enumerate(TASKS)])
    return tmp_path / "store"


def attempt(text: str, *, success: bool) -> atlas.Trajectory:
    return atlas.Trajectory(
        task=atlas.Task(text, "", text),
        steps=(atlas.Step("think first", f"do: {text}", "done"),),
        outcome=atlas.Outcome(success),
        metadata={"source": "by hand", "solution": "print(1)", "feedback": "fine"},
    )


def run(capsys, *arguments: str, status: int = 0) -> str:
    assert main(arguments) == status
    captured = capsys.readouterr()
    return captured.out if status == 0 else captured.err


def test_importing_a_log_dry_counts_it_and_touches_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ATLAS_STORE", str(tmp_path / "store"))
    said = [("user", "Fix /home/ann/a.py"), ("assistant", "Mended.")]
    lines = [
        {"type": kind, "uuid": f"u{n}", "sessionId": "s", "message": {"role": kind, "content": text}}
        for n, (kind, text) in enumerate(said)
    ]
    log = tmp_path / "s.jsonl"
    log.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    counted = run(capsys, "import", str(log), "--dry-run")
    assert "1 read, 1 would be added, 0 skipped as duplicates, 0 rejected" in counted
    assert "taken out of the texts: home directories 1" in counted
    assert "outcomes from" not in counted
    assert "outcomes from the score good ≥ 1: 0 attempts" in run(
        capsys, "import", str(log), "--dry-run", "--success", "good>=1"
    )
    assert not (tmp_path / "store").exists()
    with pytest.raises(SystemExit):
        main(["import", str(log), "--success", "good"])
    assert "expected a success rule such as correctness>=0.5, got 'good'" in capsys.readouterr().err


def test_the_status_says_what_the_search_for_concepts_did(store, capsys, monkeypatch):
    assert "compression      The automatic search for concepts is off" in run(capsys, "status")
    monkeypatch.setenv("ATLAS_COMPRESS_EVERY", "20")
    with atlas.open_memory() as memory:
        memory.storage.ledger.notes.write({RESULT_NOTE: "It added \x1b[31m1 concept."})
    said = run(capsys, "status")
    assert "1 concept. 0 of 20 new successes with programs until the next search for concepts." in said
    assert "\x1b" not in said


def test_the_status_says_what_the_level_costs_once_it_is_measured(store, capsys):
    assert "level            the usual one: it is not measured on this store yet" in run(capsys, "status")
    with atlas.open_memory() as memory:
        memory.experience.store_many(
            [attempt(f"rename column {number} of the table", success=True) for number in range(30)]
        )
        memory.experience.calibrate()
        costs = memory.experience.level_costs()
    line = next(line for line in run(capsys, "status").splitlines() if line.startswith("level"))
    assert line == f"level            {level_text(costs)}"


def test_a_dry_run_says_what_would_go_and_touches_nothing(store, capsys):
    said = run(capsys, "prune", "--min-success-rate", "0.5", "--dry-run")
    assert "2 of 4 experiences would be deleted (50%)" in said
    assert "sort a list  (failed; 0% of 1 succeeded, under 50%)" in said
    assert "Nothing was changed" in said
    assert "experiences      4" in run(capsys, "status")


def test_prune_removes_what_the_dry_run_named_and_undo_brings_it_back(store, capsys):
    said = run(capsys, "prune", "--min-success-rate", "0.5")
    assert "Deleted 2. To bring them back: atlas undo " in said
    assert "experiences      2" in run(capsys, "status")
    assert "took back prune" in run(capsys, "undo", said.rsplit(" ", 1)[1].strip())
    assert "experiences      4" in run(capsys, "status")


def test_prune_by_tag_prints_what_goes_before_it_does_and_leaves_the_rest(store, capsys):
    run(capsys, "tag", ids_of(store)["parse a date"], "--add", "crawl")
    printed = run(capsys, "prune", "--tag", "crawl", "--max-age-days", "0", "--all")
    assert printed.index("1 of 4 experiences would be deleted") < printed.index("Deleted 1. To bring them back")
    assert "parse a date" in printed
    assert "max_age_days 0.0, tag crawl" in run(capsys, "history")


def test_a_criterion_of_zero_is_one(store, capsys):
    assert "4 of 4 experiences would be deleted" in run(capsys, "prune", "--max-count", "0", "--dry-run")


def test_undo_without_an_operation_walks_back_through_the_history(store, capsys):
    run(capsys, "prune", "--max-count", "3")
    run(capsys, "prune", "--max-count", "2")
    run(capsys, "undo")
    assert "experiences      3" in run(capsys, "status")
    run(capsys, "undo")
    assert "experiences      4" in run(capsys, "status")
    run(capsys, "undo")
    assert "experiences      0" in run(capsys, "status")
    assert "nothing to undo" in run(capsys, "undo", status=1)


def test_history_names_each_operation_with_who_and_why(store, capsys):
    run(capsys, "prune", "--max-count", "3")
    newest, oldest = run(capsys, "history").splitlines()
    assert "prune" in newest
    assert "1 removed" in newest
    assert "tester" in newest
    assert "max_count 3" in newest
    assert "4 added" in oldest


def test_an_export_imported_elsewhere_is_the_same_store(store, tmp_path, capsys, monkeypatch):
    with atlas.open_memory(embedder=HashEmbedder(384, BUNDLED)) as memory:
        first = memory.experience.browse(order_by="", descending=False)[0]["id"]
        memory.experience.mark({first: atlas.Marks(tags=("good",), pinned=True, note="see §2")})
        memory.experience.record_use(first, True)
        strategy = memory.strategies.add(atlas.Strategy(situation="sort", suggestion="use sorted"))
        memory.strategies.update_stats(strategy, True, task_id="t")
        crop = atlas.CodeConcept(name="crop", description="cut", code="def crop(g):\n    return g[1:]\n")
        twice = atlas.CodeConcept(
            name="twice", description="cut twice", code="def twice(g):\n    return crop(crop(g))\n", source="learned"
        )
        memory.concepts.add_many([crop, twice])
        memory.concepts.update_stats(twice.id, True)
    run(capsys, "export", str(tmp_path / "one.jsonl"), "--vectors")
    run(capsys, "export", str(tmp_path / "less.jsonl"), "--vectors", "--without", "imported", "--without", "primitive")
    less, whole = (tmp_path / "less.jsonl").read_text(), (tmp_path / "one.jsonl").read_text()
    assert set(whole.splitlines()) - set(less.splitlines()) == {
        line for line in whole.splitlines() if json.loads(line).get("concept", {}).get("name") == "crop"
    }
    monkeypatch.setenv("ATLAS_STORE", str(tmp_path / "other"))
    imported = run(capsys, "import", str(tmp_path / "one.jsonl"))
    assert "7 read, 7 added (4 experiences, 2 concepts and 1 strategy), 0 skipped" in imported
    assert "7 read, 0 added, 7 skipped" in run(capsys, "import", str(tmp_path / "one.jsonl"))
    run(capsys, "export", str(tmp_path / "two.jsonl"), "--vectors")
    assert (tmp_path / "one.jsonl").read_text() == (tmp_path / "two.jsonl").read_text()


def test_strategies_are_written_from_successful_attempts_as_said_before(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ATLAS_STORE", str(tmp_path / "store"))
    steps = tuple(atlas.Step(action=f"{call}(booking)") for call in ("look_up", "check_policy", "refund"))
    task = atlas.Task("t1", "", "Refund the cancelled flight of a customer")
    with atlas.open_memory(embedder=HashEmbedder(384, BUNDLED)) as memory:
        memory.experience.store(atlas.Trajectory(task=task, steps=steps, outcome=atlas.Outcome(True)))
    said = run(capsys, "strategies", "--write", "--dry-run")
    assert "1 attempt would become 1 strategy." in said
    assert "Nothing was changed" in said
    assert run(capsys, "strategies") == ""
    assert "Wrote 1 strategy. To undo it: atlas undo" in run(capsys, "strategies", "--write")
    assert "not used yet  Refund the cancelled flight" in run(capsys, "strategies")
    assert "needs --write" in run(capsys, "strategies", "--dry-run", status=1)
    run(capsys, "undo")
    assert run(capsys, "strategies") == ""


def test_importing_attempts_embeds_them_and_a_bad_row_stops_no_other(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ATLAS_STORE", str(tmp_path / "store"))
    row = {
        "kind": "trajectory",
        "trajectory": {"task": {"id": "1", "description": "é 日本 sort"}, "outcome": {"success": None}},
    }
    (tmp_path / "runs.jsonl").write_text(f"{json.dumps(row)}\n{{broken\n{json.dumps(row | {'kind': 'other'})}\n")
    assert main(["import", str(tmp_path / "runs.jsonl"), "--format", "atlas"]) == 0
    captured = capsys.readouterr()
    assert "3 read, 1 added, 0 skipped as duplicates, 2 rejected" in captured.out
    assert "runs.jsonl, row 2: " in captured.err
    assert "This store uses the bundled embedding model" in captured.err
    assert "unknown" in run(capsys, "search", "sorting")
    assert main(["import", str(tmp_path / "runs.jsonl"), "--format", "atlas", "--strict"]) == 1
    assert "row 2" in capsys.readouterr().err


def test_show_prints_an_experience_step_by_step(store, capsys):
    with atlas.open_memory(embedder=HashEmbedder(384, BUNDLED)) as memory:
        record = memory.experience.browse(order_by="", descending=False)[0]["id"]
    said = run(capsys, "show", record[:6])
    assert "task: sort a list" in said
    assert "thought: think first\naction: do: sort a list\nobservation: done" in said
    assert "no experience has an id that begins with 'zz'" in run(capsys, "show", "zz", status=1)


@pytest.mark.parametrize("tool", ["get_order", "find_order"])
def test_context_prefers_code_whose_tools_the_agent_has(store, capsys, tool):
    with atlas.open_memory(embedder=HashEmbedder(384, BUNDLED)) as memory:
        memory.concepts.add_many([needing(name) for name in ("get_order", "find_order")])
    block = run(capsys, "context", "look the order up", "--tool", tool)
    assert block.index(f"Needs: the tools {tool}") == block.index("Needs: the tools")


def test_context_prints_the_block_and_why_each_other_hit_is_left_out(store, capsys):
    whole = run(capsys, "context", "rotate a grid")
    assert whole.startswith("<atlas-memory>\n")
    assert "rotate a grid" in whole
    block = json.loads(run(capsys, "context", "rotate a grid", "--budget", "10", "--json"))
    assert (block["text"], block["n_left_out"]) == ("", len([each for each in block["omitted"] if each["id"]]))
    assert {each["reason"] for each in block["omitted"] if each["id"]} == {"too long"}
    assert main(("context", "rotate a grid", "--budget", "10")) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("nothing fits\nleft out: [")
    assert "too long by" in printed.err


def test_search_can_be_told_to_repeat_itself_less(store, capsys):
    assert "diversity" not in run(capsys, "search", "rotate a grid", "--all")
    assert "diversity" in run(capsys, "search", "rotate a grid", "--all", "--diverse", "0.5")


def test_a_profile_in_use_that_is_gone_is_said_with_what_is_found_and_listed(store, capsys):
    run(capsys, "profiles", "save", "kind", "--success", "0.1")
    run(capsys, "profiles", "use", "kind")
    with closing(sqlite3.connect(store / "atlas.sqlite")) as connection, connection:
        connection.execute("DELETE FROM meta WHERE name = 'profile:kind'")
    assert "searches should use the profile 'kind', which cannot be read" in run(capsys, "profiles")
    assert main(("search", "rotate a grid")) == 0
    assert "Searches should use the profile 'kind', which cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize("how", [(), ("--words",)])
def test_a_search_takes_a_filter_names_a_misspelt_one_and_notes_a_name_that_no_record_has(store, capsys, how):
    assert "rotate a grid" in run(capsys, "search", "grid", "--all" if not how else "--words", "--where", "{}")
    assert main(("search", "grid", *how, "--where", '{"outcom": "failed"}')) == 1
    assert "did you mean 'outcome'?" in capsys.readouterr().err
    assert main(("search", "grid", *how, "--where", '{"region": "north"}')) == 0
    assert "No record has 'region' yet, so nothing passes the filter on it." in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(("search", "grid", "--where", "[1"))
    assert "expected a filter such as" in capsys.readouterr().err


@pytest.mark.parametrize("command", [("search", "grid", "--all"), ("search", "grid", "--words"), ("context", "grid")])
def test_a_scope_narrows_a_search_together_with_a_filter(store, capsys, command):
    with atlas.open_memory(embedder=HashEmbedder(384, BUNDLED)) as memory:
        for project, success in (("shop", True), ("bank", False)):
            scoped = attempt(f"rotate the grid in the {project}", success=success)
            memory.experience.store(replace(scoped, metadata={**scoped.metadata, "scope.project": project}))
    assert "in the shop" in (found := run(capsys, *command, "--scope", "project=shop"))
    assert "in the bank" not in found
    assert "in the" not in run(capsys, *command, "--scope", "project=shop", "--where", '{"outcome": "failed"}')
    assert "for a scope's name, such as" in run(capsys, *command, "--scope", "Project=shop", status=1)


@pytest.mark.parametrize("n", ["0", "-1"])
@pytest.mark.parametrize("command", [("search", "x", "-k"), ("journal", "recent", "-n"), ("history", "-n")])
def test_less_than_one_result_is_refused(store, capsys, command, n):
    with pytest.raises(SystemExit):
        main((*command, n))
    assert f"expected 1 or more, got {n}" in capsys.readouterr().err


def test_search_by_words_needs_no_model(store, capsys):
    assert "rotate a grid" in run(capsys, "search", "GRID grids", "--words")


@pytest.mark.parametrize("how", [(), ("--words",)])
def test_an_emptied_store_is_searched_and_holds_nothing(store, capsys, how):
    with atlas.open_memory(embedder=HashEmbedder(384, BUNDLED)) as memory:
        memory.experience.delete([row["id"] for row in memory.experience.browse()])
    assert main(("search", "rotate a grid", *how)) == 0
    said = capsys.readouterr()
    assert (said.out + said.err).endswith("nothing found\n" if how else "nothing relevant found\n")


def test_search_for_distinct_ones_says_how_all_attempts_went(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("ATLAS_STORE", str(tmp_path / "store"))
    with atlas.open_memory(settings=atlas.Settings(store=tmp_path / "store", embedding_model=BUNDLED)) as memory:
        memory.experience.store_many(attempt("sort a list", success=success) for success in (True, False, True))
    assert len(lines_of_hits(run(capsys, "search", "sort a list"))) == 3
    said = run(capsys, "search", "sort a list", "--distinct")
    assert len(lines_of_hits(said)) == 1
    assert said.splitlines()[0][10:].startswith("succeeded")
    assert said.splitlines()[1] == "    3 attempts: 2 succeeded, 1 failed"


def lines_of_hits(said: str) -> list[str]:
    return [line for line in said.splitlines() if not line.startswith(" ")]


def test_terminal_escapes_in_content_are_not_printed(store, capsys):
    with atlas.open_memory(embedder=HashEmbedder(384, BUNDLED)) as memory:
        record = memory.experience.store(attempt("\x1b[31mred\x07 task", success=False))
    said = run(capsys, "show", record)
    assert "\x1b" not in said
    assert "\x07" not in said


def test_backup_restore_and_doctor_work_from_the_command_line(store, tmp_path, capsys):
    assert "Backed up 4 records" in run(capsys, "backup", str(tmp_path / "b.zip"))
    run(capsys, "prune", "--max-count", "0")
    assert "Restored 4 records" in run(capsys, "restore", str(tmp_path / "b.zip"))
    assert "experiences      4" in run(capsys, "status")
    assert "ledger file      ok" in run(capsys, "doctor", "--fix")


def test_reembedding_binds_the_store_to_another_model(store, capsys):
    with atlas.open_memory(embedder=HashEmbedder(384, BUNDLED)) as memory:
        memory.experience.prune({"max_count": 3})
    assert "Embedded 4 texts" in run(capsys, "reembed", "--model", BUNDLED)
    with atlas.open_memory() as memory:
        memory.undo(memory.history(1)[0].id)
        hit = memory.experience.search_hits("sort a list", 1)[0]
        assert hit.item.task.description == "sort a list"
        assert hit.similarity == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("prune", "--min-success-rate", "3"), "expected a number from 0 to 1"),
        (("undo", "nothing"), "no operation has an id that begins with 'nothing'"),
        (("import", "/does/not/exist"), "does not exist"),
        (("restore", "/does/not/exist"), "/does/not/exist"),
        (("export", "/does/not/exist"), "No such file or directory"),
        (("search", "hello\udcff"), "the query contains a lone surrogate"),
        (("search", "hello\udcff", "--words"), "the query contains a lone surrogate"),
        (("search", "x", "--words", "--all", "--distinct"), "--words cannot be combined with --all or --distinct"),
        (("search", "x", "--words", "--diverse", "0.3"), "--words cannot be combined with --diverse"),
        (("show", "\udcff"), "lone surrogate"),
        (("undo", "\udcff"), "lone surrogate"),
    ],
)
def test_a_mistake_gets_one_line_and_no_traceback(store, capsys, arguments, words):
    said = run(capsys, *arguments, status=1)
    assert words in said
    assert len(said.strip().splitlines()) == 1


def test_a_damaged_store_is_named_with_what_to_do(store, capsys):
    (store / "atlas.sqlite").write_bytes(b"garbage" * 999)
    said = run(capsys, "status", status=1)
    assert "is damaged" in said
    assert "Nothing was changed" in said


def test_an_unforeseen_error_gets_one_line_and_a_traceback_only_when_asked_for(store, capsys, monkeypatch):
    def fail(*arguments, **options):
        raise ZeroDivisionError("divided\nby nothing")

    monkeypatch.setattr("atlas.cli.history.open_storage", fail)
    said = run(capsys, "history", status=1)
    assert said == (
        "atlas: ZeroDivisionError: divided by nothing (this is a bug in ATLAS; ATLAS_DEBUG=1 shows the traceback)\n"
    )
    monkeypatch.setenv("ATLAS_DEBUG", "1")
    assert "Traceback (most recent call last)" in run(capsys, "history", status=1)


@pytest.mark.parametrize("arguments", [("history", "-n", str(10**20)), ("search", "grid", "--words", "-k", "9" * 20)])
def test_more_may_be_asked_for_than_there_could_be(store, capsys, arguments):
    assert len(run(capsys, *arguments).splitlines()) == 1


def test_the_history_names_a_few_of_many_imported_files(store, tmp_path, capsys):
    paths = [tmp_path / f"{name}.jsonl" for name in "abcdefg"]
    for path in paths:
        row = {"kind": "trajectory", "trajectory": {"task": {"id": path.stem, "description": "new"}, "outcome": {}}}
        path.write_text(json.dumps(row) + "\n")
    run(capsys, "import", *map(str, paths))
    newest = run(capsys, "history", "-n", "1")
    assert "imported a.jsonl, b.jsonl, c.jsonl, d.jsonl, e.jsonl and 2 others" in newest


def test_a_file_whose_name_is_no_text_is_imported(store, tmp_path, capsys):
    path = tmp_path / os.fsdecode(b"r\xffn.jsonl")
    row = {"kind": "trajectory", "trajectory": {"task": {"id": "1", "description": "new"}, "outcome": {}}}
    path.write_text(json.dumps(row) + "\n")
    assert "1 read, 1 added" in run(capsys, "import", str(path))
    assert "imported r n.jsonl" in run(capsys, "history", "-n", "1")


@pytest.mark.parametrize(
    "arguments",
    [
        ("backup", "f"),
        ("doctor",),
        ("search", "x"),
        ("status",),
        ("show", "x"),
        ("prune", "--max-count", "1"),
        ("undo",),
        ("history",),
        ("export", "-"),
        ("reembed", "--model", BUNDLED),
    ],
)
def test_a_mistyped_store_is_named_and_not_created(tmp_path, capsys, arguments):
    typo = tmp_path / "typo"
    said = run(capsys, "--store", str(typo), *arguments, status=1)
    assert f"there is no store at {typo}; check the path, or create one: atlas --store {typo} init" in said
    assert not typo.exists()


def test_prune_names_its_own_operation_whatever_else_was_done_meanwhile(store, capsys, monkeypatch):
    from atlas.memory.experience.memory import ChromaExperienceMemory

    apply_prune = ChromaExperienceMemory.apply_prune

    def apply_while_another_writes(memory, plan):
        n_removed = apply_prune(memory, plan)
        connection = sqlite3.connect(store / "atlas.sqlite")
        with connection:
            connection.execute(
                "INSERT INTO operations (id, kind, actor, created_at, reason) VALUES "
                "('another', 'edit', 'other', '2030-01-01T00:00:00+00:00', '')"
            )
        connection.close()
        return n_removed

    monkeypatch.setattr(ChromaExperienceMemory, "apply_prune", apply_while_another_writes)
    named = run(capsys, "prune", "--max-count", "3").rsplit(" ", 1)[1].strip()
    with atlas.open_memory(embedder=HashEmbedder(384, BUNDLED)) as memory:
        operation = memory.storage.ledger.history.operation(named)
    assert (operation.kind, operation.reason.partition(";")[0]) == ("prune", "max_count 3")


def ids_of(store):
    with atlas.open_memory(store, embedder=HashEmbedder(384, BUNDLED)) as memory:
        return {title: record_id for record_id, title in memory.experience.column("title").items()}


def test_merge_shows_what_it_would_do_does_it_and_can_be_undone(store, capsys):
    ids = ids_of(store)
    chosen = [ids["sort a list"][:12], ids["draw a chart"]]
    said = run(capsys, "merge", *chosen, "--dry-run")
    assert "2 experiences would become 1: 1 of 4 would be deleted (25%)." in said
    chart = ids["draw a chart"][:8]
    assert f"+ {chart}  draw a chart  (succeeded; stays: it succeeded; stands for 1 succeeded, 1 failed)" in said
    assert f"- {ids['sort a list'][:8]}  sort a list  (failed; into {ids['draw a chart'][:8]})" in said
    assert "experiences      4" in run(capsys, "status")
    said = run(capsys, "merge", *chosen)
    assert f"Merged into {ids['draw a chart'][:8]}. To undo it: atlas undo" in said
    assert "experiences      3" in run(capsys, "status")
    run(capsys, "undo", said.rsplit(" ", 1)[1].strip())
    assert ids_of(store) == ids
    assert "at least two records" in run(capsys, "merge", chosen[0], status=1)


def test_tag_pins_buries_and_annotates(store, capsys):
    ids = ids_of(store)
    both = ids["sort a list"], ids["parse a date"]
    said = run(capsys, "tag", *both, "--add", "x", "--add", "y", "--pin", "--bury")
    assert said.startswith("Changed 2. To undo it: atlas undo ")
    assert "2 of 2 tasks lose their best record:" in said
    assert run(capsys, "tag", ids["sort a list"], "--no-bury", "--remove", "y", "--note", "mine").startswith(
        "Changed 1."
    )
    assert run(capsys, "tag", ids["sort a list"], "--pin") == "Changed 0.\n"
    with atlas.open_memory(store, embedder=HashEmbedder(384, BUNDLED)) as memory:
        marks = memory.experience.marks(list(ids.values()))
    assert marks[ids["sort a list"]] == atlas.Marks(tags=("x",), pinned=True, note="mine")
    assert marks[ids["parse a date"]] == atlas.Marks(tags=("x", "y"), pinned=True, buried=True)
    assert "no experience has an id that begins with 'zz'" in run(capsys, "tag", "zz", "--pin", status=1)


def test_prune_prints_what_agents_would_lose_and_keeps_what_is_named(store, capsys):
    ids = ids_of(store)
    printed = run(capsys, "prune", "--min-success-rate", "0.5", "--dry-run")
    assert "2 of 2 tasks lose their best record:\n" in printed
    assert f"  ! {ids['sort a list'][:8]}  sort a list\n" in printed
    kept = run(capsys, "prune", "--min-success-rate", "0.5", "--keep", ids["sort a list"], "--dry-run")
    assert "1 of 1 task loses its best record:\n" in kept
    assert "1 more is protected." in kept
    assert "protected: you keep it" in kept


def test_trash_lists_what_was_deleted_and_brings_it_back(store, capsys):
    ids = ids_of(store)
    assert run(capsys, "trash") == "0 deleted. To bring one back: atlas trash --restore ID\n"
    run(capsys, "prune", "--min-success-rate", "0.5")
    said = run(capsys, "trash")
    assert f"{ids['sort a list'][:8]}  " in said
    assert "failed     sort a list  (prune: min_success_rate 0.5; 2 of 2 tasks lose their best record)" in said
    assert "2 deleted." in said
    restored = run(capsys, "trash", "--restore", ids["sort a list"][:12])
    assert restored.startswith("Brought back 1. To undo it: atlas undo ")
    assert "experiences      3" in run(capsys, "status")
    problem = run(capsys, "trash", "--restore", ids["sort a list"], status=1)
    assert "no deleted experience has an id that begins with" in problem


def test_purge_shows_what_would_go_and_asks_before_it_does_it(store, tmp_path, capsys, monkeypatch):
    ids = ids_of(store)
    leaked = ids["sort a list"]
    run(capsys, "export", str(tmp_path / "all.jsonl"))
    run(capsys, "backup", str(tmp_path / "all.zip"))
    said = run(capsys, "purge", leaked[:8], "--dry-run")
    assert "1 experience would be erased for good.\n" in said
    assert f"  - {leaked[:8]}  sort a list  (experience)" in said
    assert f"  + {tmp_path / 'all.zip'} (backup of " in said
    assert "This cannot be undone" in said
    assert "confirm with --yes" in run(capsys, "purge", leaked[:8], status=1)
    monkeypatch.setattr("sys.stdin", Terminal("yes\n"))
    assert "nothing was changed" in run(capsys, "purge", leaked[:8], status=1)
    monkeypatch.setattr("sys.stdin", Terminal(f"{leaked[:8]}\n"))
    assert "Purged 1 record. This cannot be undone." in run(capsys, "purge", leaked[:8], "--reason", "a leaked key")
    assert "purge   1 removed" in run(capsys, "history")
    assert "a purge removes records for good" in run(capsys, "undo", status=1)
    assert "purged already" in run(capsys, "purge", leaked, "--yes", status=1)
    said = run(capsys, "import", str(tmp_path / "all.jsonl"))
    assert "0 added" in said
    assert "1 of those skipped were purged from this store, and are not imported again" in said
    said = run(capsys, "restore", str(tmp_path / "all.zip"))
    assert f"1 record had been purged since; to purge again: atlas purge {leaked}" in said


class Terminal(io.StringIO):
    """What a person types."""

    def isatty(self) -> bool:
        return True


def test_concepts_are_listed_searched_and_printed(store, capsys):
    with atlas.open_memory(embedder=HashEmbedder(384, BUNDLED)) as memory:
        code = "def crop(grid):\n    return grid[1:]\n"
        given = {"description": "cut a \x1b[31mgrid", "examples": (("crop([[1]])", "[]"),), "source": "learned"}
        crop = memory.concepts.add(atlas.CodeConcept(name="crop", code=code, **given))
    line = f"{crop[:8]}  learned    crop: cut a [31mgrid"
    assert run(capsys, "concepts").splitlines() == [line]
    assert run(capsys, "concepts", "cut a grid").startswith(line)
    shown = run(capsys, "concepts", "--show", crop[:6])
    assert "record: not used yet" in shown
    assert "--- code\ndef crop(grid):\n    return grid[1:]" in shown
    assert ">>> crop([[1]])\n[]" in shown
    assert "\x1b" not in shown
    assert "no concept has an id that begins with" in run(capsys, "concepts", "--show", "nothing", status=1)
    assert "concepts         1" in run(capsys, "status")


def test_strategies_are_listed_searched_and_printed_with_their_attempts(store, capsys):
    with atlas.open_memory() as memory:
        given = {"title": "Look \x1b[31mfirst", "situation": "a refund is asked for", "suggestion": "look\nthen ask"}
        source = memory.experience.get(memory.experience.ids()[0])
        given |= {"parameters": ({"name": "booking", "type": "id"},), "sources": (source.trajectory_id,)}
        look = memory.strategies.add(atlas.Strategy(**given))
        memory.strategies.update_stats(look, True, task_id="t1", trajectory_id="tr1")
    line = f"{look[:8]}  succeeded in 1 of 1 use (likely 16–100%)  Look [31mfirst"
    assert run(capsys, "strategies").splitlines() == [line]
    assert run(capsys, "strategies", "somebody asks for a refund").startswith(line)
    shown = run(capsys, "strategies", "--show", look[:6])
    assert "--- what to do\nlook\nthen ask" in shown
    assert "succeeded  t1  tr1" in shown
    assert "--- parameters\nbooking (id)" in shown
    assert "same tasks without it: 0% (likely 0–84%, n = 1)" in shown
    assert "estimate: 0.55, by EMASuccessUpdater" in shown
    assert "or a prefix of one, got an empty string" in run(capsys, "strategies", "--show", "", status=1)
    assert "\x1b" not in shown
    assert "no strategy has an id that begins with" in run(capsys, "strategies", "--show", "nothing", status=1)
    assert "strategies       1" in run(capsys, "status")


def test_an_import_of_skills_says_how_many_concepts_came(store, capsys, tmp_path):
    path = tmp_path / "skills.json"
    path.write_text(json.dumps({"mine": {"code": "function mine() {}", "description": "mine a log"}}))
    assert "1 read, 1 added (1 concept), 0 skipped" in run(capsys, "import", str(path))
    assert "1 read, 0 added, 1 skipped" in run(capsys, "import", str(path))


def test_profiles_are_listed_saved_used_and_deleted(store, capsys):
    assert run(capsys, "profiles").startswith("* default: meaning 0.45, words 0.55, ")
    assert "nudges add at most 0.12" in run(capsys, "profiles", "save", "kind", "--success", "0.1")
    assert run(capsys, "profiles", "use", "kind") == "Searches use kind; before it was default.\n"
    assert "success 0.1, use 0.2" in run(capsys, "profiles", "save", "kinder", "--like", "kind", "--use", "0.2")
    assert [line[:9] for line in run(capsys, "profiles", "list").splitlines()] == [
        "  default",
        "* kind: m",
        "  kinder:",
    ]
    assert run(capsys, "profiles", "delete", "kind") == "Deleted kind. Searches use default.\n"


def test_a_profile_that_cannot_be_kept_or_used_is_told_why(store, capsys):
    assert "expected a number from 0 to 1000 for strictness" in run(
        capsys, "profiles", "save", "x", "--strictness", "2e9", status=1
    )
    assert "is the built-in profile" in run(capsys, "profiles", "save", "default", status=1)
    assert "there is no profile 'x'; see: atlas profiles" in run(capsys, "profiles", "use", "x", status=1)


@pytest.fixture
def journal(store):
    """A journal with a task, a crash at it and what fixed that; ids by what they are."""
    with atlas.open_memory() as memory:
        add = memory.journal.add
        return {
            "task": add("task", "User asked: count the vowels of a word", generation=4),
            "crash": add("crash_log", "Gen 4 died: KeyError in \x1b[31mcount_vowels of a word", generation=4),
            "fix": add("reflection", "The KeyError in count_vowels of a word needs lower case", generation=6),
        }


def test_the_journal_is_listed_searched_and_printed(journal, capsys):
    fix, crash, task = run(capsys, "journal").splitlines()
    assert crash == f"{journal['crash'][:8]}      4  crash_log    Gen 4 died: KeyError in [31mcount_vowels of a word"
    assert (fix[:8], task[:8]) == (journal["fix"][:8], journal["task"][:8])
    assert run(capsys, "journal", "recent", "--type", "task").splitlines() == [task]
    assert "newest 1 of 3" in said_beside(capsys, "journal", "recent", "-n", "1")
    found = run(capsys, "journal", "search", "KeyError in count_vowels", "--type", "crash_log")
    assert found.startswith(crash)
    assert "importance +" in found
    assert run(capsys, "journal", "search", "KeyError", "--words", "-k", "1").split()[0] in (crash[:8], fix[:8])
    assert "nothing" in said_beside(capsys, "journal", "search", "quarterly tax of a ship")
    shown = run(capsys, "journal", "show", journal["crash"][:6])
    assert "type: crash_log of generation 4" in shown
    assert "\x1b" not in shown
    assert "no journal entry has an id that begins with" in run(capsys, "journal", "show", "nothing", status=1)


def test_the_latest_entries_are_told_of_how_many_such_they_are(journal, capsys):
    with atlas.open_memory() as memory:
        memory.journal.add("task", "User asked: count the consonants", generation=5)
        memory.journal.edit(journal["crash"], tier="cold")
    assert "newest 1 of 2" in said_beside(capsys, "journal", "recent", "--type", "task", "-n", "1")
    assert "newest 1 of 3" in said_beside(capsys, "journal", "recent", "-n", "1")
    assert "newest 1 of 4" in said_beside(capsys, "journal", "recent", "-n", "1", "--all")
    assert said_beside(capsys, "journal", "recent", "--type", "crash_log") == "no such entry\n"


def test_a_suggested_link_is_accepted_or_refused_once_and_shown_from_both_sides(journal, capsys):
    crash, fix = journal["crash"], journal["fix"]
    assert f"{crash[:8]} fixed_by {fix[:8]}: a reflection 2 generations later" in run(capsys, "journal", "suggest")
    said = run(capsys, "journal", "suggest", "--refuse", crash[:8], fix[:8])
    assert "Refused. 1 changed. To undo it: atlas undo " in said
    assert run(capsys, "journal", "suggest") == ""
    run(capsys, "undo", said.rsplit(" ", 1)[1].strip())
    assert "Linked." in run(capsys, "journal", "suggest", "--accept", crash[:8], fix[:8])
    assert f"{crash[:8]} fixed_by {fix[:8]}" in run(capsys, "journal", "show", fix)
    assert "is suggested" in run(capsys, "journal", "suggest", "--accept", crash, fix, status=1)


def test_entries_are_linked_and_unlinked(journal, capsys):
    crash, task = journal["crash"], journal["task"]
    run(capsys, "journal", "link", crash[:8], task[:8], "--type", "refers_to")
    assert f"{crash[:8]} refers_to {task[:8]}" in run(capsys, "journal", "show", task)
    assert "Nothing had to change" in run(capsys, "journal", "link", crash, task, "--type", "refers_to")
    assert "taken back" in run(capsys, "journal", "link", crash, task, "--type", "refers_to", "--remove")
    assert "--- links" not in run(capsys, "journal", "show", task)


def test_an_entry_is_written_and_a_gate_kept_out_is_told_of_and_let_in(journal, capsys):
    said = run(capsys, "journal", "add", "reflection", "Empty words are counted first", "--link", "related",
               journal["task"][:8], "--metadata", '{"file": "a.py"}')  # fmt: skip
    assert said.startswith("Written as ")
    assert "1 added. To undo it: atlas undo" in said
    with atlas.open_memory() as memory:
        [written] = memory.journal.recent(1)
    assert (written.generation, written.metadata, written.links[0].target_id) == (6, {"file": "a.py"}, journal["task"])
    add = ("journal", "add", "observation", "ok", "--generation", "7")
    assert "an informative entry needs 3. To write it anyway, add --keep-noise" in said_beside(capsys, *add)
    run(capsys, *add, "--keep-noise")
    assert "add --keep-repetitions" in said_beside(capsys, *add, "--keep-noise")
    run(capsys, *add, "--keep-noise", "--keep-repetitions")
    assert len(run(capsys, "journal", "recent", "--type", "observation").splitlines()) == 2
    assert "should be JSON" in run(capsys, "journal", "add", "task", "to do", "--metadata", "{", status=1)


def test_the_gates_are_told_of_and_switched(journal, capsys, monkeypatch):
    assert [line.split()[:2] for line in run(capsys, "journal", "gates").splitlines()] == [
        ["Noise", "on"],
        ["Repetitions", "on"],
    ]
    assert "Noise        off" in run(capsys, "journal", "gates", "--noise", "off")
    assert "Written as" in run(capsys, "journal", "add", "observation", "ok")
    monkeypatch.setenv("ATLAS_KEEP_NOISE", "0")
    assert "ATLAS_KEEP_NOISE is set here" in run(capsys, "journal", "gates")
    assert "add --keep-noise" in said_beside(capsys, "journal", "add", "observation", "so")
    assert "Written as" in run(capsys, "journal", "add", "observation", "so", "--keep-noise")


def test_a_crash_and_its_fix_are_promoted_once(journal, capsys):
    crash = journal["crash"]
    assert "has no linked fix" in run(capsys, "journal", "promote", crash, status=1)
    run(capsys, "journal", "link", crash, journal["fix"], "--type", "fixed_by")
    planned = run(capsys, "journal", "promote", crash, "--dry-run")
    assert f"  task {journal['task'][:8]}" in planned
    assert "Nothing was changed" in planned
    said = run(capsys, "journal", "promote", crash[:8])
    assert "Promoted to experience " in said
    assert "1 added, 2 changed" in said
    assert "experiences      5" in run(capsys, "status")
    assert "was already promoted" in run(capsys, "journal", "promote", crash, status=1)
    assert "promoted_to: ['experience:" in run(capsys, "journal", "show", crash)
    assert "It starts without uses" in run(capsys, "journal", "promote", journal["fix"])


def test_compacting_the_journal_is_shown_before_it_is_done_and_undone_as_a_whole(store, capsys):
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    with atlas.open_memory() as memory:
        memory.journal.add_entries(
            [
                atlas.JournalEntry(
                    entry_type="observation", content=f"{name} survived", generation=1, created_at=long_ago
                )
                for name in ("Ann", "Ben", "Cat", "Dan", "Eve")
            ]
        )
    said = run(capsys, "journal", "compact", "--keep-recent", "0")
    assert "Entries that would move: 5 of 5 (5 to cold). Summaries that would be written: 1." in said
    assert "summary, by sentences of its entries:\n  Generations 1 to 1, 5 entries of type observation:" in said
    assert "Nothing was changed" in said
    assert "5 stay: it is among the latest 5 of type observation" in run(
        capsys, "journal", "compact", "--keep-recent", "0", "--keep", "observation=5"
    )
    said = run(capsys, "journal", "compact", "--keep-recent", "0", "--max-entries", "2")
    assert "Entries that would be deleted to keep at most 2: 4." in said
    assert "hot → deleted  Eve survived  (a summary replaces it; worth 0.00" in said
    said = run(capsys, "journal", "compact", "--keep-recent", "3", "--max-entries", "2")
    assert "The cap of 2 cannot be reached: 3 entries are protected." in said
    said = run(capsys, "journal", "compact", "--keep-recent", "0", "--apply")
    assert "Done. 1 added, 5 changed." in said
    assert [line.split()[2] for line in run(capsys, "journal").splitlines()] == ["summary"]
    assert "[cold]" in run(capsys, "journal", "recent", "--all")
    run(capsys, "undo")
    assert "summary" not in run(capsys, "journal")
    assert "no api key" in run(capsys, "journal", "compact", "--with-model", status=1).lower()


def test_a_model_s_plan_for_the_journal_is_kept_and_applied_without_asking_again(store, capsys, monkeypatch):
    long_ago = datetime(2020, 1, 1, tzinfo=UTC)
    with atlas.open_memory() as memory:
        for name in ("Ann", "Ben", "Cat", "Dan", "Eve"):
            content = f"{name} survived"
            old = atlas.JournalEntry(entry_type="observation", content=content, generation=1, created_at=long_ago)
            memory.journal.add_entries([old])
    reply = message(call({"points": [{"text": "All five survived.", "entries": ["1"]}]}))
    with serving(reply) as server:
        monkeypatch.setenv("ATLAS_LLM_BASE_URL", server.url)
        monkeypatch.setenv("ATLAS_LLM_API", "anthropic")
        limits = ("--keep-recent", "0")
        assert "make and review one first" in run(
            capsys, "journal", "compact", *limits, "--with-model", "--apply", status=1
        )
        said = run(capsys, "journal", "compact", *limits, "--with-model")
        assert "All five survived." in said
        assert "asked for it: 1 call" in said
        assert "To do exactly this: atlas journal compact --apply" in said
        said = run(capsys, "journal", "compact", *limits, "--apply")
        assert "All five survived." in said
        assert "Done. 1 added, 5 changed." in said
        assert len(server.requests) == 1


def test_what_the_gates_kept_out_of_the_journal_is_listed_and_let_in(store, capsys):
    with atlas.open_memory() as memory:
        assert memory.journal.add("observation", "all fine", generation=1) is None
    line = run(capsys, "journal", "rejected")
    assert "noise           all fine  (2 different words" in line
    assert "Written as" in run(capsys, "journal", "rejected", "--accept", line[:8])
    assert "all fine" in run(capsys, "journal")


SECRET = "sk-" + "a1B2" * 6


def test_secrets_in_entries_notes_and_imported_attempts_are_replaced_and_counted(journal, tmp_path, capsys):
    replaced = "Secrets replaced: API keys 1.\n"
    entry = ("journal", "add", "observation", f"the crawler logs in with {SECRET}")
    assert said_beside(capsys, *entry) == replaced
    with atlas.open_memory() as memory:
        stored = memory.store(atlas.Trajectory(atlas.Task("", "", "log in"), (), atlas.Outcome(True)))["experience"]
    assert said_beside(capsys, "tag", stored[:8], "--note", f"it was {SECRET}") == replaced
    attempt = atlas.Trajectory(atlas.Task("t", "", f"log in with {SECRET}"), (), atlas.Outcome(True))
    (tmp_path / "attempts.jsonl").write_text(
        json.dumps({"kind": "trajectory", "trajectory": encode_trajectory(attempt)}) + "\n"
    )
    given = ("import", str(tmp_path / "attempts.jsonl"))
    for arguments in ((*given, "--dry-run"), given):
        said = run(capsys, *arguments)
        assert "1 read, 1 " in said
        assert "taken out of the texts: API keys 1" in said
    assert "1 skipped" in run(capsys, *given)


def said_beside(capsys, *arguments):
    """What a command says on its error stream, although it did what it should."""
    assert main(arguments) == 0
    return capsys.readouterr().err


def test_a_trial_runs_a_command_and_writes_its_report(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ATLAS_STORE", str(tmp_path / "store"))
    with atlas.open_memory(embedder=HashEmbedder(384, BUNDLED)) as memory:
        memory.experience.store(attempt("sort a list", success=True))
    agent = "import os; raise SystemExit(0 if open(os.environ['ATLAS_TRIAL_BLOCK']).read() else 1)"
    options = ["--arm", "nothing", "--arm", "memory", "--html", str(tmp_path / "report.html"), "--json", "-"]
    command = ["trial", str(tmp_path / "trial"), *options, "--", sys.executable, "-c", agent]
    report = json.loads(run(capsys, *command))
    assert [arm["every"]["n_succeeded"] for arm in report["arms"]] == [0, 1]
    assert "won: sort a list" in (tmp_path / "report.html").read_text()
    assert json.loads(run(capsys, *command)) == report
    assert "its seed differ" in run(capsys, *command[:2], "--seed", "7", *command[2:], status=1)


def test_a_change_of_the_level_first_prints_the_tasks_that_lose_their_best_record(store, capsys):
    texts = ("repair the old pump", "the pump in the cellar leaks again")
    with atlas.open_memory() as memory:
        memory.experience.store_many(
            atlas.Trajectory(atlas.Task("pump", "", text), (), atlas.Outcome(True)) for text in texts
        )
    said = run(capsys, "level", "10", "--dry-run")
    assert "1 of 1 task loses its best record:\n  ! " in said
    assert f"  {texts[0]}\n" in said
    assert "Right attempts lost from hits: 1 of 1." in said
    assert "record" not in run(capsys, "level")
    run(capsys, "level", "10")
    assert "1 of 1 task loses its best record" in run(capsys, "history")
