"""Summaries of attempts and programs in a few lines, without a model."""

from __future__ import annotations

import ast
import io
import re
import textwrap
import tokenize
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

from atlas.core.types import Step, Trajectory
from atlas.learning.terms.parsing import try_parse
from atlas.memory.strategies.induction.slots import TEXT_CHARACTERS, parse_call

MAX_LINES = 12
MAX_LINES_READ = 200
"""Maximum number of lines, from the start and end of an attempt, that are compared with each other."""

LINE_CHARACTERS = 240
MAX_LESSONS = 3
MAX_REFLECTIONS = 30
MAX_MISTAKES = 2
"""Maximum number of mistakes from reflections. Later reflections often correct earlier ones."""

MIN_COMMON_WORDS = 0.6
"""Minimum share of common words in near-duplicate lessons."""

MIN_WORDS = 5
"""Minimum number of words of a statement."""

PROSE_WORDS = 6
"""Minimum number of words of a tool's argument that is prose rather than a value."""

MAX_PROGRAM_CHARACTERS = 20_000
"""Maximum length of a program to read."""

QUOTED_CHARACTERS = 600
"""Maximum length of a quoted program. Longer programs are described by their comments and calls."""

MAX_COMMENTS = 6
MAX_NAMES = 8
MIN_COMMENT_WORDS = 3

_COMMON_CALLS = frozenset(
    """
    abs add append bool dict enumerate extend float format get int isinstance items join keys len list lower max min
    pop print range set split str strip sum tuple upper values zip
    """.split()  # noqa: SIM905  (a list of it would fill the page)
)
"""Names that nearly every program calls, so that they do not describe a program."""

_PROGRAM_STATEMENTS = (ast.Assign, ast.AugAssign, ast.For, ast.Import, ast.ImportFrom, ast.Return, ast.While, ast.With)
"""Types of statements that occur in programs, but hardly in prose that parses as Python."""

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z{\"'“*\d-])|\n+")
_PLEASANTRY = re.compile(
    r"(?:you['’]re welcome|thank you|thanks|sure|certainly|of course|great|no problem|understood|have a |feel free|"
    r"i['’]m (?:glad|here|sorry|happy)|i (?:can|am here to|will) (?:certainly )?(?:help|assist)|i (?:hope|understand)|"
    r"if (?:you have|you need|there['’]s|there is)|please (?:let me know|feel free)|is there anything|safe travels|"
    r"goodbye|take care|i have (?:retrieved|found)|here (?:are|is)|let me )",
    re.IGNORECASE,
)
_LABEL = re.compile(r"[\w ()]{1,30}: ")
_MARKUP = re.compile(r"\*\*|^#+ |^[-*] |^\d+\. ", re.MULTILINE)
_DECISIVE = re.compile(r"\b(?:unfortunately|cannot|can't|not|only|must|policy|eligible|successfully)\b", re.IGNORECASE)
_MISTAKE = re.compile(
    r"^(?:The|This|My) (?:\w+ )?(?:implementation|code|solution|function|approach)\b"
    r"(?: of (?:the )?\S+(?: function)?)? (?:is|was) (?:\w+ )?(?:incorrect|wrong|flawed|incomplete),?\s*"
    r"(?:(?:because|as|since)\s+)?"
)
_ADVICE = re.compile(
    r"\b(?:should have|next (?:time|trial|attempt)|I will|did not help|(?:correct|right) (?:approach|formula|way))\b",
    re.IGNORECASE,
)


