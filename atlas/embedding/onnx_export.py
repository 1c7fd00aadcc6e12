"""Export of a sentence-transformers model to an ONNX graph, and its verification.

The export runs in a child process, `python -m atlas.embedding.onnx_export MODEL DIRECTORY`, because a process that
imports torch cannot free its memory. The process prints one line of JSON for each step, and a last one for the error,
if any.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from atlas.core.errors import EmbeddingUnavailable
from atlas.core.imports.distribution import extra
from atlas.embedding.onnx_encoder import GRAPH, METADATA, TOKEN_VECTORS, TOKENIZER, VECTORS, OnnxEncoder, open_session
from atlas.embedding.torch_encoder import TorchEncoder, load_model

TOLERANCE = 1e-5
"""Maximum difference of a component between the graph's and the model's vectors, which have unit length."""

OPSET = 17

MAX_WINDOW = 1_024
"""Maximum window of a model. The memory of eager attention is quadratic in it."""

_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_RAW = "raw.onnx"
_SCRIPTS = (
    "The quick brown fox jumps over the lazy dog. ",
    "for row in rows:\n    total[row.name] += row.price * (1 - row.rebate)\n",
    "Überraschend schöne Grüße naïve café El Niño ",
    "Быстрая коричневая лиса прыгает через ленивую собаку. ",
    "天地玄黃宇宙洪荒日月盈昃辰宿列張",
    "한국어 문장을 여러 번 되풀이한다. ",
    "الثعلب البني السريع يقفز فوق الكلب الكسول ",
    "🚀 0x7f\tfoo_bar(1) == None  \n\n",
)
_LENGTHS = (0, 1, 3, 17, 60, 200, 700, 6_000)

TEXTS = tuple((script * (length // len(script) + 1))[:length] for script in _SCRIPTS for length in _LENGTHS)
"""Texts for the verification, in eight scripts and eight lengths."""


class ExportError(Exception):
    """The model cannot be exported. The message is the reason."""


def export(model: str, directory: Path, on_step: Callable[[str], None]) -> None:
    """Export a model to an empty directory, in the form that `OnnxEncoder` loads.

    Raises:
        ExportError: The model cannot be traced, or the vectors of its graph differ from the model's.
        EmbeddingUnavailable: The model cannot be loaded.
    """
    on_step("loading the model with sentence-transformers")
    # in onnxruntime, eager attention is a sixth faster than the decomposed fused one
    encoder = TorchEncoder(load_model(model, "cpu", model_kwargs={"attn_implementation": "eager"}), 32)
    if encoder.tokenizer is None or encoder.window is None:
        raise ExportError("the tokenizer is not from the package tokenizers, or has no maximum length")
    if encoder.window > MAX_WINDOW:
        raise ExportError(f"the model's window of {encoder.window:,} tokens would need too much memory")
    on_step("tracing it")
    inputs = _trace(encoder.model, directory / _RAW)
    on_step("optimising the graph")
    open_session(directory / _RAW, optimised=directory / GRAPH)
    (directory / _RAW).unlink()
    _write_metadata(encoder, inputs, directory)
    on_step(f"comparing {len(TEXTS)} vectors with the model's")
    _check_vectors(OnnxEncoder(directory), encoder)


def _trace(model: Any, file: Path) -> list[str]:
    """Write the unoptimised graph of a model, and return the names of the graph's inputs."""
    with extra("models", "exporting a model", ExportError):
        import torch

    features = model.preprocess(["one text", "another one, which is a little longer"])
    names = [name for name in _INPUTS if name in features]

    class TracedModel(torch.nn.Module):  # type: ignore[misc]
        """A torch module that maps token ids to pooled vectors and token vectors."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *inputs: Any) -> tuple[Any, Any]:
            outputs = self.model(dict(zip(names, inputs, strict=True)))
            return torch.nn.functional.normalize(outputs["sentence_embedding"], dim=1), outputs["token_embeddings"]

    axes = {name: {0: "text", 1: "piece"} for name in (*names, TOKEN_VECTORS)} | {VECTORS: {0: "text"}}
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # tracing warns about branches; the result is verified below
        torch.onnx.export(
            TracedModel().eval(),
            tuple(features[name] for name in names),
            str(file),
            input_names=names,
            output_names=[VECTORS, TOKEN_VECTORS],
            dynamic_axes=axes,
            opset_version=OPSET,
            dynamo=False,
        )
    return names


def _write_metadata(encoder: TorchEncoder, inputs: Sequence[str], directory: Path) -> None:
    """Write the tokenizer, and what `OnnxEncoder` has to know about the graph."""
    tokenizer = encoder.model.tokenizer
    padding = {
        "input_ids": tokenizer.pad_token_id or 0,
        "attention_mask": 0,
        "token_type_ids": getattr(tokenizer, "pad_token_type_id", 0),
    }
    metadata = {
        "dimension": encoder.dimension,
        "window": encoder.window,
        "padding": {name: padding[name] for name in inputs},
    }
    (directory / METADATA).write_text(json.dumps(metadata), encoding="utf-8")
    (directory / TOKENIZER).write_text(encoder.tokenizer.to_str(), encoding="utf-8")


def _check_vectors(graph: OnnxEncoder, encoder: TorchEncoder) -> None:
    """Raise `ExportError` if the graph's vectors of texts or of word pieces differ from the model's."""
    differences = [np.abs(graph.encode(TEXTS) - encoder.encode(TEXTS)).max()]
    for text in TEXTS[:: len(_LENGTHS) + 1]:
        expected = np.asarray(encoder.model.encode(text, prompt="", output_value="token_embeddings"))
        actual = graph.token_vectors(text)
        if expected.shape != actual.shape:
            raise ExportError(f"the model's token vectors have shape {expected.shape}, the graph's {actual.shape}")
        differences.append(np.abs(actual - expected).max() / max(1.0, float(np.abs(expected).max())))
    if not np.max(differences) <= TOLERANCE:  # negated, so that NaN fails too
        raise ExportError(f"the model's vectors and the graph's differ by up to {np.max(differences):.1e}")


def main(arguments: Sequence[str]) -> int:
    """Export one model into one directory, and return the exit status."""
    model, directory = arguments

    def print_message(**line: str) -> None:
        print(json.dumps(line), flush=True)  # noqa: T201

    try:
        export(model, Path(directory), lambda step: print_message(step=step))
    except (ExportError, EmbeddingUnavailable) as error:
        print_message(problem=str(error))
    except Exception as error:  # noqa: BLE001 - a model may fail in torch in any way, and sentence-transformers serves
        print_message(problem=f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
    else:
        return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
