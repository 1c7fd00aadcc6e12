"""From programs to a library, and from a library to programs that it has not seen."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from atlas.core.errors import Cancelled, InvalidInput
from atlas.learning.compression import compress
from atlas.learning.results import Compression
from atlas.learning.reuse import evaluate_held_out, reuse
from atlas.learning.search.anti_unification import AntiUnificationEngine
from atlas.learning.search.engines import Corpus, PatternProposal
from atlas.learning.search.limits import Limits
from atlas.learning.search.sampling import sample
from atlas.learning.terms.description_length import n_tokens
from atlas.learning.terms.patterns import Pattern
from atlas.learning.terms.programs import Program, half_of_tasks
from atlas.learning.terms.terms import Term, read_term
from tests.support.learning.patterns import term_of
from tests.support.learning.prime_programs import programs


def outcome(source: str, tests: str) -> str:
    names: dict[str, Any] = {}
    try:
        exec(source + "\n" + tests, names)
    except Exception as error:  # noqa: BLE001 - whatever a program raises is its result
        return repr(error)
    return "passed"


def verify(pairs: Sequence[tuple[Program, str]]) -> Mapping[str, bool | None]:
    return {
        program.id: outcome(program.source, program.tests) == outcome(source, program.tests)
        for program, source in pairs
    }


@pytest.fixture(scope="module")
def compressed() -> Compression:
    return compress(programs(), limits=Limits(iterations=5), verify=verify)


def test_code_after_an_else_is_found_in_code_without_the_else() -> None:
    corpus = [
        Program(id="elif", task_id="1", source=_classify("a", "elif"), tests="assert a(30) == '2both'"),
        Program(id="plain", task_id="2", source=_classify("b", "if"), tests="assert b(31) == '1none'"),
        Program(id="else", task_id="3", source=_classify("c", "else"), tests="assert c(45) == '3both'"),
    ]
    found = compress(corpus, engine=AntiUnificationEngine(), verify=verify)
    (function,) = found.abstractions
    assert function.uses == ("elif", "else", "plain")
    assert function.proofs == function.uses


def _classify(name: str, keyword: str) -> str:
    both, none = "return str(n // 15) + 'both'", "return str(n % 15) + 'none'"
    first = f"def {name}(n):\n    if n < 0:\n        return '{name}'\n"
    match keyword:
        case "if":
            return f"{first}    if n % 15 == 0:\n        {both}\n    {none}"
        case "elif":
            return f"{first}    elif n % 15 == 0:\n        {both}\n    else:\n        {none}"
    return f"{first}    else:\n        if n % 15 == 0:\n            {both}\n        else:\n            {none}"


def test_what_programs_have_in_common_becomes_a_function(compressed: Compression) -> None:
    (prime,) = compressed.abstractions
    assert (
        prime.source.splitlines()[1:3] == [f"    if {'n'} < 2:", "        return False"] or "% i == 0" in prime.source
    )
    assert prime.arity == 1
    assert prime.n_tasks == 6
    assert prime.uses == tuple(f"p{n}" for n in range(6))
    assert prime.proofs == prime.uses


def test_the_saving_is_of_programs_and_library_together(compressed: Compression) -> None:
    after = compressed.tokens_after + compressed.tokens_library
    assert sum(abstraction.saving for abstraction in compressed.abstractions) == compressed.tokens_before - after
    assert compressed.tokens_library == sum(n_tokens(each.source) for each in compressed.abstractions)
    assert compressed.ratio == compressed.tokens_before / after > 1


def test_what_a_function_saves_elsewhere_is_at_most_half_of_what_it_saves(compressed: Compression) -> None:
    (prime,) = compressed.abstractions
    assert 0 < 2 * prime.saving_elsewhere <= prime.saving + n_tokens(prime.source)


def test_a_function_that_only_one_half_of_the_tasks_uses_saves_nothing_elsewhere() -> None:
    inside = half_of_tasks(programs())
    found = compress([one if one.task_id in inside else replace(one, source="x = 1") for one in programs()])
    assert [each.saving_elsewhere for each in found.abstractions] == [0]
    assert found.abstractions[0].saving > 0


def test_rewritten_programs_run_alone_and_pass_their_tests(compressed: Compression) -> None:
    for program in programs():
        rewritten = compressed.rewritten[program.id]
        assert outcome(rewritten.standalone, program.tests) == "passed"
        assert rewritten.functions == (compressed.abstractions[0].name,)
        assert n_tokens(rewritten.after) < n_tokens(rewritten.before)
        assert rewritten.standalone.endswith(rewritten.after)
        assert "of a task" not in rewritten.before


def test_a_function_with_which_a_program_does_something_else_is_refused() -> None:
    found = compress(
        programs(),
        limits=Limits(iterations=5),
        verify=lambda pairs: {p.id: p.id != "p3" or "concept_" not in source for p, source in pairs},
    )
    assert found.abstractions == ()
    assert found.rewritten == {}
    assert found.refused["changes the behaviour of a program"] == 3, (
        "the whole definition, its body, and its statements"
    )
    assert found.tokens_before == found.tokens_after


def test_a_program_that_needs_its_annotations_is_left_out_and_no_function_is_blamed() -> None:
    (first, *others) = programs()
    hints = "\nimport typing\ndef hinted(x: int): return x\nassert typing.get_type_hints(hinted)"
    found = compress([replace(first, source=first.source + hints), *others], limits=Limits(iterations=5), verify=verify)
    assert found.refused["program: behaves differently without comments, docstrings and annotations"] == 1
    assert "changes the behaviour of a program" not in found.refused
    assert found.abstractions[0].uses == tuple(f"p{n}" for n in range(1, 6))
    assert found.n_programs == 5


def test_programs_that_cannot_be_run_prove_nothing() -> None:
    (only,) = compress([replace(one, tests="") if one.id != "p1" else one for one in programs()],
                       limits=Limits(iterations=5), verify=verify).abstractions  # fmt: skip
    assert only.proofs == ("p1",)
    assert len(only.uses) == 6


def test_programs_whose_tests_do_not_run_a_function_prove_nothing_of_it() -> None:
    tested = "\n\ndef tested():\n    return 1\n"
    unaware = [replace(one, source=one.source + tested, tests="assert tested() == 1") for one in programs()]
    found = compress(unaware, limits=Limits(iterations=5), verify=verify)
    assert [one.proofs for one in found.abstractions] == [()]
    assert len(found.rewritten) == 6


def test_without_running_nothing_is_proven() -> None:
    (only,) = compress(programs(), limits=Limits(iterations=5)).abstractions
    assert only.proofs == ()


@pytest.mark.parametrize("limits", [Limits(iterations=5, min_tasks=7), Limits(iterations=5, min_body_tokens=60)])
def test_what_is_rare_or_small_is_not_kept(limits: Limits) -> None:
    found = compress(programs(), limits=limits)
    assert found.n_valid > 0
    assert found.abstractions == ()
    assert found.ratio == 1


def test_sources_alone_are_programs_too_each_a_task_of_its_own() -> None:
    (only,) = compress([one.source for one in programs()], limits=Limits(iterations=5)).abstractions
    assert (only.uses, only.n_tasks) == (tuple("012345"), 6)


def test_an_import_of_a_builtins_name_leaves_a_program_out_for_functions_before_it_would_see_it() -> None:
    (first, *others) = programs()
    found = compress(
        [replace(first, source=f"from numpy import max\n{first.source}"), *others], limits=Limits(iterations=5)
    )
    assert found.refused["program: rebinds a builtin name"] == 1


def test_programs_of_one_task_count_once() -> None:
    same = [Program(id=each.id, task_id="t", description="", source=each.source) for each in programs()]
    assert compress(same, limits=Limits(iterations=5)).abstractions == ()


def test_what_cannot_be_compressed_is_left_out_and_counted() -> None:
    bad = [
        Program(id="x", task_id="x", description="", source="def f(:"),
        Program(id="y", task_id="y", description="", source="def sum(a): return a"),
        Program(id="v", task_id="v", description="", source="def f(a):\n    b = a\n    return locals()"),
        Program(id="z", task_id="z", description="", source="x = " + "-" * 150 + "1"),
    ]
    found = compress([*programs(), *bad], limits=Limits(iterations=5))
    assert found.n_programs == 6
    assert {why: n for why, n in found.refused.items() if why.startswith("program")} == {
        "program: not Python that can be processed": 1,
        "program: rebinds a builtin name": 1,
        "program: looks up names by string": 1,
        "program: nested too deeply, or a block is too long": 1,
    }


def test_limits_below_nothing_are_refused() -> None:
    with pytest.raises(InvalidInput, match="expected iterations to be at least 0, got -1"):
        Limits(iterations=-1)


def test_nothing_comes_of_nothing() -> None:
    found = compress([])
    assert (found.abstractions, found.n_programs, found.ratio) == ((), 0, 1)


def test_placeholder_names_are_names_that_no_program_has() -> None:
    with_names = [
        Program(id=p.id, task_id=p.task_id, description="", source=p.source + "\nconcept_0 = concept__ = 1")
        for p in programs()
    ]
    (only,) = compress(with_names, limits=Limits(iterations=5)).abstractions
    assert only.name.startswith("concept___")


def test_a_compression_can_be_cancelled_at_any_time() -> None:
    asked: list[int] = []

    def cancelled_after(n: int) -> bool:
        asked.append(n)
        return len(asked) > n

    for n in (0, 1, 5):
        asked.clear()
        with pytest.raises(Cancelled, match="nothing was changed"):
            compress(programs(), engine=AntiUnificationEngine(), cancelled=lambda n=n: cancelled_after(n))  # type: ignore[misc]


def test_progress_is_told_by_stage() -> None:
    told: list[str] = []
    compress(
        programs(), engine=AntiUnificationEngine(), verify=verify, progress=lambda stage, share: told.append(stage)
    )
    assert set(told) == {"searching", "verifying"}


def test_an_engine_that_loses_a_program_is_found_out() -> None:
    class Loses:
        name = "loses"

        def abstractions(self, corpus: Corpus, limits: Limits, **_: object) -> PatternProposal:
            pattern = Pattern(name="fn_0", body=read_term("(e:Name/sym #0)"), sort="e", hole_sorts=("sym",))
            return PatternProposal(patterns=(pattern,), terms=tuple(Term("fn_0", [Term("&x")]) for _ in corpus.terms))

    with pytest.raises(Exception, match="to equal its original after inlining"):
        compress(programs(), engine=Loses())


def test_a_library_is_found_again_in_programs_it_was_not_learned_from() -> None:
    learned = compress(programs(4), limits=Limits(iterations=5))
    unseen = programs()[4:]
    found = reuse(learned.library, unseen, verify=verify)
    assert found.used == {learned.abstractions[0].name: 2}
    assert found.ratio > 1
    for program in unseen:
        assert outcome(found.rewritten[program.id].standalone, program.tests) == "passed"
    assert found.saved == {learned.abstractions[0].name: found.tokens_before - found.tokens_after}


def test_unseen_programs_that_would_do_something_else_are_left_as_they_were() -> None:
    learned = compress(programs(4), limits=Limits(iterations=5))
    found = reuse(learned.library, programs()[4:], verify=lambda pairs: {p.id: p.id == "p4" for p, _ in pairs})
    assert set(found.rewritten) == {"p4"}
    assert found.n_refused == 1


def test_half_of_the_tasks_is_held_out() -> None:
    found = evaluate_held_out(programs(), limits=Limits(iterations=5), verify=verify)
    assert found.learned.n_programs == found.reuse.n_programs == 3
    assert found.reuse.n_functions == len(found.learned.abstractions) == 1
    assert found.reuse.ratio > 1


def test_a_large_corpus_is_sampled_from_every_kind_and_says_so() -> None:
    many = [
        Program(id=f"{kind}{n}", task_id=f"{kind}{n}", description="", source=f"def f(x):\n    return {text.format(n)}")
        for kind, text in (("a", "x.split({})"), ("b", "max(x, {})"))
        for n in range(30)
    ]
    terms = {program.id: term_of(program.source) for program in many}
    chosen = sample(terms, Limits(max_programs=10))
    assert len(chosen) == 10
    assert {name[0] for name in chosen} == {"a", "b"}
    found = compress(many, limits=Limits(max_programs=10, iterations=2))
    assert (found.n_searched, found.n_programs) == (10, 60)
    assert "a sample of 10 of 60 programs" in found.notes[0]
    assert sample(terms, Limits(max_heads=50)) != list(terms)
    assert sample(terms, Limits()) == list(terms)
    giant = term_of("x = [" + "1, " * 250 + "]")
    assert len(sample({"giant": giant, **terms}, Limits(max_heads=giant.size - 1))) > 1
    assert "giant" not in sample({"giant": giant}, Limits(max_heads=giant.size - 1))
    first = {"giant": giant, "small": term_of("y = 2")}
    assert sample(first, Limits(max_heads=giant.size - 1)) == ["small"]


@pytest.mark.parametrize("n", [40, pytest.param(60, marks=pytest.mark.slow)])
def test_real_programs_become_shorter_and_do_the_same(real_data: Path, n: int) -> None:
    found = []
    for line in (real_data / "reflexion" / "mbpp_py_simple_gpt4.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        if row.get("is_solved") and row.get("solution"):
            found.append(
                Program(id=row["name"], task_id=row["name"], description="", source=row["solution"], tests=row["test"])
            )
    result = compress(found[:n], limits=Limits(iterations=15, min_tasks=2), verify=verify)
    assert result.ratio >= 1
    assert result.abstractions
    assert all(each.proofs for each in result.abstractions)
