"""Anthropic's Messages API, through its official SDK."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from atlas.core.errors import LLMReplyInvalid, LLMUnavailable
from atlas.core.imports.distribution import extra
from atlas.llm.api import ApiError, ModelReply, ModelRequest
from atlas.llm.budget import TokenUsage

if TYPE_CHECKING:
    from anthropic.types import Message

TOOL, CALL_ID = "answer", "toolu_first_answer"
INSTRUCTION = f"Answer only by calling the tool `{TOOL}`."


class AnthropicApi:
    """A client of Anthropic's Messages API. A structured answer is a tool call whose input has the schema."""

    name, title, key_variable = "anthropic", "Anthropic's Messages API", "ANTHROPIC_API_KEY"

    def __init__(self, base_url: str, api_key: str, timeout_seconds: float) -> None:
        """Create the SDK's client, which connects lazily.

        The SDK's retries are off, because they block a thread for any `retry-after`.
        """
        with extra("llm", "a language model", LLMUnavailable):
            import anthropic

        self._client = anthropic.Anthropic(
            api_key=api_key or "none",
            base_url=base_url.removesuffix("/").removesuffix("/v1") or None,
            timeout=timeout_seconds,
            max_retries=0,
        )
        self.address = str(self._client.base_url)

    def send(self, request: ModelRequest, model: str, *, is_forced: bool, timeout_seconds: float) -> ModelReply:
        """Return the reply of a model. See `ModelApi.send`."""
        import anthropic

        arguments = _request_arguments(request, model, is_forced=is_forced)
        try:
            return _parse_reply(self._client.messages.create(**arguments, timeout=timeout_seconds))
        except anthropic.APITimeoutError as error:
            raise ApiError("the request timed out", is_timeout=True) from error
        except anthropic.APIStatusError as error:
            message = error.api_message or str(error)
            raise ApiError(
                message, status=error.status_code, retry_after=_parse_seconds(error.response.headers.get("retry-after"))
            ) from error
        except anthropic.APIError as error:
            raise ApiError(str(error) or type(error).__name__) from error
        except ValueError as error:
            raise ApiError(f"the reply is not JSON ({error})", status=200) from error

    def cannot_force(self, error: ApiError) -> bool:
        """Return whether a request failed because the model rejects forced tool calls, as thinking models do."""
        return error.status == 400 and "tool_choice" in str(error)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def _request_arguments(request: ModelRequest, model: str, *, is_forced: bool) -> dict[str, Any]:
    """Return a request as keyword arguments of the SDK's `messages.create`."""
    system = [{"type": "text", "text": request.system}]
    arguments = {
        "model": model,
        "max_tokens": request.max_tokens,
        "system": system,
        "messages": _build_messages(request),
    }
    if request.schema is None:
        return arguments
    description = "Give the answer, and nothing else. Call this exactly once."
    tool_choice = {"type": "tool", "name": TOOL} if is_forced else {"type": "auto"}
    return arguments | {
        "system": [*system, {"type": "text", "text": INSTRUCTION}],
        "tools": [{"name": TOOL, "description": description, "input_schema": dict(request.schema)}],
        "tool_choice": tool_choice | {"disable_parallel_tool_use": True},
    }


def _build_messages(request: ModelRequest) -> list[dict[str, Any]]:
    """Return the messages of a request: the prompt and, for a correction, the rejected answer with the reason."""
    question = {"role": "user", "content": request.prompt}
    if not request.fault:
        return [question]
    if isinstance(request.answer, dict):
        tool_use = {"type": "tool_use", "id": CALL_ID, "name": TOOL, "input": request.answer}
        result = {"type": "tool_result", "tool_use_id": CALL_ID, "is_error": True, "content": request.fault}
        return [question, {"role": "assistant", "content": [tool_use]}, {"role": "user", "content": [result]}]
    text = str(request.answer or "").strip()
    if not text:  # the API rejects empty turns
        return [{"role": "user", "content": f"{request.prompt}\n\n{request.fault}"}]
    return [question, {"role": "assistant", "content": text}, {"role": "user", "content": request.fault}]


def _parse_reply(message: Message) -> ModelReply:
    """Return a message of the SDK as a reply.

    Raises:
        LLMReplyInvalid: The message has no content.
    """
    blocks = getattr(message, "content", None)
    if not isinstance(blocks, list):
        raise LLMReplyInvalid("the reply has no content; check that the server speaks the Messages API")
    text = "".join(block.text for block in blocks if getattr(block, "type", "") == "text")
    calls = [block.input for block in blocks if getattr(block, "type", "") == "tool_use" and block.name == TOOL]
    stop_reason = ""
    if message.stop_reason in ("max_tokens", "model_context_window_exceeded"):
        stop_reason = f"the reply was cut off ({message.stop_reason}); a shorter answer is needed"
    elif message.stop_reason == "refusal":
        stop_reason = "the model refused to answer"
    return ModelReply(
        text=text, value=calls[0] if calls else None, stop_reason=stop_reason, usage=_parse_usage(message)
    )


def _parse_usage(message: Message) -> TokenUsage:
    usage = getattr(message, "usage", None)
    return TokenUsage(
        n_calls=1,
        input_tokens=getattr(usage, "input_tokens", None) or 0,
        output_tokens=getattr(usage, "output_tokens", None) or 0,
        cache_read_tokens=getattr(usage, "cache_read_input_tokens", None) or 0,
        cache_written_tokens=getattr(usage, "cache_creation_input_tokens", None) or 0,
    )


def _parse_seconds(header: str | None) -> float | None:
    try:
        return float(header) if header is not None else None
    except ValueError:
        return None
