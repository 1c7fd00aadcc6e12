"""Secrets in texts: each is replaced by its kind, and counted.

Only secrets of a known format, or under a telltale name, are found.
"""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar

from atlas.core.types import CodeConcept, JournalEntry, Strategy, Task, Trajectory, Turn, VerificationSpec

logger = logging.getLogger(__name__)

Scrubbable = Trajectory | JournalEntry | Strategy | CodeConcept | Turn
T = TypeVar("T", bound=Scrubbable)
V = TypeVar("V")

HOME = "home directories"
"""Kind of home directories. Not secret, but imports of logs shorten them, because they contain a user's name."""

_KEY_SHAPES = (
    r"sk-(?=[A-Za-z0-9_-]{0,200}?(?<=[_-])(?=[A-Za-z0-9]{8})(?=\d{0,200}[A-Za-z])[A-Za-z]{0,200}\d)"
    r"[A-Za-z0-9_-]{16,200}",  # a part has both letters and digits, unlike package names
    r"[sp]k-lf-[A-Za-z0-9-]{8,80}",
    r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,200}",
    r"(?:AKIA|ASIA)[A-Z0-9]{16}",
    r"AIza[A-Za-z0-9_-]{30,60}",
    r"gsk_[A-Za-z0-9]{20,100}",
    r"xai-[A-Za-z0-9]{20,200}",
    r"SG\.[A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{20,80}",
    r"atlas_[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])",
)
_TOKEN_SHAPES = (
    r"gh[pousr]_[A-Za-z0-9]{20,255}",
    r"github_pat_[A-Za-z0-9_]{20,255}",
    r"glpat-[A-Za-z0-9_-]{16,100}",
    r"xox[abeoprs]-[A-Za-z0-9-]{10,250}",
    r"hf_[A-Za-z0-9]{20,100}",
    r"npm_[A-Za-z0-9]{30,60}",
    r"pypi-[A-Za-z0-9_-]{30,400}",
    r"ya29\.[A-Za-z0-9_-]{20,400}",
    r"eyJ[A-Za-z0-9_-]{8,4000}\.eyJ[A-Za-z0-9_-]{4,8000}\.[A-Za-z0-9_-]{4,2000}",
)
_NAMES = (
    r"api[_-]?key|(?:access|auth|refresh|session|github|gitlab|id)[_-]?token|client[_-]?secret|secret[_-]?key"
    r"|secret[_-]?access[_-]?key|private[_-]?key"
)
_QUOTES = r"[\\\"']{0,4}+"
_SEPARATOR = rf"{_QUOTES}\s{{0,3}}+[:=]\s{{0,3}}+{_QUOTES}"
_NO_PATH = r"(?![/~.]|[A-Za-z]:[\\/])"
_NO_NUMBER = r"(?!\d(?:[./-]?\d){0,8}(?![A-Za-z0-9_./+~!@#$%^&*=-]{0,200}[A-Za-z0-9_]))"
"""Condition that no number of fewer than ten digits follows, such as a count or a date."""

_PASSWORDS = rf"passwd|password|passphrase|pwd(?={_SEPARATOR}{_NO_PATH})"
"""Names of passwords. `pwd` before a path is the working directory instead."""

_ASSIGNMENT = (
    rf"(?:{_NAMES}|{_PASSWORDS}){_SEPARATOR}"
    rf"|(?:secret|token){_QUOTES}\s{{0,3}}+(?:=\s{{0,3}}+{_QUOTES}|:\s{{0,3}}+(?:[\\\"']{{1,4}}+|{_NO_NUMBER}))"
)
_VARIABLE = r"\$(?:\{|(?-i:[A-Z_][A-Z0-9_]{1,100})(?![A-Za-z0-9_./+~!@#$%^&*=-]))"
_ATTRIBUTE = r"(?-i:[a-z_]{1,30}(?:\.[a-z_][a-z0-9_]{0,30}){1,9})(?![A-Za-z0-9_./+~!@#$%^&*=-])"
_WORDS = r"string|str|text|none|null|true|false|required|optional|missing|invalid|redacted|hidden"
"""Common placeholders for a secret."""

_AZURE_NAMES = r"(?:account|storage|shared[ _-]?access)[ _-]?key"
_NAME = r"[^\s/\\\"'<>:|*?,;)\]]{1,100}"


