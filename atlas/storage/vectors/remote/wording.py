"""Sanitised messages of a service's errors."""

from __future__ import annotations

import os

MAX_CHARACTERS = 200


def error_text(error: BaseException, key_name: str) -> str:
    """Return the message of an error, on one line, without the value of a key.

    The response of a service or a proxy may contain the request.
    """
    key = " ".join(os.environ.get(key_name, "").split())
    text = " ".join(str(error).split()) or type(error).__name__
    return (text.replace(key, "***") if key else text)[:MAX_CHARACTERS]
