"""Language models that speak Anthropic's Messages API, through its official SDK."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import os
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from atlas.core.errors import InvalidInput, LLMReplyInvalid, LLMUnavailable
from atlas.core.imports.distribution import extra
from atlas.core.json_values import dump
from atlas.core.settings import Settings
from atlas.llm.budget import CHARACTERS_PER_TOKEN, Meter, TokenUsage, estimated_tokens, operation, priced

if TYPE_CHECKING:
    import anthropic
    from anthropic.types import Message

logger = logging.getLogger(__name__)

KEY = "ANTHROPIC_API_KEY"
_ADDRESS = re.compile(r"https?://[\w.-]+|https?://\[[0-9a-fA-F:.]+\]")
PRICED_HOST = "api.anthropic.com"
TOOL = "answer"
CACHEABLE_CHARACTERS = 512 * CHARACTERS_PER_TOKEN
"""Characters of system prompt and schema below which no model caches them."""

MAX_WAIT_SECONDS = 60.0
"""Longest wait that a service may ask for. One that asks for more counts as unavailable."""

HINTS = {
    401: f"; check {KEY}",
    403: f"; check what the key in {KEY} may do",
    404: "; check ATLAS_LLM_MODEL and ATLAS_LLM_BASE_URL",
}
"""Advice by status."""

PASSING = {408, 409, 429}
"""Statuses, beside those of a failing server, after which the same question may be answered."""


def is_configured(settings: Settings) -> bool:
    """Return whether there is a model that may be asked.

    Only the settings are read, so the SDK is not imported.
    """
    if settings.llm_base_url and not _ADDRESS.match(settings.llm_base_url):
        return False
    host = urlsplit(settings.llm_base_url).hostname or PRICED_HOST
    has_access = bool(settings.llm_base_url or os.environ.get(KEY))
    return has_access and (not settings.llm_forbidden or _is_this_machine(host))


class AnthropicLLM:
    """A language model behind the Messages API.

    Structured answers come as the call of a tool whose input has the schema. Models that think refuse to be forced to
    call one, so if the service demands it, it is asked for from then on instead; a reply without the call is invalid.
    """

    def __init__(self, settings: Settings, *, api_key: str | None = None, backoff_seconds: float = 0.5) -> None:
        """Connect, without asking anything yet.

        Args:
            settings: The model, the server, and how long and how often to try.
            api_key: By default that of ANTHROPIC_API_KEY.
            backoff_seconds: The first wait before a question is repeated. Each later one is twice as long.

        Raises:
            LLMUnavailable: There is no key, asking is forbidden, or the SDK is not installed.
            InvalidInput: The server's address is not valid.
        """
        self._settings = settings
        self._service = _Service(settings, os.environ.get(KEY, "") if api_key is None else api_key, backoff_seconds)
        self._total = Meter()

    @property
    def model_name(self) -> str:
        """The service's name of the model."""
        return self._settings.llm_model

    @property
    def spent(self) -> TokenUsage:
        """Tokens of all operations so far. `budget.operation` has the account of one."""
        return self._total.spent

    async def complete(
        self, system: str, prompt: str, *, schema: Mapping[str, Any] | None = None, max_tokens: int = 1024
    ) -> Any:
        """Return the text of the reply or, with a schema, its object, as in `LLMClient.complete`.

        Its tokens count for the surrounding `budget.operation`, whose limit is ATLAS_LLM_BUDGET_TOKENS. Without one,
        each question has the limit for itself.
        """
        room = max_tokens + self._settings.llm_thinking_tokens
        reserved = estimated_tokens(system, prompt, dump(schema) if schema else "") + room
        with operation() as account:
            meter = account.meter(self, self._settings.llm_budget_tokens)
        meter.reserve(reserved)
        spent = TokenUsage()
        try:
            message = await self._service.ask(_Question(system, prompt, schema, room))
            spent = priced(self.model_name if self._service.host == PRICED_HOST else "", _usage(message))
        finally:
            meter.settle(reserved, spent)
            self._total.settle(0, spent)
        return _answer(message, is_structured=schema is not None)

    def close(self) -> None:
        """Close the connections to the service."""
        self._service.close()