@dataclass(frozen=True, slots=True)
class SecretKind:
    """A kind of secret, with its pattern and placeholder."""

    name: str
    cues: tuple[str, ...]
    """Lower-case substrings, searched first, for speed. Every text with such a secret contains one of them."""

    pattern: str
    """Regular expression, compiled and cached by `re` when a text first contains a cue."""

    placeholder: str


KINDS = (
    SecretKind(
        "private keys",
        ("private key",),
        (
            r"-----BEGIN (?P<of>[A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?)-----"
            r"(?:(?:[^-]|-(?!----)){1,20000}-----END (?P=of)-----"
            r"|(?:\s|\\[nr]){0,9}(?:[A-Za-z0-9+/=]{40,100}(?:\s|\\[nr]){0,9}){1,400})"
        ),
        "[private key]",
    ),
    SecretKind(
        "passwords in addresses",
        ("://",),
        r"(?i)\b([a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]{0,200}):(?!\[password\])[^\s/@\"'<>]{1,500}@",
        r"\1:[password]@",
    ),
    SecretKind(
        "bearer headers",
        ("bearer", "authorization"),
        (
            rf"(?i)\b(Authorization{_SEPARATOR}(?:Bearer|Basic|Token)"
            r"|Bearer(?=\s{1,5}+(?:[A-Za-z._~+/=-]{0,200}\d|[A-Za-z0-9]{24})))"
            r"\s{1,5}(?!\[)[A-Za-z0-9._~+/=-]{8,8000}"
        ),
        r"\1 [token]",
    ),
    SecretKind(
        "API keys",
        ("sk-", "k-lf-", "k_live_", "k_test_", "akia", "asia", "aiza", "gsk_", "xai-", "sg.", "atlas_"),
        r"(?<![A-Za-z0-9_-])(?:" + "|".join(_KEY_SHAPES) + r")",
        "[API key]",
    ),
    SecretKind(
        "addresses with secrets",
        ("hooks.slack.com",),
        r"(https://hooks\.slack\.com/(?:services|workflows|triggers)/)(?!\[)[A-Za-z0-9_/-]{10,200}",
        r"\1[secret]",
    ),
    SecretKind(
        "tokens",
        ("gh", "glpat-", "xox", "hf_", "npm_", "pypi-", "ya29.", "eyj"),
        r"(?<![A-Za-z0-9_-])(?:" + "|".join(_TOKEN_SHAPES) + r")",
        "[token]",
    ),
    SecretKind("tokens", (":aa",), r"(?<!\d)\d{8,10}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])", "[token]"),
    SecretKind(
        "Azure keys",
        ("key",),
        r"(?i)(" + _AZURE_NAMES + r"[\\\"' ]{0,4}[:=]?[\\\"' ]{0,4})[A-Za-z0-9+/]{40,120}={0,2}",
        r"\1[secret]",
    ),
    SecretKind(
        "Azure keys",
        ("==",),
        (
            r"(?i)((?:azure|account[ _-]?(?:name|key)|storage[ _-]?(?:account|key)|\.core\.windows\.net)"
            r"(?:[^\n]|\n(?!\n)){0,200}?(?<![A-Za-z0-9+/-]))[A-Za-z0-9+/]{86}==(?![A-Za-z0-9+/=])"
        ),
        r"\1[secret]",
    ),
    SecretKind(
        "named secrets",
        ("key", "token", "secret", "passw", "passphrase", "pwd"),
        (
            rf"(?i)({_ASSIGNMENT})(?=[A-Za-z0-9_./+~!@#$%^&*-]{{0,200}}\d)(?!{_VARIABLE}|(?<![\\\"']){_ATTRIBUTE})"
            r"[A-Za-z0-9_./+~!@#$%^&*=-]{8,500}+(?![(\[])"
        ),
        r"\1[secret]",
    ),
    SecretKind(
        "named secrets",
        ("passw", "passphrase", "pwd"),
        (
            r"((?:(?<![A-Za-z0-9])(?:[A-Z0-9]{1,40}_){0,6}(?:PASSWORD|PASSWD|PASSPHRASE|PWD(?="
            + rf"={_QUOTES}{_NO_PATH}))=[\\\"']{{0,4}})"
            r"|(?i:[\\\"'](?:[a-z0-9]{1,40}[_-]){0,6}(?:"
            + _PASSWORDS
            + r")[\\]{0,2}[\"']\s{0,3}:\s{0,3}[\\]{0,2}[\"']))"
            rf"(?![\[$<{{*%]|(?i:{_WORDS})(?:[\s\\\"'<>]|$))[^\s\\\"'<>]{{6,500}}"
        ),
        r"\1[secret]",
    ),
    SecretKind(
        HOME,
        ("/home/", "/users/", ":\\", ":/users", "/root"),
        r"(?<![\w.~-])(?:(?:/home/|/Users/|[A-Za-z]:(?:\\{1,4}|/)Users(?:\\{1,4}|/))" + _NAME + r"|/root(?![\w.-]))",
        "~",
    ),
)
"""Kinds of secrets, in the order of matching."""

