"""Voyager skill libraries: a JSON object of JavaScript functions and their descriptions, imported as concepts.

Voyager describes a skill by a function with a comment. The comment becomes the description, and the
function's head the signature.

Source:
    https://github.com/MineDojo/Voyager
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import BinaryIO

from atlas.core.errors import ImportFailed
from atlas.core.types import CodeConcept
from atlas.importers.fields import as_object, required_text
from atlas.importers.files import parse_json, read_head, read_span
from atlas.importers.keys import member_keys
from atlas.importers.rows import Limits, Row, make_row, one_line
from atlas.importers.spans import Span, find_spans

SKILL = frozenset({"code", "description"})

_COMMENT = re.compile(r"^\s*//[ \t]?", re.MULTILINE)
_DESCRIPTION = re.compile(r"\A(?P<head>(?:async )?function [^{]*?)\s*\{(?P<body>.*)\}\s*\Z", re.DOTALL)


def matches(path: Path, head: bytes) -> bool:
    """Return whether the file is an object of objects that all have code and a description."""
    return member_keys(head) == SKILL


def read(path: Path, limits: Limits) -> Iterator[Row]:
    """Yield the skills of a file."""
    read_head(path, limits)
    position, end = 0, 0
    with path.open("rb") as handle:
        try:
            for position, span in enumerate(find_spans(path), start=1):
                end = span.end
                make = partial(_decode_concept, handle, span, path.name, limits)
                yield make_row(position, make, offset=end, n_bytes=span.end - span.start)
        except ImportFailed as error:  # truncated, or followed by other text: keep the skills before
            yield Row(position + 1, None, one_line(str(error)), offset=end)


def _decode_concept(handle: BinaryIO, span: Span, file: str, limits: Limits) -> CodeConcept:
    skill = as_object(parse_json(read_span(handle, span.start, span.end, limits.max_row_bytes)), "the skill")
    description, signature = _split_description(required_text(skill, "description", "description"))
    name, code = _unescape(span.key), required_text(skill, "code", "code")
    return CodeConcept(
        id=hashlib.sha256(json.dumps(["voyager", name, code]).encode()).hexdigest()[:32],
        name=name,
        description=description,
        code=code,
        signature=signature,
        source="imported",
        language="javascript",
        metadata={"origin": "voyager", "file": file},
    )


def _split_description(description: str) -> tuple[str, str]:
    """Return the text and the signature of a description, or the whole description and an empty signature."""
    match = _DESCRIPTION.match(description.strip())
    text = " ".join(_COMMENT.sub("", match["body"]).split()) if match else ""
    if match and text:
        return (text, " ".join(match["head"].split()))
    return (description.strip(), "")


def _unescape(key: str) -> str:
    """Return a raw JSON key with its escapes decoded."""
    try:
        return str(json.loads(f'"{key}"'))
    except ValueError:
        return key
