"""Reading, writing and searching text files below a root directory, within the limits of `paths`."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from time import monotonic
from typing import TypedDict

from atlas.primitives.swe.paths import list_files, read_bytes, write_bytes

MAX_LINE = 500
"""Characters of a line that a search shows."""

MAX_PYTHON_FILES = 50_000


class Match(TypedDict):
    """A line that was found."""

    path: str
    line: int
    """From 1."""

    text: str
    """The line without the blanks around it, cut after 500 characters."""


class Matches(TypedDict):
    """The lines that were found."""

    matches: list[Match]
    """In the order of their paths and lines."""

    complete: bool
    """False if a limit ended the search."""


class Definition(TypedDict):
    """The definition of a name."""

    path: str
    line: int
    """From 1."""

    kind: str
    """`function`, `class` or `variable`."""

    name: str
    """Name with its enclosing class, such as `Greeter.greet`."""


def read_file(root: Path, path: str, first_line: int = 1, last_line: int | None = None) -> str:
    r"""The text of a file below the root, or some of its lines, as they are.

    Args:
        first_line: From 1.
        last_line: Included; None for the end.

    Raises:
        PermissionError: The path leads out of the root, or over a symbolic link.
        ValueError: It is not a text file in UTF-8, or is larger than 5 MB.
        OSError: It does not exist, or cannot be read.

    Examples:
        >>> read_file(root, "notes.txt")
        'first\nsecond\n'
        >>> read_file(root, "notes.txt", 2, 2)
        'second\n'
    """
    content = read_bytes(root, path)
    if b"\0" in content:
        raise ValueError(f"{path!r} is not text: it has NUL bytes")
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise ValueError(f"{path!r} is not text in UTF-8: byte {error.start} is {content[error.start]:#04x}") from error
    if first_line < 1:
        raise ValueError(f"lines count from 1, got {first_line}")
    return "".join(re.findall(r"[^\n]*\n|[^\n]+", text)[first_line - 1 : last_line])


def write_file(root: Path, path: str, text: str) -> int:
    r"""Write a text file below the root in UTF-8, whole or not at all, and return its size in bytes.

    Directories that are missing are made; a file that was there is replaced and keeps its permissions.

    Raises:
        PermissionError: The path leads out of the root, over a symbolic link, or into `.git`.
        ValueError: More than 5 MB, or something that is not a regular file stands there.
        OSError: It cannot be written; then the file is as it was.

    Examples:
        >>> write_file(root, "docs/index.md", "# Hello\n")
        8
        >>> read_file(root, "docs/index.md")
        '# Hello\n'
    """
    return write_bytes(root, path, text.encode())


def replace_in_file(root: Path, path: str, old: str, new: str, times: int = 1) -> int:
    r"""Replace a passage of a text file below the root, and return the file's new size in bytes.

    Args:
        times: Expected number of occurrences. Any other number is refused, so that nothing else is changed.

    Raises:
        ValueError: The passage is empty, or occurs another number of times; or as for `read_file` and `write_file`.

    Examples:
        >>> replace_in_file(root, "notes.txt", "second", "last")
        11
        >>> read_file(root, "notes.txt")
        'first\nlast\n'
    """
    text = read_file(root, path)
    found = text.count(old) if old else 0
    if not found or found != times:
        raise ValueError(f"expected the passage {times} times in {path!r}, found it {found} times; nothing was changed")
    return write_file(root, path, text.replace(old, new))


def search_codebase(
    root: Path,
    text: str,
    pattern: str = "*",
    ignore_case: bool = False,
    whole_word: bool = False,
    max_matches: int = 200,
    seconds: float = 20.0,
) -> Matches:
    """The lines of the files below the root that contain a text.

    The text is literal, because a regular expression could run for ever. Files that are binary, or larger
    than 5 MB, are left out.

    Args:
        pattern: Pattern of the files to search, as in `list_files`.
        whole_word: Whether the text must not be next to a letter, digit or underscore.
        seconds: Time limit of the search.

    Raises:
        ValueError: The text is empty.

    Examples:
        >>> search_codebase(root, "def greet")["matches"]
        [{'path': 'package/greeting.py', 'line': 5, 'text': 'def greet(self, name):'}]
        >>> search_codebase(root, "SECOND", "*.txt", ignore_case=True)
        {'matches': [{'path': 'notes.txt', 'line': 2, 'text': 'second'}], 'complete': True}
    """
    if not text:
        raise ValueError("expected a text to search for, got none")
    edge = r"\b" if whole_word else ""
    wanted = re.compile(f"{edge}{re.escape(text)}{edge}", re.IGNORECASE if ignore_case else 0)
    listing, until = list_files(root, pattern), monotonic() + seconds
    found: list[Match] = []
    for path in listing["files"]:
        for number, line in enumerate(_lines(root, path), 1):
            if monotonic() > until or len(found) > max_matches:
                return Matches(matches=found[:max_matches], complete=False)
            if wanted.search(line):
                found.append(Match(path=path, line=number, text=line.strip()[:MAX_LINE]))
    return Matches(matches=found[:max_matches], complete=listing["complete"] and len(found) <= max_matches)


def _lines(root: Path, path: str) -> list[str]:
    """The lines of a text file. Empty if the file cannot be searched."""
    try:
        content = read_bytes(root, path)
    except (OSError, ValueError):  # too large, unreadable, or gone since it was listed
        return []
    return [] if b"\0" in content else content.decode(errors="replace").split("\n")


def find_references(root: Path, name: str, pattern: str = "*.py") -> Matches:
    """The lines of the files below the root that contain a name as a word, including its definition and comments.

    Examples:
        >>> [match["line"] for match in find_references(root, "Greeter", "test_*")["matches"]]
        [3, 8]
        >>> find_references(root, "Greet")["matches"]
        []
    """
    return search_codebase(root, name, pattern, whole_word=True)


def file_outline(root: Path, path: str) -> list[Definition]:
    """The classes, functions and named values that a Python file below the root defines, in its order.

    Names inside functions are left out.

    Raises:
        ValueError: It is not a Python file that can be parsed; or as for `read_file`.

    Examples:
        >>> [(part["kind"], part["name"]) for part in file_outline(root, "package/greeting.py")]
        [('variable', 'WORD'), ('class', 'Greeter'), ('function', 'Greeter.greet')]
        >>> file_outline(root, "package/__init__.py")
        []
    """
    text = read_file(root, path)
    try:
        return _definitions(ast.parse(text).body, path, "")
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"{path!r} is not Python that can be parsed: {error}") from error


def _definitions(body: list[ast.stmt], path: str, outer: str) -> list[Definition]:
    found: list[Definition] = []
    for node in body:
        for name in _names_defined_by(node):
            found.append(Definition(path=path, line=node.lineno, kind=_kind_of(node), name=outer + name))
        if isinstance(node, ast.ClassDef):
            found += _definitions(node.body, path, f"{outer}{node.name}.")
        elif isinstance(node, ast.If | ast.Try | ast.With):
            blocks = [node, *getattr(node, "handlers", [])]
            inner = [statement for block in blocks for statement in block.body]
            found += _definitions(inner + getattr(node, "orelse", []) + getattr(node, "finalbody", []), path, outer)
    return found


def _kind_of(node: ast.stmt) -> str:
    if isinstance(node, ast.ClassDef):
        return "class"
    return "function" if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else "variable"


def _names_defined_by(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    parts = [part for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]
    return [part.id for part in parts if isinstance(part.ctx, ast.Store)]


def find_definition(root: Path, name: str, seconds: float = 20.0) -> list[Definition]:
    """Where the Python files below the root define a class, a function or a named value.

    Files that cannot be parsed are left out.

    Args:
        name: Such as `greet`, or with its class, `Greeter.greet`.
        seconds: Time limit of the search.

    Raises:
        TimeoutError: It takes longer.
        ValueError: There are too many files for a certain answer.

    Examples:
        >>> find_definition(root, "greet")
        [{'path': 'package/greeting.py', 'line': 5, 'kind': 'function', 'name': 'Greeter.greet'}]
        >>> find_definition(root, "missing")
        []
    """
    until = monotonic() + seconds
    found: list[Definition] = []
    listing = list_files(root, "*.py", max_files=MAX_PYTHON_FILES)
    if not listing["complete"]:
        raise ValueError(f"more than {MAX_PYTHON_FILES:,} Python files, or too deep a tree; use search_codebase")
    for path in listing["files"]:
        if monotonic() > until:
            raise TimeoutError(f"searching for the definition of {name!r} took longer than {seconds} s")
        if any(name.rpartition(".")[2] in line for line in _lines(root, path)):
            try:
                outline = file_outline(root, path)
            except (OSError, ValueError):
                continue
            found += [part for part in outline if f".{part['name']}".endswith(f".{name}")]
    return found
