"""Secrets in what people's logs hold: each is replaced by its kind, and counted.

Nothing can find every secret. What is found is what has a known shape, or a name that says what it is.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import Any

from atlas.core.codec import decode_trajectory, encode_trajectory
from atlas.core.types import JournalEntry, Trajectory

HOME = "home directories"

_KEY_SHAPES = (
    r"sk-[A-Za-z0-9_-]{16,200}",
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
_PASSWORDS = r"passwd|password|passphrase|pwd"
_NAME = r"[^\s/\\\"'<>:|*?,;)\]]{1,100}"
_PATTERNS: tuple[tuple[str, re.Pattern[str], str], ...] = (
    (
        "private keys",
        re.compile(
            r"-----BEGIN (?P<of>[A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?)-----"
            r"(?:(?:[^-]|-(?!----)){1,20000}-----END (?P=of)-----"
            r"|(?:\s|\\[nr]){0,9}(?:[A-Za-z0-9+/=]{40,100}(?:\s|\\[nr]){0,9}){1,400})"
        ),
        "[private key]",
    ),
    (
        "passwords in addresses",
        re.compile(
            r"\b([a-z][a-z0-9+.-]{1,20}://[^\s/:@\"'<>]{0,200}):(?!\[password\])[^\s/@\"'<>]{1,500}@", re.IGNORECASE
        ),
        r"\1:[password]@",
    ),
    (
        "bearer headers",
        re.compile(
            r"\b(Bearer|(?<=Authorization: )(?:Basic|Token))\s{1,5}(?!\[)[A-Za-z0-9._~+/=-]{8,8000}", re.IGNORECASE
        ),
        r"\1 [token]",
    ),
    ("API keys", re.compile(r"(?<![A-Za-z0-9_-])(?:" + "|".join(_KEY_SHAPES) + r")"), "[API key]"),
    (
        "addresses with secrets",
        re.compile(r"(https://hooks\.slack\.com/(?:services|workflows|triggers)/)(?!\[)[A-Za-z0-9_/-]{10,200}"),
        r"\1[secret]",
    ),
    ("tokens", re.compile(r"(?<![A-Za-z0-9_-])(?:" + "|".join(_TOKEN_SHAPES) + r")"), "[token]"),
    (
        "named secrets",
        re.compile(
            r"((?:" + _NAMES + r"|" + _PASSWORDS + r"|secret|token)[\\\"']{0,4}\s{0,3}[:=]\s{0,3}[\\\"']{0,4})"
            r"(?=[A-Za-z0-9_./+~!@#$%^&*-]{0,200}\d)(?!\[)[A-Za-z0-9_./+~!@#$%^&*=-]{8,500}",
            re.IGNORECASE,
        ),
        r"\1[secret]",
    ),
    (
        "named secrets",
        re.compile(
            r"((?:(?<![A-Za-z0-9])(?:[A-Z0-9]{1,40}_){0,6}(?:PASSWORD|PASSWD|PASSPHRASE|PWD)=[\\\"']{0,4})"
            r"|(?i:[\\\"'](?:[a-z0-9]{1,40}[_-]){0,6}(?:"
            + _PASSWORDS
            + r")[\\]{0,2}[\"']\s{0,3}:\s{0,3}[\\]{0,2}[\"']))"
            r"(?![\[$<{*%])[^\s\\\"'<>]{6,500}",
        ),
        r"\1[secret]",
    ),
    (
        HOME,
        re.compile(
            r"(?<![\w.~-])(?:(?:/home/|/Users/|[A-Za-z]:(?:\\{1,4}|/)Users(?:\\{1,4}|/))" + _NAME + r"|/root(?![\w.-]))"
        ),
        "~",
    ),
)
"""Kinds of secrets, in the order in which they are looked for, and what takes their place."""

_COUNT_DIGITS = 5
"""Digits up to which a number is a count, whatever its name."""

_SECRET_NAME = re.compile(
    rf"(?:^|[_.-])(?:{_NAMES}|{_PASSWORDS}|secret|authorization)$|^token$|accessKey$", re.IGNORECASE
)


def scrubbed_text(text: str, found: Counter[str]) -> str:
    """Return the text without secrets, and count them by kind in `found`."""
    for kind, pattern, instead in _PATTERNS:
        text, n_found = pattern.subn(instead, text)
        if n_found:
            found[kind] += n_found
    return text


def scrubbed_value(value: Any, found: Counter[str]) -> Any:
    """Return a JSON value without secrets, those that only its keys give away among them."""
    if isinstance(value, str):
        return scrubbed_text(value, found)
    if isinstance(value, list | tuple):
        return [scrubbed_value(item, found) for item in value]
    if isinstance(value, dict):
        return {scrubbed_text(key, found): _member(key, item, found) for key, item in value.items()}
    return value


def scrubbed(item: Trajectory | JournalEntry, found: Counter[str]) -> Trajectory | JournalEntry:
    """Return an attempt or an entry of a journal without secrets. Its id and its time stay."""
    if isinstance(item, Trajectory):
        return replace(decode_trajectory(scrubbed_value(encode_trajectory(item), found)), id=item.id)
    return replace(
        item,
        content=scrubbed_text(item.content, found),
        metadata=scrubbed_value(dict(item.metadata), found),
    )


def _member(key: str, value: Any, found: Counter[str]) -> Any:
    if not _SECRET_NAME.search(key):
        return scrubbed_value(value, found)
    if isinstance(value, list | tuple):
        return [_member(key, item, found) for item in value]
    is_long = len(str(value)) > _COUNT_DIGITS if isinstance(value, int | float) else bool(value)
    if isinstance(value, dict | bool) or not is_long:  # how many tokens, say
        return scrubbed_value(value, found)
    found["named secrets"] += 1
    return "[secret]"
