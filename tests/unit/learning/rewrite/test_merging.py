"""A library has no function twice under two names."""

from __future__ import annotations

from dataclasses import replace

from atlas.learning.compression import DUPLICATE, compress
from atlas.learning.rewrite.executable import Executables, function_sources
from atlas.learning.rewrite.merging import merge
from atlas.learning.rewrite.normal_forms import shape
from atlas.learning.rewrite.workspace import Workspace, drop_invalid, programs_by_pattern
from atlas.learning.search.engines import Corpus, PatternProposal
from atlas.learning.search.limits import IsCancelled, Limits, StageProgress
from atlas.learning.terms.patterns import Pattern, rewrite
from atlas.learning.terms.programs import Program
from atlas.learning.terms.terms import Term
from tests.support.learning.patterns import carve, term_of

OF_A_VARIABLE = "def f{n}(a):\n    return [{n}, '-'.join(sorted(set(a))).strip().lower()]"
OF_AN_EXPRESSION = "def f{n}(a):\n    return [{n}, '-'.join(sorted(set(a[{n}:]))).strip().lower()]"
SOURCES = [text.format(n=n) for n, text in enumerate([OF_A_VARIABLE] * 3 + [OF_AN_EXPRESSION] * 3)]
PART = "'-'.join(sorted(set(a))).strip().lower()"


def patterns() -> list[Pattern]:
    """The same expression with a hole for a variable, and with a hole for any expression."""
    narrow, wide = carve(SOURCES[0], PART), carve(SOURCES[0], PART, holes=("a",))
    assert narrow.hole_sorts != wide.hole_sorts
    return [narrow, replace(wide, name="fn_1")]


def rewritten(terms: list[Term]) -> list[Term]:
    return [rewrite(term, patterns()) for term in terms]


class Twice:
    """An engine that proposes the function under two names."""

    name = "twice"

    def abstractions(
        self,
        corpus: Corpus,
        limits: Limits,
        *,
        progress: StageProgress | None = None,
        cancelled: IsCancelled | None = None,
    ) -> PatternProposal:
        return PatternProposal(patterns=tuple(patterns()), terms=tuple(rewritten(list(corpus.terms))))


def test_one_function_takes_the_place_of_all_that_have_its_code():
    originals = {f"p{n}": term_of(source) for n, source in enumerate(SOURCES)}
    terms = dict(zip(originals, rewritten(list(originals.values())), strict=True))
    workspace = Workspace(originals, terms, patterns())
    functions = drop_invalid(workspace, "shared_", lambda: None).functions
    assert len({shape(code) for code in function_sources(workspace, functions).values()}) == 1
    assert merge(workspace, functions) == 1
    assert programs_by_pattern(workspace) == {"fn_1": set(originals)}
    for n, source in enumerate(SOURCES):
        names: list[dict[str, object]] = [{}, {}]
        exec(source, names[0])
        exec(Executables(workspace, functions).standalone(f"p{n}"), names[1])
        assert eval(f"f{n}('B a c d e')", names[0]) == eval(f"f{n}('B a c d e')", names[1])
    assert merge(workspace, functions) == 0


def test_a_compression_has_no_function_twice():
    programs = [Program(id=str(n), task_id=str(n), description="", source=one) for n, one in enumerate(SOURCES)]
    found = compress(programs, engine=Twice())
    (only,) = found.abstractions
    assert only.uses == tuple("012345")
    assert found.refused == {DUPLICATE: 1}
    assert all(f"{only.name}(a" in one.after for one in found.rewritten.values())


def test_what_is_different_stays():
    sources_of = [f"def f{k}(a):\n    return [{k}, '-'.join(sorted(a))]" for k in range(3)]
    originals = {str(k): term_of(source) for k, source in enumerate(sources_of)}
    pattern = carve(sources_of[0], "'-'.join(sorted(a))")
    workspace = Workspace(originals, {name: rewrite(term, [pattern]) for name, term in originals.items()}, [pattern])
    functions = drop_invalid(workspace, "shared_", lambda: None).functions
    assert merge(workspace, functions) == 0
    assert programs_by_pattern(workspace) == {"fn_0": set(originals)}
