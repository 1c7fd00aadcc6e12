"""Abstractions cut out of a program by hand, for tests that need no search."""

from __future__ import annotations

import ast

from atlas.learning.rewrite.executable import Executables
from atlas.learning.rewrite.workspace import Workspace, drop_invalid
from atlas.learning.terms.codec import Decoder, encode
from atlas.learning.terms.heads import END, EXPRESSION, REST, SYMBOL_SORT, read_head
from atlas.learning.terms.normalisation import normalise
from atlas.learning.terms.patterns import Pattern, rewrite
from atlas.learning.terms.terms import SYMBOL, Term


def term_of(source: str) -> Term:
    """The term of a program."""
    return encode(normalise(source))


def carve(source: str, first: str, last: str = "", holes: tuple[str, ...] = ()) -> Pattern:
    """The statements of a program from one line to another, or an expression, with some expressions as holes."""
    found: list[tuple[Term, str]] = []
    term = term_of(source)
    if last:
        root = next(part for part in term.walk() if part.head[:2] in ("b:", "t:") and _begins(part) == first)
        body = _until(root, last)
    else:
        root = body = next(part for part in term.walk() if _is(part, [first]))
    body = _with_holes(body, [*holes], found)
    sorts = [sort for _, sort in found]
    if last and not _is_all(root, body):
        body = _ended(body, Term(f"#{len(sorts)}"))
        sorts.append(REST)
    return Pattern(name="fn_0", body=body, sort=read_head(root.head).sort, hole_sorts=tuple(sorts))


def workspace_of(programs: list[str], pattern: Pattern) -> Workspace:
    """Programs that call a pattern wherever it stands."""
    originals = {f"p{number}": term_of(source) for number, source in enumerate(programs)}
    return Workspace(originals, {name: rewrite(term, [pattern]) for name, term in originals.items()}, [pattern])


def learned(programs: list[str], pattern: Pattern) -> tuple[str, list[str]]:
    """The function's code and the programs that run with it; or why it is none, and no programs."""
    workspace = workspace_of(programs, pattern)
    assert any(term.calls for term in workspace.programs.values()), "the pattern stands in no program"
    settled = drop_invalid(workspace, "shared_", lambda: False)
    if not workspace.patterns:
        return settled.reasons[0], []
    executables = Executables(workspace, settled.functions)
    return executables.function("fn_0"), [executables.standalone(name) for name in workspace.programs]


def _begins(block: Term) -> str:
    if not block.children or not block.children[0].head.startswith("s:"):
        return ""
    return ast.unparse(ast.fix_missing_locations(Decoder().node(block.children[0]))).splitlines()[0]


def _is(term: Term, texts: list[str]) -> bool:
    if not texts or not term.head.startswith(f"{EXPRESSION}:"):
        return False
    return ast.dump(Decoder().node(term)) in [ast.dump(ast.parse(text, mode="eval").body) for text in texts]


def _until(block: Term, last: str) -> Term:
    statement, rest = block.children
    return Term(block.head, [statement, Term(END) if _begins(block) == last else _until(rest, last)])


def _is_all(root: Term, body: Term) -> bool:
    while root.head != END and body.head != END:
        root, body = root.children[1], body.children[1]
    return root.head == body.head


def _ended(block: Term, rest: Term) -> Term:
    return rest if block.head == END else Term(block.head, [block.children[0], _ended(block.children[1], rest)])


def _with_holes(term: Term, holes: list[str], found: list[tuple[Term, str]]) -> Term:
    is_hole = _is(term, holes)
    if is_hole or term.head.startswith(SYMBOL):
        key = (term, EXPRESSION if is_hole else SYMBOL_SORT)
        if key not in found:
            found.append(key)
        return Term(f"#{found.index(key)}")
    return Term(term.head, [_with_holes(child, holes, found) for child in term.children])
