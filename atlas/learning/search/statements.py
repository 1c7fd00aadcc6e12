"""Patterns of statements that programs have in common, found by anti-unification."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from atlas.learning.search.anti_unification import Holes
from atlas.learning.terms.heads import CALL_COST, DO, EXPRESSION, STATEMENT, THEN, cost_of
from atlas.learning.terms.patterns import Pattern, match
from atlas.learning.terms.symbols import number_symbols, replace_symbols
from atlas.learning.terms.terms import Term, is_call, is_hole

MAX_STATEMENTS = 6
"""Largest number of statements of a block in a pattern, unless the pattern ends with the block."""

MAX_SIMILAR_PIECES = 40
"""Largest number of pieces of code with the same kinds of statements that are compared with one another."""

MAX_COMPARISONS = 2 * MAX_SIMILAR_PIECES**2
"""Largest number of comparisons of pieces with the same kinds of statements. It suffices for all pairs."""

MAX_CACHED = 2**16
"""Largest number of terms in a cache, because a process may search many stores."""

MAX_ARITY = 3
MIN_SIZE = 8

_Piece = tuple[str, Term, int]
"""A program, a term in it, and the number of the term's leading statements that belong to the piece. 0 for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A pattern, and the programs in which it matches."""

    pattern: Pattern
    programs: tuple[str, ...]
    bound: int
    """Upper bound of the cost that the pattern saves, as `cost_of` counts it."""


def statement_patterns(terms: Mapping[str, Term], tasks: Mapping[str, str], prefix: str) -> list[Candidate]:
    """Return patterns of statements that occur in programs of several tasks and may save tokens.

    Args:
        tasks: The task of each program.
        prefix: Prefix of the patterns' names, which a number follows.
    """
    pieces_by_key: dict[str, list[_Piece]] = defaultdict(list)
    for name, term in terms.items():
        for piece in _list_pieces(name, term):
            pieces_by_key[_piece_key(piece)].append(piece)
    candidates: dict[Term, Candidate] = {}
    for pieces in pieces_by_key.values():
        for pattern in _shared_patterns(_select_varied(pieces), tasks):
            if pattern.body not in candidates:
                candidates[pattern.body] = _make_candidate(pattern, pieces, f"{prefix}{len(candidates)}")
    return [candidate for candidate in candidates.values() if candidate.bound > 0]


def _list_pieces(name: str, term: Term) -> Iterator[_Piece]:
    """Yield the pieces of a program: statements, blocks from each statement on, and runs of a few statements."""
    for part in term.walk():
        if part.size < MIN_SIZE:
            continue
        if part.head.startswith(f"{STATEMENT}:"):
            yield name, part, 0
        elif part.head.startswith(THEN):
            yield name, part, 0
            n_statements = min(_chain_length(part) - 1, MAX_STATEMENTS)
            yield from ((name, part, n_leading) for n_leading in range(2, n_statements + 1))


def _chain_length(chain: Term) -> int:
    length = 0
    while chain.head.startswith(THEN):
        length, chain = length + 1, chain.children[1]
    return length


def _piece_key(piece: _Piece) -> str:
    """Return the key by which pieces are grouped: the kinds of their statements."""
    _, term, n_statements = piece
    if not n_statements:
        return _structure_key(term)
    kinds = []
    for _ in range(n_statements):
        statement, term = term.children
        kinds.append(_structure_key(statement))
    return f"{' '.join(kinds)} …"


@lru_cache(MAX_CACHED)
def _structure_key(term: Term) -> str:
    """Return the kinds of a statement and of the statements in its blocks."""
    if term.head.startswith((THEN, DO)):
        return f"({' '.join(map(_structure_key, term.children))})"
    syntax = term.head.split("/=", 1)[0]
    return syntax + "".join(_structure_key(child) for child in term.children if child.head.startswith(DO))


def _select_varied(pieces: Sequence[_Piece]) -> Sequence[_Piece]:
    """Return at most `MAX_SIMILAR_PIECES` pieces. Of more, keep at most two of those that differ only in names."""
    if len(pieces) <= MAX_SIMILAR_PIECES:
        return pieces
    counts: Counter[Term] = Counter()
    selected: list[_Piece] = []
    for piece in pieces:
        shape = replace_symbols(piece[1], number_symbols(piece[1]))
        counts[shape] += 1
        if counts[shape] <= 2:
            selected.append(piece)
    return selected[:MAX_SIMILAR_PIECES]


def _shared_patterns(pieces: Sequence[_Piece], tasks: Mapping[str, str]) -> Iterator[Pattern]:
    """Yield the pattern of each group of two or more pieces from different tasks.

    The pattern of two pieces may be too specific to match a third, so larger groups are tried as well.
    """
    patterns: dict[Term, Pattern] = {}
    queue = deque[tuple[int, ...]]((number,) for number in range(len(pieces)))
    n_left = MAX_COMPARISONS
    while queue and n_left:
        group = queue.popleft()
        group_tasks = {tasks[pieces[number][0]] for number in group}
        for number in range(group[-1] + 1, len(pieces)):
            if tasks[pieces[number][0]] in group_tasks:
                continue
            if not (n_left := n_left - 1):
                return
            larger_group = (*group, number)
            pattern = _generalisation([pieces[index] for index in larger_group])
            if pattern is not None and pattern.body not in patterns:
                patterns[pattern.body] = pattern
                queue.append(larger_group)
                yield pattern


def _generalisation(pieces: Sequence[_Piece]) -> Pattern | None:
    """Return the most specific pattern that matches all pieces, or None if it is too small or has many parameters."""
    holes = Holes()
    body = holes.unify([term for _, term, _ in pieces], pieces[0][2])
    if body is None or body.size < MIN_SIZE or holes.sorts.count(EXPRESSION) > MAX_ARITY:
        return None
    return Pattern(name="", body=body, sort=body.head.partition(":")[0], hole_sorts=tuple(holes.sorts))


def _make_candidate(pattern: Pattern, pieces: Sequence[_Piece], name: str) -> Candidate:
    named_pattern = replace(pattern, name=name)
    savings: dict[str, int] = {}
    for program, term, _ in pieces:
        call = match(named_pattern, term)
        if call is not None:
            savings[program] = max(_saving(term, call, 1), savings.get(program, 0))
    return Candidate(
        pattern=named_pattern, programs=tuple(savings), bound=sum(savings.values()) - _cost_without_holes(pattern.body)
    )


def saving_bound(pattern: Pattern, programs: Mapping[str, Term], rewritten: Mapping[str, Term]) -> int:
    """Return an upper bound of the cost that a pattern saves.

    Args:
        programs: Programs, keyed by name.
        rewritten: The programs in which the pattern occurs, rewritten to call the pattern, keyed by name.
    """
    saving = 0
    for name, term in rewritten.items():
        n_calls = sum(part.head == pattern.name for part in term.walk())
        saving += max(_saving(programs[name], term, n_calls), 0)
    return saving - _cost_without_holes(pattern.body)


def _saving(term: Term, rewritten: Term, n_calls: int) -> int:
    """Return an upper bound of the cost that calls save in a term."""
    return _cost_without_holes(term) - _cost_without_holes(rewritten) + n_calls * CALL_COST // 2


@lru_cache(MAX_CACHED)
def _cost_without_holes(term: Term) -> int:
    if is_hole(term):
        return 0
    return (CALL_COST if is_call(term) else cost_of(term.head)) + sum(map(_cost_without_holes, term.children))