@dataclass(frozen=True, slots=True)
class _Question:
    system: str
    prompt: str
    schema: Mapping[str, Any] | None
    max_tokens: int

    def request(self, model: str, *, is_forced: bool) -> dict[str, Any]:
        """Return the arguments of the Messages API."""
        is_cached = len(self.system) + len(dump(self.schema) if self.schema else "") >= CACHEABLE_CHARACTERS
        system = {"type": "text", "text": self.system} | ({"cache_control": {"type": "ephemeral"}} if is_cached else {})
        messages = [{"role": "user", "content": self.prompt}]
        request = {"model": model, "max_tokens": self.max_tokens, "system": [system], "messages": messages}
        if self.schema is None:
            return request
        description = "Give the answer, and nothing else. Call this exactly once."
        choice = {"type": "tool", "name": TOOL} if is_forced else {"type": "auto"}
        return request | {
            "system": [system, {"type": "text", "text": f"Answer only by calling the tool `{TOOL}`."}],
            "tools": [{"name": TOOL, "description": description, "input_schema": dict(self.schema)}],
            "tool_choice": choice | {"disable_parallel_tool_use": True},
        }


class _Service:
    """The service that questions are put to, repeatedly if it is busy or fails.

    The SDK's own retries are off: they obey a server that asks for hours of patience, and hold a thread meanwhile.
    """

    def __init__(self, settings: Settings, api_key: str, backoff_seconds: float) -> None:
        self._settings = settings
        self._backoff_seconds = backoff_seconds
        self._client = _connect(settings, api_key)
        self._can_force = True
        self.host = self._client.base_url.host

    async def ask(self, question: _Question) -> Message:
        """Return the reply to a question."""
        import anthropic

        attempt = 0
        while True:
            is_forced = self._can_force and question.schema is not None
            try:
                return await self._send(question.request(self._settings.llm_model, is_forced=is_forced))
            except anthropic.BadRequestError as error:
                if not (is_forced and "tool_choice" in str(error)):
                    raise self._unavailable(error) from error
                self._can_force = False
            except (anthropic.APIError, TimeoutError, ValueError) as error:
                if not _is_passing(error) or attempt == self._settings.llm_retries:
                    raise self._unavailable(error) from error
                await self._pause(error, attempt)
                attempt += 1

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    async def _send(self, request: dict[str, Any]) -> Message:
        async with asyncio.timeout(self._settings.llm_timeout_seconds):
            return await asyncio.to_thread(lambda: self._client.messages.create(**request))

    async def _pause(self, error: Exception, attempt: int) -> None:
        model, retry_after = self._settings.llm_model, _retry_after(error)
        if retry_after is not None and retry_after > MAX_WAIT_SECONDS:
            raise LLMUnavailable(
                f"{model} can be asked again in {retry_after:.0f} seconds, says its service; try again then"
            ) from error
        wait = min(self._backoff_seconds * 2**attempt, MAX_WAIT_SECONDS) * random.uniform(0.75, 1.0)
        logger.warning("%s does not answer (%s); asking again", model, _describe_error(error))
        await asyncio.sleep(max(wait, retry_after or 0.0))

    def _unavailable(self, error: Exception) -> LLMUnavailable:
        where = f"{self._settings.llm_model} at {self.host}"
        if isinstance(error, TimeoutError) or type(error).__name__ == "APITimeoutError":
            seconds = self._settings.llm_timeout_seconds
            return LLMUnavailable(
                f"{where} did not answer within {seconds:g} seconds; try later, or raise ATLAS_LLM_TIMEOUT_SECONDS"
            )
        return LLMUnavailable(f"{where} does not answer: {_describe_error(error)}{HINTS.get(_status(error) or 0, '')}")