PLACEHOLDERS = ("[secret]", "[token]", "[API key]", "[private key]")
"""Placeholders that replace a whole secret."""

_COUNT_DIGITS = 5
"""Maximum digits of a number that is taken for a count, under any key."""

_SECRET_NAME = re.compile(
    rf"(?:^|[_.-])(?:{_NAMES}|passwd|password|passphrase|pwd|secret|authorization)$|^token$|accessKey$", re.IGNORECASE
)
_WORD_NAME = re.compile(r"(?:secret|token)", re.IGNORECASE)
"""Keys that a task may use for ordinary words. A value under such a key is only a secret if it looks like one."""

_SECRET_LOOK = re.compile(r"(?=\S*\d)(?=\S*[A-Za-z])\S{8,}")
_PATH_NAME = re.compile(r"(?:^|[_.-])pwd$", re.IGNORECASE)
_PATH = re.compile(r"[/~.]|[A-Za-z]:[\\/]")
_PLACEHOLDER = re.compile(rf"(?i:{_WORDS})|<.*>|\$\{{.*\}}|\$[A-Z_][A-Z0-9_]*|\{{\{{.*\}}\}}|\*+", re.DOTALL)
_AZURE_NAME = re.compile(rf"{_AZURE_NAMES}$", re.IGNORECASE)
_AZURE_KEY = re.compile(r"[A-Za-z0-9+/]{40,120}={0,2}")

SCRUBBED_FIELDS: Mapping[type[Scrubbable], tuple[str, ...]] = {
    Trajectory: ("task", "steps", "outcome", "agent_id", "metadata"),
    JournalEntry: ("content", "metadata"),
    Turn: ("user_text", "response", "metadata"),
    Strategy: ("title", "situation", "suggestion", "parameters", "rationale", "metadata"),
    CodeConcept: ("description", "guidance"),
}
"""Fields that are scrubbed. A concept's code and examples are not, because they are run to prove it."""

TESTS = ("test", "tests", "test_list", "test_setup_code")
"""Keys of a task's context and verification that are not scrubbed, because they are run to prove its solution."""

_CUES = tuple(dict.fromkeys(cue for kind in KINDS for cue in kind.cues))

_counters: ContextVar[tuple[Counter[str], ...]] = ContextVar("atlas_secrets", default=())


@contextmanager
def counting_secrets() -> Iterator[Counter[str]]:
    """Yield a counter of the secrets that writes in the block replace, keyed by kind. The counts grow during the block.

    Threads and tasks of the block are included if they inherit its context, like async twins.
    """
    counter = Counter[str]()
    token = _counters.set((*_counters.get(), counter))
    try:
        yield counter
    finally:
        _counters.reset(token)


def describe_counts(counts: Mapping[str, int]) -> str:
    """Return a sentence such as `Secrets replaced: API keys 1, tokens 2.`, or an empty string."""
    kinds = ", ".join(f"{kind} {n:,}" for kind, n in sorted(counts.items()))
    return f"Secrets replaced: {kinds}." if kinds else ""


def report_counts(counts: Mapping[str, int]) -> None:
    """Add replaced secrets to the counters of this context, and log their number."""
    if counts:
        logger.info("%s", describe_counts(counts))
    for counter in _counters.get():
        counter.update(counts)


def scrub_text(text: str, counts: Counter[str], *, homes: bool = True) -> str:
    """Return the text with secrets replaced, and count them by kind in `counts`.

    Args:
        homes: Whether to shorten home directories too.
    """
    lowered = text.lower()
    if not any(map(lowered.__contains__, _CUES)):  # as most texts
        return text
    for kind in KINDS:
        if any(cue in lowered for cue in kind.cues) and (homes or kind.name != HOME):
            text, n_found = re.subn(kind.pattern, kind.placeholder, text)
            if n_found:
                counts[kind.name] += n_found
    return text


