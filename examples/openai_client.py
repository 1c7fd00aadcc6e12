"""An `openai` client that recalls before it asks, and stores the answer after. One of `anthropic` works alike.

    pip install openai
    python openai_client.py       # writes the store `client-memory` into the current directory

A function stands for the service, so that the example needs none.
"""

import json

import httpx
from openai import OpenAI

import atlas
from atlas.integrations.clients import with_memory


def answer(request: httpx.Request) -> httpx.Response:
    """Answer with the number of memories in the prompt."""
    prompt = json.loads(request.content)
    text = f"{json.dumps(prompt).count('[experience ')} remembered. Refunds above 500 need a manager."
    if request.url.path.endswith("/responses"):
        part = {"type": "output_text", "text": text, "annotations": []}
        output = [{"type": "message", "id": "m", "role": "assistant", "status": "completed", "content": [part]}]
        return httpx.Response(200, json={"id": "r", "object": "response", "model": prompt["model"], "output": output})
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return httpx.Response(
        200, json={"id": "c", "object": "chat.completion", "model": prompt["model"], "choices": [choice]}
    )


def main() -> None:
    """Ask twice, by both methods of the client."""
    service = httpx.Client(transport=httpx.MockTransport(answer))
    with atlas.open_memory("client-memory") as memory:
        client = with_memory(OpenAI(api_key="none", http_client=service), memory, judge=lambda text: "manager" in text)
        question = "Which refunds of the shop need a manager?"
        first = client.chat.completions.create(model="small", messages=[{"role": "user", "content": question}])
        print(first.choices[0].message.content)
        print(client.responses.create(model="small", input=question).output_text)


if __name__ == "__main__":
    main()