def _connect(settings: Settings, api_key: str) -> anthropic.Anthropic:
    if not api_key and not settings.llm_base_url:
        raise LLMUnavailable(
            f"there is no key for a language model; set {KEY}, or ATLAS_LLM_BASE_URL to a server that needs none"
        )
    if settings.llm_base_url and not _ADDRESS.match(settings.llm_base_url):
        raise InvalidInput(
            f"ATLAS_LLM_BASE_URL should be an address such as http://localhost:8080, but is {settings.llm_base_url!r}"
        )
    with extra("llm", "asking a language model", LLMUnavailable):
        import anthropic

    client = anthropic.Anthropic(
        api_key=api_key or "none",
        base_url=settings.llm_base_url or None,
        timeout=settings.llm_timeout_seconds,
        max_retries=0,
    )
    if settings.llm_forbidden and not _is_this_machine(client.base_url.host):
        raise LLMUnavailable(
            f"asking {client.base_url.host} is forbidden here; unset ATLAS_LLM_FORBIDDEN to allow it, "
            "or use atlas.testing.ScriptedLLM in tests"
        )
    return client


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _usage(message: Message) -> TokenUsage:
    """Return the tokens that a reply took, without their price."""
    usage = getattr(message, "usage", None)
    return TokenUsage(
        n_calls=1,
        input_tokens=getattr(usage, "input_tokens", None) or 0,
        output_tokens=getattr(usage, "output_tokens", None) or 0,
        cache_read_tokens=getattr(usage, "cache_read_input_tokens", None) or 0,
        cache_written_tokens=getattr(usage, "cache_creation_input_tokens", None) or 0,
    )


def _status(error: Exception) -> int | None:
    status = getattr(error, "status_code", None)
    return status if isinstance(status, int) else None


def _is_passing(error: Exception) -> bool:
    """Return whether the same question may be answered later, as after a timeout or a broken connection."""
    status = _status(error)
    return status is None or status in PASSING or status >= 500


def _retry_after(error: Exception) -> float | None:
    """Return the service's `retry-after` in seconds, or None."""
    response = getattr(error, "response", None)
    try:
        return float(response.headers["retry-after"]) if response is not None else None
    except (KeyError, ValueError):
        return None


def _describe_error(error: Exception) -> str:
    if isinstance(error, ValueError):
        return f"its reply is not JSON ({error})"
    status = _status(error)
    message = getattr(error, "api_message", None) or str(error) or type(error).__name__
    return f"{f'status {status}, ' if status else ''}{' '.join(message.split())[:300]}"


def _answer(message: Message, *, is_structured: bool) -> Any:
    """Return the text of a reply, or the object that it gives.

    Raises:
        LLMReplyInvalid: It was cut off or refused, or gives no object.
    """
    blocks = getattr(message, "content", None)
    if not isinstance(blocks, list):
        raise LLMReplyInvalid("the reply has no content; is this server one that speaks the Messages API?")
    if message.stop_reason in ("max_tokens", "model_context_window_exceeded"):
        raise LLMReplyInvalid(f"the reply was cut off ({message.stop_reason}); a shorter answer is needed")
    if message.stop_reason == "refusal":
        raise LLMReplyInvalid("the model refused to answer")
    text = "".join(block.text for block in blocks if getattr(block, "type", "") == "text")
    if not is_structured and not text.strip():
        raise LLMReplyInvalid("the reply is empty")
    if not is_structured:
        return text
    inputs = [block.input for block in blocks if getattr(block, "type", "") == "tool_use" and block.name == TOOL]
    return inputs[0] if inputs else _parse_json(text)


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        excerpt = f"; it says {text[:200]!r}" if text else ""
        raise LLMReplyInvalid(f"the reply neither calls the tool `{TOOL}` nor is JSON{excerpt}") from error
