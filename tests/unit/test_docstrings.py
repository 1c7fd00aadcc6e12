"""How docstrings read: a function's begins with a verb, a class's, a field's and a constant's is a noun phrase."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.repository import REPOSITORY

AS_DATA = ("atlas/primitives/arc/", "atlas/primitives/swe/")
"""Files whose docstrings are the descriptions that stores find concepts by."""


def words_of(text: str) -> frozenset[str]:
    return frozenset(text.split())


VERBS = words_of("""
    Abandon Abstract Accept Acquire Add Advance Answer Append Apply Ask Authenticate Back Begin Bind Bring Build
    Calibrate Cancel Catch Choose Clear Close Collect Combine Commit Compact Compare Compose Compress Compute Configure
    Connect Continue Convert Create Decide Declare Decode Decompress Define Delete Do Download Draw Drop Edit Embed
    Encode Enlarge Ensure Erase Escape Evaluate Examine Exclude Exit Expand Extend Extract Fetch Fill Find Finish Fit
    Flatten Flush Follow Forget Format Generalise Give Go Hand Have Ignore Include Inline Insert Install Join Judge Keep
    Kill Learn Leave Lend Let Load Make Measure Merge Migrate Move Normalise Notify Overwrite Parse Partition Pass Place
    Predict Prepare Print Promote Propose Prune Publish Purge Put Raise Re-embed Rebuild Receive Refine Refuse Register
    Reindex Reject Release Reload Remember Remove Rename Renew Reopen Repeat Replace Replay Rescale Reserve Reset
    Resolve Restore Restrict Resume Retire Retrieve Return Reverse Revert Revoke Rewrite Run Save Say See Select Send
    Serve Shorten Show Sign Skip Sort Stop Submit Summarise Take Tell Translate Truncate Try Turn Undo Unpack Validate
    Verify Visit Wait Walk Warn Wrap Yield Zoom
""")
"""Verbs that a function's docstring may begin with, and a field's may not."""

VERBS_AND_NOUNS = words_of("""
    Cache Call Change Check Copy Count Cut Empty End Estimate Export Filter Group Hold Import Increase Index Label
    Limit Link List Lock Log Look Map Mark Match Name Note Open Plan Rate Read Record Report Scan Score Search Set
    Split Start Store Switch Test Update Use Write
""")
"""Verbs that are nouns too: either may begin with one."""

NO_OPENING = {"That", "Those", "What", "Whatever", "Whether"}
PROPERTIES = {"property", "cached_property", "setter"}

PACKAGES = ("atlas", "pages")

Documented = tuple[ast.AST, str, int]
"""A function, class, field (its assignment) or module, its docstring, and its line."""


def test_docstrings_begin_as_the_rule_says_and_their_args_are_parameters():
    files = [REPOSITORY / "app.py", *sorted(path for top in PACKAGES for path in (REPOSITORY / top).rglob("*.py"))]
    assert [offence for path in files for offence in offences_in(path)] == []


def is_data(path: Path) -> bool:
    return path.name != "loader.py" and path.relative_to(REPOSITORY).as_posix().startswith(AS_DATA)


def offences_in(path: Path) -> Iterator[str]:
    """Yield a line for each docstring of a file that breaks the rule."""
    for node, text, line in documented(ast.parse(path.read_text(encoding="utf-8"))):
        first = text.strip().partition("\n")[0]
        found = [] if is_data(path) else [f"{fault}: {first}" for fault in faults(node, text, first)]
        for fault in (*found, *unknown_args(node, text)):
            yield f"{path.relative_to(REPOSITORY)}:{line}: {fault}"


def faults(node: ast.AST, text: str, first: str) -> Iterator[str]:
    """Yield what is wrong with the docstring of a node."""
    word = first_word(first)
    if ";" in re.sub(r"`[^`]*`", "", first):
        yield "semicolon in the first line"
    if re.search(r"\banew\b", text):
        yield "anew"
    if word in NO_OPENING:
        yield "opens with a clause"
    elif is_function(node):
        if word not in VERBS | VERBS_AND_NOUNS:
            yield "no verb first (a verb that is missing in VERBS may be added)"
    elif word in VERBS and not isinstance(node, ast.Module):
        yield "no noun phrase"


def unknown_args(node: ast.AST, text: str) -> Iterator[str]:
    """Yield a fault for each name below `Args:` that is no parameter of its function."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        parameters = {parameter.arg for parameter in ast.walk(node.args) if isinstance(parameter, ast.arg)}
        yield from (f"no parameter {name}" for name in described_args(text) if name not in parameters)


def described_args(text: str) -> list[str]:
    section = re.search(r"^Args:\n((?:(?: .*)?\n)*)", f"{text}\n", re.MULTILINE)
    return re.findall(r"^    \**(\w+):", section[1], re.MULTILINE) if section else []


def first_word(text: str) -> str:
    return re.split(r"[\s,.:;]", text, maxsplit=1)[0]


def is_function(node: ast.AST) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    decorators = {ast.unparse(decorator).rpartition(".")[2] for decorator in node.decorator_list}
    return not decorators & PROPERTIES


def documented(tree: ast.AST) -> Iterator[Documented]:
    """Yield whatever has a docstring; that of a field or constant stands right below its assignment."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node, text, getattr(node, "lineno", 1)
        if isinstance(node, ast.Module | ast.ClassDef):
            for before, after in zip(node.body, node.body[1:], strict=False):
                text = string_of(after)
                if text and isinstance(before, ast.Assign | ast.AnnAssign):
                    yield before, text, before.lineno


def string_of(node: ast.stmt) -> str | None:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return node.value.value
    return None
