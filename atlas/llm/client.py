"""The client of a language model, for all protocols, with retries and a token budget."""

from __future__ import annotations

import asyncio
import ipaddress
import json
import logging
import math
import os
import random
import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from atlas.core.errors import InvalidInput, LLMBudgetExceeded, LLMReplyInvalid, LLMUnavailable
from atlas.core.json_values import dump
from atlas.core.settings import Settings
from atlas.llm.anthropic import AnthropicApi
from atlas.llm.api import ApiError, ModelApi, ModelReply, ModelRequest
from atlas.llm.budget import CHARACTERS_PER_TOKEN, Meter, TokenUsage, estimate_tokens, operation, with_cost
from atlas.llm.openai import OpenAIApi
from atlas.llm.structured_output import shorten

logger = logging.getLogger(__name__)

APIS: Mapping[str, type[AnthropicApi] | type[OpenAIApi]] = {"anthropic": AnthropicApi, "openai": OpenAIApi}
"""Protocols by their value of ATLAS_LLM_API.

If it is empty, they are tried in this order. Only for URLs that end in `/v1`, OpenAI's comes first.
"""

KEY = AnthropicApi.key_variable
PRICED_HOST = "api.anthropic.com"
MAX_WAIT_SECONDS = 60.0
"""Maximum accepted `retry-after`. A server that asks for more counts as unavailable."""

PATIENCE_SECONDS = 90.0
"""Maximum wait for a server that is down, if a user sees it and can cancel.

A restart that loads a model takes about a minute.
"""

MAX_PATIENT_PAUSE_SECONDS = 5.0
STARTING_STATUSES = {None, 502, 503, 504}
"""Statuses of a server that is down or starting: of a gateway or llama.cpp, or None without a response."""

RETRY_STATUSES = {408, 409, 429}
"""HTTP statuses, besides 5xx, after which a retry may succeed."""

_ADDRESS = re.compile(r"https?://[\w.-]+|https?://\[[0-9a-fA-F:.]+\]")
_CODE_FENCE = re.compile(r"```(?:json)?\s*(.*?)```", re.DOTALL)
_THOUGHT = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)


def is_configured(settings: Settings) -> bool:
    """Return whether a language model is configured. Reads only the settings, and imports no SDK."""
    if settings.llm_base_url and not _ADDRESS.match(settings.llm_base_url):
        return False
    if settings.llm_base_url:
        return not settings.llm_forbidden or _is_this_machine(urlsplit(settings.llm_base_url).hostname or "")
    return bool(os.environ.get(_api_class(settings).key_variable)) and not settings.llm_forbidden