def scrub_value(value: Any, counts: Counter[str], *, homes: bool = True) -> Any:
    """Return a JSON value or dataclass with secrets replaced. A value may be recognised as a secret by its key."""
    if isinstance(value, str):
        return scrub_text(value, counts, homes=homes)
    if isinstance(value, list | tuple):
        items = [scrub_value(item, counts, homes=homes) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    if isinstance(value, Mapping):
        return {
            scrub_value(key, counts, homes=homes): _scrub_member(key, item, counts, homes)
            for key, item in value.items()
        }
    if is_dataclass(value) and not isinstance(value, type):
        return _scrub_fields(value, [part.name for part in fields(value)], counts, homes)
    return value


def scrub_record(item: T, counts: Counter[str], *, homes: bool = True) -> T:
    """Return a record with secrets replaced, or the same record if it has none. Ids and times are not changed."""
    new_counts = Counter[str]()
    names = next(names for kind, names in SCRUBBED_FIELDS.items() if isinstance(item, kind))
    try:
        scrubbed: T = _scrub_fields(item, names, new_counts, homes)
    except RecursionError:
        return item  # the ledger rejects such deep nesting
    counts.update(new_counts)
    return scrubbed if new_counts else item


def replace_secrets(value: V) -> V:
    """Return a record or a value with secrets replaced. `counting_secrets` counts them."""
    counts = Counter[str]()
    if isinstance(value, Scrubbable):
        scrubbed = scrub_record(value, counts, homes=False)
    else:
        scrubbed = _scrub_unless_too_deep(value, counts)
    report_counts(counts)
    return scrubbed


def _scrub_unless_too_deep(value: Any, counts: Counter[str]) -> Any:
    """Return a value with secrets replaced, or unchanged if it is nested too deeply."""
    try:
        return scrub_value(value, counts, homes=False)
    except RecursionError:
        return value  # as above


def _scrub_fields(item: Any, names: Sequence[str], counts: Counter[str], homes: bool) -> Any:
    """Return a dataclass with secrets replaced in some fields, except in the tests of a task."""
    values = {name: getattr(item, name) for name in names}
    tests = _test_fields(item)
    for name, tests_of_field in tests.items():
        values[name] = {key: value for key, value in values[name].items() if key not in tests_of_field}
    scrubbed = scrub_value(values, counts, homes=homes)
    for name, tests_of_field in tests.items():
        scrubbed[name] = {**scrubbed[name], **tests_of_field}
    return replace(item, **scrubbed)


def _test_fields(item: Any) -> dict[str, dict[str, Any]]:
    """Return the tests in the context of a task, or in the parameters of a verification, keyed by field."""
    field_names = {Task: "context", VerificationSpec: "parameters"}
    name = next((name for kind, name in field_names.items() if isinstance(item, kind)), "")
    mapping = getattr(item, name) if name else None
    if not isinstance(mapping, Mapping):
        return {}
    tests = {key: mapping[key] for key in TESTS if key in mapping}
    return {name: tests} if tests else {}


def _scrub_member(key: Any, value: Any, counts: Counter[str], homes: bool) -> Any:
    """Return the value of a key with secrets replaced. The key may mark the whole value as a secret."""
    if isinstance(value, list | tuple):
        items = [_scrub_member(key, item, counts, homes) for item in value]
        return tuple(items) if isinstance(value, tuple) else items
    if not _is_secret(key, value):
        return scrub_value(value, counts, homes=homes)
    counts["named secrets"] += 1
    return "[secret]"


def _is_secret(key: Any, value: Any) -> bool:
    """Return whether a key marks its value as a secret. A small number is a count, such as of tokens."""
    if not isinstance(key, str) or not value or isinstance(value, Mapping | bool) or value in PLACEHOLDERS:
        return False
    if isinstance(value, str) and _AZURE_NAME.search(key) and _AZURE_KEY.fullmatch(value):
        return True
    if isinstance(value, int | float) and len(str(value)) <= _COUNT_DIGITS:
        return False
    return _SECRET_NAME.search(key) is not None and not _is_ordinary(key, str(value))


def _is_ordinary(key: str, text: str) -> bool:
    """Return whether a value under a secret's name is a word, a working directory, or a reference to a secret."""
    if _WORD_NAME.fullmatch(key):
        return not _SECRET_LOOK.fullmatch(text)
    return bool(_PLACEHOLDER.fullmatch(text) or (_PATH_NAME.search(key) and _PATH.match(text)))
