"""Detection of texts that are encoded in other texts, which conceals them from filters."""

from __future__ import annotations

import base64
import binascii
import codecs
import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote

MAX_DECODED = 2_000
"""Maximum number of parts of a text that are decoded. Most are ids and hashes."""

MAX_PAYLOADS = 50
"""Maximum number of readable texts that are returned."""

MAX_DEPTH = 3
"""Maximum number of nested encodings."""

MAX_CHARACTERS = 20_000
"""Maximum number of decoded characters of an encoded part."""

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}={0,2}")
_HEX = re.compile(r"\b(?:[0-9a-fA-F]{2}[ :]?){16,}")
_PERCENT = re.compile(r"(?:%[0-9a-fA-F]{2}){8,}")
_ESCAPES = re.compile(r"(?:\\u00[0-7][0-9a-fA-F]|\\x[0-7][0-9a-fA-F]|&#x?[0-9a-fA-F]{2,3};){8,}")
_ESCAPE = re.compile(r"\\u00([0-7][0-9a-fA-F])|\\x([0-7][0-9a-fA-F])|&#(x?)([0-9a-fA-F]{2,3});")
_WORD = re.compile(r"[A-Za-z]{2,}")


def find_payloads(text: str) -> Iterator[str]:
    """Yield the readable texts that are encoded in a text, as base64, hexadecimal digits or escaped characters."""
    readable_texts = (_find_readable(payload, MAX_DEPTH) for payload in islice(_decode(text), MAX_DECODED))
    yield from islice((readable for readable in readable_texts if readable is not None), MAX_PAYLOADS)


def rot13(text: str) -> str:
    """Return a text in which the letters are rotated by 13 places."""
    return codecs.encode(text, "rot13")


def _decode(text: str) -> Iterator[str]:
    for match in _BASE64.finditer(text):
        yield _from_base64(match.group())
    for match in _HEX.finditer(text):
        digits = re.sub("[ :]", "", match.group())
        yield bytes.fromhex(digits[: 2 * MAX_CHARACTERS]).decode(errors="replace")
    for match in _PERCENT.finditer(text):
        yield unquote(match.group()[: 3 * MAX_CHARACTERS])
    for match in _ESCAPES.finditer(text):
        yield _ESCAPE.sub(_decode_character, match.group()[: 6 * MAX_CHARACTERS])


def _decode_character(match: re.Match[str]) -> str:
    """Return the character that a Unicode escape, a byte escape or an HTML character reference stands for."""
    unicode_digits, byte_digits, is_hex, number = match.groups()
    if number and not is_hex and not number.isdigit():
        return ""
    if number:
        return chr(int(number, 16 if is_hex else 10))
    return chr(int(unicode_digits or byte_digits, 16))


def _from_base64(encoded: str) -> str:
    digits = encoded.rstrip("=")[: MAX_CHARACTERS // 3 * 4].translate(str.maketrans("-_", "+/"))
    try:
        return base64.b64decode(digits + "=" * (-len(digits) % 4)).decode(errors="replace")
    except (binascii.Error, ValueError):
        return ""


def _find_readable(payload: str, depth: int) -> str | None:
    """Return a decoded text if it consists of words, or the readable text that is encoded in it, or None."""
    if not payload or not depth:
        return None
    if sum(c.isprintable() or c in "\n\t" for c in payload) < 0.95 * len(payload) or "\ufffd" in payload:
        return None
    for nested in _decode(payload):
        if (readable := _find_readable(nested, depth - 1)) is not None:
            return readable
    words = _WORD.findall(payload)
    is_prose = len(words) > 2 and " " in payload.strip() and sum(map(len, words)) > 0.5 * len(payload)
    return payload if is_prose else None