class ModelClient:
    """A language model on a server of any supported protocol.

    Structured answers are enforced by the protocol. Once a model or server has rejected that,
    the instructions ask for JSON instead.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        api_key: str | None = None,
        backoff_seconds: float = 0.5,
        on_wait: Callable[[str], None] | None = None,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        """Configure the client. The first request connects.

        Args:
            settings: Model, server, timeouts and retries.
            api_key: By default the value of ANTHROPIC_API_KEY or OPENAI_API_KEY, depending on the protocol.
            backoff_seconds: Initial backoff. The backoff doubles with each retry.
            on_wait: For work that a user watches and can cancel. If given, the client waits for a server that is down,
                and calls this with a message before each wait. An exception from it ends the wait.
            patience_seconds: Maximum time to wait for such a server.

        Raises:
            LLMUnavailable: There is no key, or the host is forbidden.
            InvalidInput: The server's URL or the protocol's name is invalid.
        """
        self._settings = settings
        self._service = _RetryingConnection(settings, api_key, backoff_seconds, on_wait, patience_seconds)
        self._total = Meter()

    @property
    def model_name(self) -> str:
        """The server's name of the model."""
        return self._settings.llm_model

    @property
    def concurrency(self) -> int:
        """Maximum number of concurrent requests."""
        return self._settings.llm_concurrency

    @property
    def address(self) -> str:
        """Base URL of the server."""
        return self._service.api.address

    @property
    def api_title(self) -> str:
        """Display name of the protocol, which may be a guess until the server has answered."""
        return self._service.api.title

    @property
    def spent(self) -> TokenUsage:
        """Total usage so far. `budget.operation` counts a single operation."""
        return self._total.spent

    async def complete(
        self, system: str, prompt: str, *, schema: Mapping[str, Any] | None = None, max_tokens: int = 1024
    ) -> Any:
        """Return the text of the reply or, with a schema, the object in the reply. See `LLMClient.complete`.

        The reply's tokens count towards the surrounding `budget.operation`, with the limit ATLAS_LLM_BUDGET_TOKENS.
        Without one, the limit applies to each request. Data that do not fit into the model's context are shortened.
        """
        return await self._ask(system, prompt, schema, max_tokens)

    async def correct(
        self, system: str, prompt: str, answer: Any, fault: str, *, schema: Mapping[str, Any], max_tokens: int = 1024
    ) -> Any:
        """Return a corrected answer, as in `CorrectableLLM.correct`."""
        return await self._ask(system, prompt, schema, max_tokens, answer=answer, fault=fault)

    async def _ask(
        self,
        system: str,
        prompt: str,
        schema: Mapping[str, Any] | None,
        max_tokens: int,
        *,
        answer: Any = None,
        fault: str = "",
    ) -> Any:
        """Send a request to the model within the budget of the operation. Return its answer."""
        reply_tokens = min(max_tokens + self._settings.llm_thinking_tokens, self._settings.llm_context_tokens // 2)
        parts = [system, dump(schema) if schema else "", dump(answer) if fault else "", fault]
        prompt = self._fit_prompt(prompt, self._settings.llm_context_tokens - reply_tokens - estimate_tokens(*parts))
        request = ModelRequest(
            system=system, prompt=prompt, schema=schema, max_tokens=reply_tokens, answer=answer, fault=fault
        )
        reserved = estimate_tokens(prompt, *parts) + reply_tokens
        with operation() as account:
            meter = account.meter(self, self._settings.llm_budget_tokens)
            seconds = account.seconds_left
        meter.reserve(reserved)
        usage = TokenUsage()
        try:
            reply = await self._service.ask(request, seconds)
            usage = self._service.with_cost(reply.usage)
        finally:
            meter.settle(reserved, usage)
            self._total.settle(0, usage)
        return _extract_answer(reply, is_structured=schema is not None)

    def _fit_prompt(self, prompt: str, tokens: int) -> str:
        """Return the prompt, with its data shortened so that the prompt has at most `tokens` tokens."""
        shortened = shorten(prompt, tokens * CHARACTERS_PER_TOKEN)
        if estimate_tokens(shortened) > tokens + 1:
            raise LLMBudgetExceeded(
                f"the prompt does not fit into the model's context of {self._settings.llm_context_tokens:,} tokens "
                "and was not sent; choose a model with a larger context, or correct ATLAS_LLM_CONTEXT_TOKENS"
            )
        return shortened

    def close(self) -> None:
        """Close the connections to the server."""
        self._service.close()


class _RetryingConnection:
    """A connection to the server that retries requests if the server is busy or fails."""

    def __init__(
        self,
        settings: Settings,
        api_key: str | None,
        backoff_seconds: float,
        on_wait: Callable[[str], None] | None,
        patience_seconds: float,
    ) -> None:
        self._settings = settings
        self._key = api_key
        self._backoff_seconds = backoff_seconds
        self._on_wait = on_wait
        self._patience_seconds = patience_seconds
        self._can_force = True
        self._protocol_is_known = bool(settings.llm_api or not settings.llm_base_url)
        self._protocol_lock = threading.Lock()
        self.api = self._connect(_api_class(settings))

    @property
    def _host(self) -> str:
        return urlsplit(self.api.address).hostname or ""

    async def ask(self, request: ModelRequest, seconds: float | None) -> ModelReply:
        """Send a request, with retries, and return the reply.

        Args:
            request: The content of the request.
            seconds: Time for the request and its retries, or None without a limit.
        """
        timeout = min(self._settings.llm_timeout_seconds, seconds or self._settings.llm_timeout_seconds)
        attempt, deadline = 0, math.inf
        while True:
            api = self.api
            is_forced = self._can_force and request.schema is not None
            try:
                return await self._send(api, request, is_forced, timeout)
            except ApiError as error:
                if is_forced and api.cannot_force(error):
                    self._can_force = False
                    continue
                if error.is_about_path and self._switch_protocol(api):
                    continue
                deadline = min(deadline, time.monotonic() + self._patience_seconds)
                if not self._should_wait(error, deadline):
                    if not _may_succeed_later(error) or attempt >= self._settings.llm_retries:
                        raise self._unavailable_error(error) from error
                    await self._pause(error, attempt)
                elif self._on_wait is not None:
                    self._on_wait(
                        f"{self.api.address} does not answer; waiting for {deadline - time.monotonic():.0f} s"
                    )
                    await asyncio.sleep(min(self._backoff_seconds * 2**attempt, MAX_PATIENT_PAUSE_SECONDS))
                attempt += 1

    def with_cost(self, usage: TokenUsage) -> TokenUsage:
        """Return the usage of one reply with its cost added. The cost is 0 for a model on this machine."""
        if _is_this_machine(self._host):
            return usage
        return with_cost(self._settings.llm_model if self._host == PRICED_HOST else "", usage)

    def close(self) -> None:
        """Close the connections."""
        self.api.close()

    async def _send(self, api: ModelApi, request: ModelRequest, is_forced: bool, timeout: float) -> ModelReply:
        """Send a request in a thread, and return the reply. Raise `ApiError` if it fails or takes too long."""

        def send_request() -> ModelReply:
            return api.send(request, self._settings.llm_model, is_forced=is_forced, timeout_seconds=timeout)

        try:
            async with asyncio.timeout(timeout):
                reply = await asyncio.to_thread(send_request)
        except TimeoutError as error:
            raise ApiError("the request timed out", is_timeout=True) from error
        self._protocol_is_known = True
        return reply

    def _should_wait(self, error: ApiError, deadline: float) -> bool:
        """Return whether to wait and try again: the server is down, and waiting is enabled and not yet too long."""
        is_down = error.status in STARTING_STATUSES and not error.is_timeout
        return self._on_wait is not None and is_down and time.monotonic() < deadline

    def _switch_protocol(self, api: ModelApi) -> bool:
        """Switch to the other protocol, and return True. Return False if the protocol is already known for certain."""
        with self._protocol_lock:
            if self.api is not api:  # a concurrent request has switched already
                return True
            if self._protocol_is_known:
                return False
            self._protocol_is_known = True  # this protocol failed as well
            [other_api] = (api_class for name, api_class in APIS.items() if name != api.name)
            self.api, self._can_force = self._connect(other_api), True
            api.close()
            return True

    def _connect(self, api_class: type[AnthropicApi] | type[OpenAIApi]) -> ModelApi:
        """Return a connection to the server by a protocol.

        Raises:
            LLMUnavailable: There is no key, or the host is forbidden.
            InvalidInput: The server's URL is invalid.
        """
        settings = self._settings
        key = os.environ.get(api_class.key_variable, "") if self._key is None else self._key
        if not key and not settings.llm_base_url:
            raise LLMUnavailable(
                f"there is no API key for a language model; set {api_class.key_variable}, or set ATLAS_LLM_BASE_URL to "
                "a server that needs none"
            )
        if settings.llm_base_url and not _ADDRESS.match(settings.llm_base_url):
            raise InvalidInput(
                f"expected a URL such as http://localhost:8080 for ATLAS_LLM_BASE_URL, got {settings.llm_base_url!r}"
            )
        api = api_class(settings.llm_base_url, key, settings.llm_timeout_seconds)
        host = urlsplit(api.address).hostname or ""
        if settings.llm_forbidden and not _is_this_machine(host):
            raise LLMUnavailable(
                f"calls to {host} are forbidden; unset ATLAS_LLM_FORBIDDEN to allow them, or use "
                "atlas.testing.ScriptedLLM in tests"
            )
        return api

    async def _pause(self, error: ApiError, attempt: int) -> None:
        """Wait before a retry, as long as the server asks. Raise `LLMUnavailable` if that is too long."""
        model = self._settings.llm_model
        if error.retry_after is not None and error.retry_after > MAX_WAIT_SECONDS:
            raise LLMUnavailable(f"{model} is rate limited; retry in {error.retry_after:.0f} seconds") from error
        seconds = min(self._backoff_seconds * 2**attempt, MAX_WAIT_SECONDS) * random.uniform(0.75, 1.0)
        logger.warning("%s does not answer (%s); retrying", model, _describe_error(error))
        await asyncio.sleep(max(seconds, error.retry_after or 0.0))

    def _unavailable_error(self, error: ApiError) -> LLMUnavailable:
        """Return the error to raise after the last attempt, with advice on what to change."""
        model, model_on_host = self._settings.llm_model, f"{self._settings.llm_model} at {self._host}"
        if error.is_timeout:
            seconds = self._settings.llm_timeout_seconds
            return LLMUnavailable(
                f"{model_on_host} did not answer within {seconds:g} seconds; retry later, or raise "
                "ATLAS_LLM_TIMEOUT_SECONDS"
            )
        if error.status is None:
            return LLMUnavailable(
                f"nothing answers at {self.api.address}: {_describe_error(error)}. Start the server, or correct "
                "ATLAS_LLM_BASE_URL"
            )
        if error.is_about_model:
            return LLMUnavailable(
                f"{self._host} has no model {model!r}: {_describe_error(error)}. Correct ATLAS_LLM_MODEL"
            )
        if error.is_about_path:
            protocols = self.api.title if self._settings.llm_api else "any of the protocols that ATLAS knows"
            return LLMUnavailable(
                f"the server at {self.api.address} does not speak {protocols} ({_describe_error(error)}). Set "
                f"ATLAS_LLM_API to the protocol that it speaks, {' or '.join(APIS)}, or correct ATLAS_LLM_BASE_URL"
            )
        key = self.api.key_variable
        hints: dict[int | None, str] = {401: f"; check {key}", 403: f"; check what the key in {key} may do"}
        return LLMUnavailable(f"{model_on_host} does not answer: {_describe_error(error)}{hints.get(error.status, '')}")


def _api_class(settings: Settings) -> type[AnthropicApi] | type[OpenAIApi]:
    """Return the protocol that the settings name, or the likeliest one for their URL."""
    is_openai_url = settings.llm_base_url.removesuffix("/").endswith("/v1")
    name = settings.llm_api or ("openai" if is_openai_url else "anthropic")
    if name not in APIS:
        raise InvalidInput(f"expected {' or '.join(APIS)} for ATLAS_LLM_API, got {name!r}")
    return APIS[name]


def _is_this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _may_succeed_later(error: ApiError) -> bool:
    """Return whether a retry may succeed, for example after a timeout or a broken connection."""
    status = error.status
    if status is None or status < 400 or status in RETRY_STATUSES:
        return True
    return status >= 500 and not error.is_about_path


def _describe_error(error: ApiError) -> str:
    return f"{f'status {error.status}, ' if error.status else ''}{' '.join(str(error).split())[:300].rstrip('.')}"


def _extract_answer(reply: ModelReply, *, is_structured: bool) -> Any:
    """Return the text of a reply or, for a structured answer, the object in the reply.

    Raises:
        LLMReplyInvalid: The reply was cut off or refused, or is not an object.
    """
    text = reply.text or (dump(reply.value) if reply.value is not None else "")
    if reply.stop_reason:
        raise LLMReplyInvalid(reply.stop_reason, reply=text)
    if not is_structured:
        if not reply.text.strip():
            raise LLMReplyInvalid("the reply is empty")
        return reply.text
    return reply.value if reply.value is not None else _parse_json(reply.text)


def _parse_json(text: str) -> Any:
    """Parse the JSON value in a reply. Local models may put the JSON in a code fence, or after their thoughts."""
    without_thought = _THOUGHT.sub("", text).strip()
    code_fence = _CODE_FENCE.search(without_thought)
    for candidate in (without_thought, code_fence[1] if code_fence else without_thought):
        try:
            return json.loads(candidate)
        except ValueError as error:
            fault = error
    excerpt = f"; it says {text[:200]!r}" if text else ""
    raise LLMReplyInvalid(f"the reply is not a JSON object{excerpt}", reply=text) from fault