def describe_steps(trajectory: Trajectory, generalise: Callable[[str], str]) -> list[str]:
    """Return the steps of an attempt as lines: called tools, statements and questions, in order.

    The middle of a long attempt is left out.
    """
    steps = [step for step in trajectory.steps if "\n" not in step.action.strip() or _is_message(step)]
    lines = [line for line in (_describe_step(step, generalise) for step in steps) if line]
    counted_lines = [_with_count(line, len([*repetitions])) for line, repetitions in groupby(lines)]
    n_unread = max(len(counted_lines) - MAX_LINES_READ, 0)
    if n_unread:
        counted_lines = [*counted_lines[: MAX_LINES_READ // 2], *counted_lines[-MAX_LINES_READ // 2 :]]
    distinct_lines = _drop_repeated_messages(counted_lines)
    if len(distinct_lines) > MAX_LINES:
        n_each_side = MAX_LINES // 2
        distinct_lines = [
            *distinct_lines[:n_each_side],
            f"… {len(distinct_lines) - 2 * n_each_side + n_unread} more steps …",
            *distinct_lines[-n_each_side:],
        ]
    return distinct_lines


def find_reflections(trajectory: Trajectory) -> list[str]:
    """Return the agent's latest reflections on earlier tries. These are the thoughts of steps without an action."""
    thoughts = [step.thought.strip() for step in trajectory.steps if not step.action.strip()]
    return [thought[:TEXT_CHARACTERS] for thought in thoughts if thought][-MAX_REFLECTIONS:]


def find_feedback(trajectory: Trajectory, generalise: Callable[[str], str]) -> list[str]:
    """Return the feedback on the attempt, without the agent's own reflections."""
    feedback = str(trajectory.metadata.get("feedback", "") or "").strip()
    if not feedback or find_reflections(trajectory):
        return []
    return [f"What was said of it: “{_truncate(generalise(' '.join(sentences(feedback[:TEXT_CHARACTERS])[:2])))}”"]


def find_mistakes(trajectory: Trajectory, generalise: Callable[[str], str]) -> list[str]:
    """Return the distinct mistakes that the attempt's reflections name, latest first."""
    mistakes = []
    for thought in reversed(find_reflections(trajectory)):
        first_sentence = sentences(thought)[0]
        remainder, n_removed = _MISTAKE.subn("", first_sentence, count=1)
        if n_removed and remainder:
            is_clause = remainder.startswith(("when ", "due to ", "for "))
            reason = remainder if is_clause else f"because {remainder[0].lower()}{remainder[1:]}"
            mistakes.append(_truncate(generalise(reason)))
    return _drop_near_duplicates(mistakes)[:MAX_MISTAKES]


def find_advice(trajectory: Trajectory, generalise: Callable[[str], str]) -> list[str]:
    """Return the sentences with advice in the latest reflection."""
    thoughts = find_reflections(trajectory)
    advice = [sentence for sentence in sentences(thoughts[-1]) if _ADVICE.search(sentence)] if thoughts else []
    return _drop_near_duplicates([_truncate(generalise(sentence)) for sentence in advice])[:MAX_LESSONS]


def find_program(trajectory: Trajectory) -> str:
    """Return the program of an attempt: its last action with several lines, or an empty string."""
    return next((step.action for step in reversed(trajectory.steps) if "\n" in step.action.strip()), "")


def is_program(code: str) -> bool:
    """Return whether a text is a Python program, or the body of a function."""
    return _parse_program(code) is not None


def program_gist(code: str) -> str:
    """Return the parts of a program that show its purpose, or an empty string if the text is not a program.

    A short program is returned without comments and docstrings. For a longer program, its comments and calls are
    returned, or else its beginning.
    """
    tree = _parse_program(code)
    if tree is None:
        return ""
    called_functions = _called_functions(tree)
    try:
        code_without_comments = ast.unparse(_strip_docstrings(tree))
    except RecursionError:
        return ""
    if len(code_without_comments) <= QUOTED_CHARACTERS:
        return textwrap.dedent(code_without_comments.removeprefix("def program():\n"))
    call_sentences = (
        [f"It uses {', '.join(f'`{name}`' for name in called_functions[:MAX_NAMES])}."] if called_functions else []
    )
    if gist := "\n".join([*_comments(code), *call_sentences]):
        return gist
    beginning = code_without_comments[:QUOTED_CHARACTERS].rpartition("\n")[0]
    return f"{beginning}\n…"


def sentences(text: str) -> list[str]:
    """Return the sentences of a text, or one empty sentence if there are none."""
    candidates = [" ".join(sentence.split()) for sentence in _SENTENCE.split(_MARKUP.sub("", text).strip())]
    return [sentence for sentence in candidates if sentence] or [""]


def _describe_step(step: Step, generalise: Callable[[str], str]) -> str:
    """Return a line that describes a step: its tool call, command or message. Empty for a step without an action."""
    call = parse_call(step.action)
    if call is not None:
        return _describe_call(*call, generalise)
    if not step.action.strip():
        return ""
    if not _is_message(step):
        return f"Run `{_truncate(step.action.split()[0], 60)}`."
    return _describe_message(
        [sentence for sentence in sentences(step.action[:TEXT_CHARACTERS]) if _is_about_task(sentence)], generalise
    )


def _describe_message(sentences: Sequence[str], generalise: Callable[[str], str]) -> str:
    """Return a line with the decisive statement and the first question of a message."""
    question_index = next((index for index, sentence in enumerate(sentences) if sentence.endswith("?")), None)
    statements = [sentence for sentence in sentences if not sentence.endswith("?")]
    decisive = next((sentence for sentence in statements if _DECISIVE.search(sentence)), "")
    statement = decisive
    if statements and question_index is None and not decisive:
        statement = statements[0]
    if question_index and not statement and len(sentences[question_index].split()) <= PROSE_WORDS + 2:
        statement = sentences[question_index - 1]
    phrases = [f"Say: “{_truncate(generalise(statement))}”"] if statement else []
    if question_index is not None:
        phrases.append(f"Ask: “{_truncate(generalise(sentences[question_index]))}”")
    return " ".join(phrases)


def _is_about_task(sentence: str) -> bool:
    """Return whether a sentence is about the task, rather than a courtesy, list item or heading."""
    is_listed = sentence.endswith(":") or _LABEL.match(sentence) is not None or len(sentence.split()) < MIN_WORDS
    return sentence.endswith("?") or not (is_listed or _PLEASANTRY.match(sentence))


def _is_message(step: Step) -> bool:
    """Return whether an action is a message to or from a user."""
    if str(step.metadata.get("observation_from", "")).startswith("user"):
        return True
    words = step.action.split()
    return len(words) >= PROSE_WORDS and step.action.strip()[:1].isupper() and words[0].isalpha()


def _describe_call(name: str, arguments: dict[str, Any], generalise: Callable[[str], str]) -> str:
    line = f"Call `{name}({', '.join(_format_argument(key, value) for key, value in arguments.items())})`"
    prose = next((value for value in arguments.values() if _is_prose(value)), None)
    if prose is None:
        return f"{line}."
    return f"{line}: “{_truncate(generalise(sentences(prose)[0]))}”"


def _is_prose(value: Any) -> bool:
    return isinstance(value, str) and len(re.findall(r"\b[a-z]+\b", value)) >= PROSE_WORDS


def _format_argument(name: str, value: Any) -> str:
    """Return an argument's name, with its value if that looks like a choice: `cabin='economy'`, `insured=True`."""
    is_choice = isinstance(value, str) and re.fullmatch(r"[a-z]+(?:[_ -][a-z]+)*", value)
    return f"{name}={value!r}" if is_choice or isinstance(value, bool) else name


def _with_count(line: str, n_times: int) -> str:
    return line if n_times == 1 else f"{line.removesuffix('.')} {n_times} times."


def _drop_near_duplicates(texts: Iterable[str]) -> list[str]:
    """Return the texts without empty ones and near-duplicates of earlier ones."""
    distinct_texts: list[str] = []
    for text in texts:
        if text and not any(_are_near_duplicates(text, earlier_text) for earlier_text in distinct_texts):
            distinct_texts.append(text)
    return distinct_texts


def _are_near_duplicates(text: str, other_text: str) -> bool:
    words = set(re.findall(r"\w+", text.lower()))
    other_words = set(re.findall(r"\w+", other_text.lower()))
    return len(words & other_words) >= MIN_COMMON_WORDS * min(len(words), len(other_words))


def _drop_repeated_messages(lines: Sequence[str]) -> list[str]:
    """Return the distinct lines. Messages that nearly repeat an earlier message are left out."""
    messages = [line for line in lines if line.startswith(("Say", "Ask"))]
    distinct_messages = set(_drop_near_duplicates(messages))
    return list(dict.fromkeys(line for line in lines if line in distinct_messages or line not in messages))


def _truncate(text: str, max_characters: int = LINE_CHARACTERS) -> str:
    return text if len(text) <= max_characters else f"{text[: max_characters - 1].rstrip()}…"


def _parse_program(code: str) -> ast.Module | None:
    """Return the syntax tree of a program or a function's body, or None if the code does not parse or does nothing."""
    if len(code) > MAX_PROGRAM_CHARACTERS:
        return None
    for text in (code, f"def program():\n{textwrap.indent(textwrap.dedent(code), '    ')}"):
        tree = try_parse(text)
        if tree is not None:
            return tree if any(isinstance(node, _PROGRAM_STATEMENTS) for node in ast.walk(tree)) else None
    return None


def _strip_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module) and len(node.body) > 1:
            first = node.body[0]
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                del node.body[0]
    return tree


def _comments(code: str) -> list[str]:
    """Return the first distinct comments of a program."""
    try:
        tokens = [*tokenize.generate_tokens(io.StringIO(textwrap.dedent(code)).readline)]
    except (tokenize.TokenError, SyntaxError):
        return []
    comments = [token.string.lstrip("# ").strip() for token in tokens if token.type == tokenize.COMMENT]
    return [*dict.fromkeys(comment for comment in comments if len(comment.split()) >= MIN_COMMENT_WORDS)][:MAX_COMMENTS]


def _called_functions(tree: ast.Module) -> list[str]:
    """Return the distinct functions that a program calls, in order, without common functions and its own."""
    own_functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    modules = {alias.asname or alias.name for node in imports for alias in node.names}
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    calls.sort(key=lambda node: (node.end_lineno or 0, node.end_col_offset or 0))
    names = dict.fromkeys(_function_name(node, modules) for node in calls)
    return [name for name in names if name and name.lstrip(".") not in _COMMON_CALLS and name not in own_functions]


def _function_name(node: ast.Call, modules: set[str]) -> str:
    """Return the name of a called function. The object before a method is left out, unless it is a module."""
    target = node.func
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Attribute):
        owner = target.value.id if isinstance(target.value, ast.Name) and target.value.id in modules else ""
        return f"{owner}.{target.attr}"
    return ""
