"""OpenAI's chat completions, which most local servers and gateways support."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atlas.core.errors import LLMReplyInvalid
from atlas.core.json_values import dump
from atlas.llm.api import ApiError, ModelReply, ModelRequest
from atlas.llm.budget import TokenUsage

if TYPE_CHECKING:
    import httpx

DEFAULT_ADDRESS = "https://api.openai.com/v1"


class OpenAIApi:
    """A client of the chat completions API. `response_format` makes the server enforce the schema of an answer."""

    name, title, key_variable = "openai", "OpenAI's chat completions", "OPENAI_API_KEY"

    def __init__(self, base_url: str, api_key: str, timeout_seconds: float) -> None:
        """Create the HTTP client, which connects lazily.

        Args:
            base_url: With or without a trailing `/v1`.
            api_key: Empty for a server that needs none.
            timeout_seconds: Connection timeout.
        """
        import httpx

        self.address = f"{(base_url or DEFAULT_ADDRESS).removesuffix('/').removesuffix('/v1')}/v1"
        headers = {"authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.Client(headers=headers, timeout=timeout_seconds)
        self._limit_name = "max_tokens"

    def send(self, request: ModelRequest, model: str, *, is_forced: bool, timeout_seconds: float) -> ModelReply:
        """Return the reply of a model. See `ModelApi.send`."""
        import httpx

        body = {
            "model": model,
            self._limit_name: request.max_tokens,
            **_request_body(request, is_forced=is_forced),
        }
        try:
            response = self._client.post(
                f"{self.address}/chat/completions", json=body, timeout=httpx.Timeout(timeout_seconds)
            )
        except httpx.TimeoutException as error:
            raise ApiError("the request timed out", is_timeout=True) from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise ApiError(str(error) or type(error).__name__) from error
        if response.is_success:
            return _parse_reply(response)
        failure = _parse_failure(response)
        if response.status_code == 400 and self._limit_name == "max_tokens" and "max_completion_tokens" in str(failure):
            self._limit_name = "max_completion_tokens"  # reasoning models use this name for the limit
            return self.send(request, model, is_forced=is_forced, timeout_seconds=timeout_seconds)
        raise failure

    def cannot_force(self, error: ApiError) -> bool:
        """Return whether a request failed because the server does not support `response_format` with a schema."""
        return error.status in (400, 422, 501) and any(
            word in str(error) for word in ("response_format", "json_schema", "grammar")
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _request_body(request: ModelRequest, *, is_forced: bool) -> dict[str, Any]:
    """Return the JSON body of a request: its messages, and the answer's schema if the server is to enforce it."""
    system = request.system
    if request.schema is not None:  # without this line some models begin with prose, and stop at the enforced object
        system += "\n\nAnswer only with one JSON object."
        system += "" if is_forced else f" Its schema:\n{dump(request.schema)}"
    messages = [{"role": "system", "content": system}, {"role": "user", "content": request.prompt}]
    if request.fault:
        answer = request.answer if isinstance(request.answer, str) else dump(request.answer)
        messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": request.fault}]
    if request.schema is None or not is_forced:
        return {"messages": messages}
    schema = {"name": "answer", "schema": dict(request.schema)}
    return {"messages": messages, "response_format": {"type": "json_schema", "json_schema": schema}}


def _parse_reply(response: httpx.Response) -> ModelReply:
    """Return the reply in a response.

    Raises:
        ApiError: The response is not JSON.
        LLMReplyInvalid: The response has no text.
    """
    try:
        body = response.json()
    except ValueError as error:
        raise ApiError(f"the reply is not JSON ({error})", status=200) from error
    try:
        choice = body["choices"][0]
        message = choice["message"]
        text = message.get("content") or ""
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise LLMReplyInvalid("the reply has no content; check that the server supports chat completions") from error
    if not isinstance(text, str):
        raise LLMReplyInvalid("the content of the reply is not text; check that the server supports chat completions")
    stop_reason = ""
    if choice.get("finish_reason") == "length":
        stop_reason = "the reply was cut off (length); a shorter answer is needed"
    elif choice.get("finish_reason") == "content_filter" or message.get("refusal"):
        stop_reason = "the model refused to answer"
    return ModelReply(text=text, stop_reason=stop_reason, usage=_parse_usage(body.get("usage")))


def _parse_usage(usage: Any) -> TokenUsage:
    counts = usage if isinstance(usage, dict) else {}
    details = counts.get("prompt_tokens_details")
    cached = (details.get("cached_tokens") if isinstance(details, dict) else 0) or 0
    return TokenUsage(
        n_calls=1,
        input_tokens=max(0, (counts.get("prompt_tokens") or 0) - cached),
        output_tokens=counts.get("completion_tokens") or 0,
        cache_read_tokens=cached,
    )


def _parse_failure(response: httpx.Response) -> ApiError:
    """Return a failed response as an error, with the server's message and the value of `retry-after`."""
    try:
        error = response.json().get("error")
        message = error.get("message") if isinstance(error, dict) else error
    except (ValueError, AttributeError):
        message = None
    try:
        retry_after = float(response.headers["retry-after"])
    except (KeyError, ValueError):
        retry_after = None
    text = message if isinstance(message, str) and message else response.text or response.reason_phrase
    return ApiError(text, status=response.status_code, retry_after=retry_after)
