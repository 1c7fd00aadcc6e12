"""Directories of embedding models: the bundled weights with the configuration files of other models."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from atlas.embedding.minilm.bundled import DIRECTORY, TENSORS
from atlas.embedding.onnx_encoder import GRAPH, METADATA, TOKENIZER, WEIGHTS
from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder, bundled_weights


def model_directory(path: Path, *, prompts: dict[str, str] | None = None, pooling: str = "mean", **config: Any) -> Path:
    """Return a new directory with the bundled weights.

    Args:
        prompts: Those of its configuration.
        pooling: `mean`, as the weights were trained, or `cls`.
        config: Other values of its `config.json`.
    """
    source = bundled_weights()
    shutil.copytree(source, path, ignore=shutil.ignore_patterns("*.py*", "*.onnx", "model.safetensors", "README.md"))
    (path / "model.safetensors").symlink_to(source / "model.safetensors")
    change_json(path / "config.json", **config)
    modes = {f"pooling_mode_{mode}": name == pooling for mode, name in (("cls_token", "cls"), ("mean_tokens", "mean"))}
    change_json(path / "1_Pooling" / "config.json", **modes)
    if prompts is not None:
        change_json(path / "config_sentence_transformers.json", prompts=prompts)
    return path


def change_json(file: Path, **values: Any) -> None:
    """Change values of the object in a JSON file."""
    written = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps(written | values), encoding="utf-8")


def embedder_by_torch(model: Path, **options: Any) -> SentenceTransformerEmbedder:
    """Return an embedder that has nowhere to export the model to, so that sentence-transformers runs it."""
    return SentenceTransformerEmbedder(str(model), "cpu", cache=Path(__file__), **options)


def copy_bundled_export(model: str, directory: Path, announce: Callable[[str], None]) -> None:
    """Write the bundled graph where an export is expected, in place of an exporter, which takes a minute.

    It is the graph of each directory above whose pooling is `mean`.
    """
    for name in (GRAPH, METADATA):
        shutil.copyfile(DIRECTORY / name, directory / name)
    shutil.copyfile(bundled_weights() / TOKENIZER, directory / TOKENIZER)
    shutil.copyfile(bundled_weights() / TENSORS, directory / TENSORS)  # a link that leads elsewhere is not followed
    os.link(directory / TENSORS, directory / WEIGHTS)
