"""A search in plain Python: least general generalisations (Plotkin, 1970) of expressions that look alike."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from atlas.core.errors import Cancelled
from atlas.learning.search.engines import Corpus, PatternProposal
from atlas.learning.search.limits import IsCancelled, Limits, StageProgress
from atlas.learning.terms.heads import CALL_COST, EXPRESSION, REST, SYMBOL_SORT, cost_of
from atlas.learning.terms.patterns import Pattern, match, rewrite
from atlas.learning.terms.terms import CALL, HOLE, SYMBOL, Term, hole_number

MAX_EXPRESSIONS_PER_HEAD = 60
"""Largest number of expressions with the same head that are compared in pairs. Rarer expressions are left out."""

MIN_SIZE, MAX_SIZE = 4, 80


class AntiUnificationEngine:
    """A search engine in pure Python. It finds abstractions of expressions, not of statements."""

    name = "Anti-unification"

    def abstractions(
        self,
        corpus: Corpus,
        limits: Limits,
        *,
        progress: StageProgress | None = None,
        cancelled: IsCancelled | None = None,
    ) -> PatternProposal:
        """Return the abstractions, as `Engine.abstractions` does, but without limits of memory and time."""
        terms = list(corpus.terms)
        patterns: list[Pattern] = []
        ranked = _rank_generalisations(terms, limits.max_arity, cancelled)
        for number, candidate in enumerate(ranked):
            if len(patterns) == limits.iterations:
                break
            if cancelled is not None and cancelled():
                raise Cancelled("the compression was cancelled; nothing was changed")
            if progress is not None:
                progress("searching", number / len(ranked))
            pattern = replace(candidate, name=f"{CALL}{len(patterns)}")
            rewritten = [rewrite(term, [pattern]) for term in terms]
            n_uses = sum(part.head == pattern.name for term in rewritten for part in term.walk())
            if _saving(pattern, n_uses) > 0:
                patterns.append(pattern)
                terms = rewritten
        return PatternProposal(patterns=tuple(patterns), terms=tuple(terms))


def _rank_generalisations(terms: Sequence[Term], max_arity: int, cancelled: IsCancelled | None) -> list[Pattern]:
    """Return the generalisations that save tokens, ordered by their saving, largest first."""
    savings: dict[Pattern, int] = {}
    for counts in _group_by_head(terms).values():
        if cancelled is not None and cancelled():
            raise Cancelled("the compression was cancelled; nothing was changed")
        for pattern in _generalisations(list(counts), max_arity):
            n_uses = sum(count for term, count in counts.items() if match(pattern, term) is not None)
            if (saving := _saving(pattern, n_uses)) > 0:
                savings[pattern] = saving
    return sorted(savings, key=lambda pattern: (-savings[pattern], str(pattern.body)))


def _group_by_head(terms: Sequence[Term]) -> Mapping[str, Counter[Term]]:
    counts_by_head: dict[str, Counter[Term]] = defaultdict(Counter)
    for term in terms:
        for part in term.walk():
            if part.head.startswith(f"{EXPRESSION}:") and MIN_SIZE <= part.size <= MAX_SIZE:
                counts_by_head[part.head][part] += 1
    return {
        head: Counter(dict(counts.most_common(MAX_EXPRESSIONS_PER_HEAD))) for head, counts in counts_by_head.items()
    }


def _generalisations(terms: Sequence[Term], max_arity: int) -> Iterator[Pattern]:
    bodies = set()
    for left, right in [*combinations(terms, 2), *((term, term) for term in terms)]:
        pattern = unify(left, right, max_arity)
        if pattern is not None and pattern.body not in bodies:
            bodies.add(pattern.body)
            yield pattern


def unify(left: Term, right: Term, max_arity: int) -> Pattern | None:
    """Return the most specific pattern that matches both expressions, or None if its arity exceeds the limit."""
    holes = Holes()
    body = holes.unify((left, right))
    if body is None or hole_number(body.head) is not None or holes.sorts.count(EXPRESSION) > max_arity:
        return None
    return Pattern(name="", body=body, sort=EXPRESSION, hole_sorts=tuple(holes.sorts))


@dataclass(slots=True)
class Holes:
    """The holes of a pattern that matches several terms.

    Each variable of one term corresponds to one variable of every other term.
    """

    numbers: dict[tuple[Term, ...], int] = field(default_factory=dict)
    sorts: list[str] = field(default_factory=list)
    variables: dict[tuple[int, str], tuple[str, ...]] = field(default_factory=dict)
    """The corresponding variables of all terms, keyed by the position of a term and the name of a variable in it."""

    def unify(self, terms: Sequence[Term], n_statements: int = 0) -> Term | None:
        """Return the most specific term that matches all `terms`, or None if they differ in more than expressions.

        Args:
            n_statements: Number of statements before a hole for the rest of the block. 0 if there is no such hole.
        """
        if all(term.head.startswith(SYMBOL) for term in terms):
            return self._variable_hole(terms)
        first, n_holes, n_variables = terms[0], len(self.numbers), len(self.variables)
        if all(term.head == first.head and len(term.children) == len(first.children) for term in terms):
            if (children := self._unify_children(terms, n_statements)) is not None:
                return Term(first.head, children)
            self._roll_back(n_holes, n_variables)
        are_expressions = all(term.head.startswith(f"{EXPRESSION}:") for term in terms)
        return self._hole(terms, EXPRESSION) if are_expressions else None

    def _unify_children(self, terms: Sequence[Term], n_statements: int) -> list[Term] | None:
        children = []
        for position, parts in enumerate(zip(*(term.children for term in terms), strict=True), 1):
            is_rest = n_statements > 0 and position == len(terms[0].children)
            child = (
                self._hole(parts, REST)
                if is_rest and n_statements == 1
                else self.unify(parts, n_statements - 1 if is_rest else 0)
            )
            if child is None:
                return None
            children.append(child)
        return children

    def _variable_hole(self, terms: Sequence[Term]) -> Term | None:
        names = tuple(term.head for term in terms)
        if any(self.variables.setdefault(key, names) != names for key in enumerate(names)):
            return None
        return self._hole(terms, SYMBOL_SORT)

    def _hole(self, terms: Sequence[Term], sort: str) -> Term:
        """Return the hole for these terms, a new one unless they have a hole already."""
        number = self.numbers.setdefault(tuple(terms), len(self.sorts))
        if number == len(self.sorts):
            self.sorts.append(sort)
        return Term(f"{HOLE}{number}")

    def _roll_back(self, n_holes: int, n_variables: int) -> None:
        """Forget all but the first `n_holes` holes and the first `n_variables` variables."""
        while len(self.numbers) > n_holes:
            self.numbers.popitem()
        while len(self.variables) > n_variables:
            self.variables.popitem()
        del self.sorts[n_holes:]


def _saving(pattern: Pattern, n_uses: int) -> int:
    """Return the saving of a pattern, with the same costs as in Stitch."""
    body_cost = sum(cost_of(part.head) for part in pattern.body.walk() if hole_number(part.head) is None)
    repeated_cost = 100 * (
        sum(hole_number(part.head) is not None for part in pattern.body.walk()) - len(pattern.hole_sorts)
    )
    return n_uses * (body_cost + repeated_cost - CALL_COST) - body_cost
