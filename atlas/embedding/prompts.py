"""Prompts of embedding models: the prefixes that a model expects for queries and documents."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

NO_PROMPT = "none"
"""Value of the setting that turns off the prompt in a model's files."""

README_CHARACTERS = 16_000
"""Number of characters read from a model card. The model's name is in its first lines."""

_CONFIG = "config_sentence_transformers.json"
_QUERY_NAMES = ("query", "search_query", "retrieval.query", "web_search_query")
_DOCUMENT_NAMES = ("document", "passage", "corpus", "search_document", "retrieval.passage")
"""Keys of the prompts for queries and documents in model files, in the order of sentence-transformers."""

_CARD_NAME = re.compile(r"^model-index:\s*\n\s*-\s*name:\s*(.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompts:
    """The prefixes that a model expects before queries and before documents. Either may be empty."""

    query: str = ""
    document: str = ""

    def as_text(self) -> str:
        """Return the prompts as a string that `read_prompts` parses."""
        return json.dumps(asdict(self), ensure_ascii=False)


NO_PROMPTS = Prompts()

_RETRIEVAL = "Represent this sentence for searching relevant passages: "
_INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "

_FAMILIES: tuple[tuple[str, Prompts], ...] = (
    (r"embedding-?gemma", Prompts(query="task: search result | query: ", document="title: none | text: ")),
    (r"nomic-embed-text", Prompts(query="search_query: ", document="search_document: ")),
    (r"\be5-.*instruct|\be5-mistral|gte-qwen", Prompts(query=_INSTRUCT)),
    (r"\be5-(?:small|base|large)", Prompts(query="query: ", document="passage: ")),
    (r"\bbge-(?:small|base|large)-zh", Prompts(query="为这个句子生成表示以用于检索相关文章：")),  # noqa: RUF001  (its own colon)
    (r"\bbge-(?:small|base|large)|\bmxbai-embed|arctic-embed-(?:xs|s|m|l)\b", Prompts(query=_RETRIEVAL)),
    (r"\bgte-(?:small|base|large)|\bbge-m3", NO_PROMPTS),
)
"""Model families by a lower-case part of their models' names, with the prompts from their model cards."""

_ARCHITECTURES = {"nomic_bert": "nomic-embed-text", "gemma3_text": "embeddinggemma"}
"""Model types in `config.json` that identify a family."""


def model_prompts(model: str, files: Path | None) -> Prompts:
    """Return the prompts of a model: from its own files, else of its family, else empty.

    Args:
        model: Name or directory of the model.
        files: The directory of its files, or None if they are not on this machine.
    """
    configured = _configured_prompts(_read_json(files / _CONFIG)) if files is not None else None
    return configured or family_prompts([model.rstrip("/").rpartition("/")[2], *_names_in(files)]) or NO_PROMPTS


def family_prompts(names: list[str]) -> Prompts | None:
    """Return the prompts of the first family that matches one of the names, or None."""
    for name in names:
        normalised_name = re.sub(r"[\s_]", "-", name.lower())
        for pattern, prompts in _FAMILIES:
            if re.search(pattern, normalised_name):
                return prompts
    return None


def override_prompts(model: Prompts, query: str, document: str) -> Prompts:
    """Return a model's prompts, with those replaced that the settings override.

    Args:
        model: The model's prompts.
        query: The setting for queries. Empty keeps the model's own prompt, `none` removes it.
        document: The setting for documents, with the same special values.
    """
    overrides = {"query": query, "document": document}
    return replace(model, **{name: "" if text == NO_PROMPT else text for name, text in overrides.items() if text})


def read_prompts(text: str) -> Prompts | None:
    """Parse prompts written by `as_text`. Returns None for an empty or damaged string."""
    with suppress(ValueError, TypeError, KeyError):
        prompts = json.loads(text)
        return Prompts(query=str(prompts["query"]), document=str(prompts["document"]))
    return None


def prompts_of(embedder: object) -> Prompts | None:
    """Return the prompts of an embedder, or None if it does not support prompts."""
    prompts = getattr(embedder, "prompts", None)
    return prompts if isinstance(prompts, Prompts) else None


def prompts_text(embedder: object) -> str:
    """Return an embedder's prompts in stored form.

    Empty if there are none, unless the model is a directory, whose files may change.
    """
    prompts = prompts_of(embedder)
    is_changeable = Path(str(getattr(embedder, "model_name", ""))).is_dir()
    if prompts is not None and (prompts != NO_PROMPTS or is_changeable):
        return prompts.as_text()
    return ""


def prompts_to_use(model_prompts: Prompts, stored_prompts: Prompts | None) -> Prompts:
    """Return the prompts to embed the queries of a store with.

    Args:
        model_prompts: The current prompts of the model.
        stored_prompts: The prompts with which the store's documents were embedded. None for an old store: its documents
            were embedded without prompts, so its queries get none either if the model has one for documents.
    """
    return stored_prompts or (NO_PROMPTS if model_prompts.document else model_prompts)


def _configured_prompts(config: Mapping[str, Any]) -> Prompts | None:
    """Return the prompts in a sentence-transformers configuration, or None if it has none for queries or documents."""
    prompts = config.get("prompts")
    if not isinstance(prompts, Mapping):
        return None
    texts = {name: text for name, text in prompts.items() if isinstance(text, str)}
    default_prompt = texts.get(str(config.get("default_prompt_name")), "")
    query = next((texts[name] for name in _QUERY_NAMES if texts.get(name)), default_prompt)
    document = next(
        (texts[name] for name in _DOCUMENT_NAMES if texts.get(name)), "" if default_prompt == query else default_prompt
    )
    return Prompts(query=query, document=document) if query or document else None


def _names_in(files: Path | None) -> list[str]:
    """Return the names of a model and its architecture in its configuration and model card."""
    if files is None:
        return []
    config = _read_json(files / "config.json")
    names = [str(config.get("_name_or_path", "")), _ARCHITECTURES.get(str(config.get("model_type")), "")]
    with suppress(OSError), (files / "README.md").open(encoding="utf-8", errors="replace") as card:
        names += _CARD_NAME.findall(card.read(README_CHARACTERS))
    return [name for name in names if name]


def _read_json(file: Path) -> Mapping[str, Any]:
    """Return the JSON object in a file, or an empty one if the file is missing, unreadable or has other content."""
    with suppress(OSError, ValueError, RecursionError):
        value = json.loads(file.read_text(encoding="utf-8"))
        return value if isinstance(value, dict) else {}
    return {}
