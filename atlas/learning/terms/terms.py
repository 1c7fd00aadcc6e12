"""Terms: trees of heads, written as s-expressions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from atlas.core.errors import InvalidInput

SYMBOL = "&"
"""Prefix of the head of a local variable."""

HOLE = "#"
"""Prefix of the head of an abstraction's parameter: `#0`, `#1`."""

CALL = "fn_"
"""Prefix of the head of a call of an abstraction: `fn_0`."""


NO_CALLS: frozenset[str] = frozenset()


class Term:
    """A head and its child terms. Immutable, with a cached hash and structural equality."""

    __slots__ = ("_hash", "calls", "children", "depth", "has_holes", "head", "size")

    def __init__(self, head: str, children: Sequence[Term] = ()) -> None:
        self.head = head
        self.children = tuple(children)
        self.size: int = 1 + sum(child.size for child in self.children)
        self.depth: int = 1 + max((child.depth for child in self.children), default=0)
        self._hash = hash((head, self.children))
        self.has_holes: bool = head.startswith(HOLE) or any(child.has_holes for child in self.children)
        self.calls: frozenset[str] = NO_CALLS.union(*(child.calls for child in self.children if child.calls))
        """Heads of all calls in the term."""
        if head.startswith(CALL):
            self.calls |= {head}

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Term)
            and self._hash == other._hash
            and self.head == other.head
            and self.children == other.children
        )

    def __repr__(self) -> str:
        return f"Term({self})"

    def __str__(self) -> str:
        """Return the s-expression."""
        if not self.children:
            return self.head
        return f"({self.head} {' '.join(map(str, self.children))})"

    def walk(self) -> Iterator[Term]:
        """Yield this term and its descendants, parents first."""
        stack = [self]
        while stack:
            term = stack.pop()
            yield term
            stack.extend(reversed(term.children))


def read_term(text: str) -> Term:
    """Return the term of an s-expression.

    Raises:
        InvalidInput: The parentheses do not match, or there is more than one expression.
    """
    stack: list[list[Term | str]] = [[]]
    for token in text.replace("(", " ( ").replace(")", " ) ").split():
        if token == "(":
            stack.append([])
        elif token == ")" and len(stack) > 1 and stack[-1]:
            head, *children = stack.pop()
            stack[-1].append(Term(_head_of(head), [child for child in children if isinstance(child, Term)]))
        elif token == ")":
            raise InvalidInput(f"expected balanced parentheses, got {text[:80]!r}")
        else:
            stack[-1].append(Term(token) if stack[-1] or len(stack) == 1 else token)
    match stack:
        case [[Term() as term]]:
            return term
    raise InvalidInput(f"expected one s-expression, got {text[:80]!r}")


def _head_of(item: Term | str) -> str:
    return item if isinstance(item, str) else item.head


def hole_number(head: str) -> int | None:
    """Return the number of a hole from its head, or None for any other head."""
    return int(head[1:]) if head.startswith(HOLE) else None


def is_hole(term: Term) -> bool:
    """Return whether a term is a hole, which stands for a parameter of an abstraction."""
    return term.head.startswith(HOLE)


def is_call(term: Term) -> bool:
    """Return whether a term calls an abstraction. Heads of Python syntax never have the prefix of calls."""
    return term.head.startswith(CALL)


def fill_holes(body: Term, arguments: Sequence[Term]) -> Term:
    """Return a body with its holes replaced by terms."""
    index = hole_number(body.head)
    if index is not None:
        return arguments[index]
    if not body.has_holes:
        return body
    return Term(body.head, [fill_holes(child, arguments) for child in body.children])
