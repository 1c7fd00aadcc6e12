"""Regenerate the files of this folder from the weights: `python -m atlas.embedding.minilm.make`.

The command needs the extra `models`. The graph is exported like any other model's. Then its weights are replaced by
references to offsets in the published file.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from atlas.core.types import Vectors
from atlas.embedding.choice import BUNDLED
from atlas.embedding.late_interaction import fit_projection
from atlas.embedding.minilm.bundled import DIRECTORY, PROJECTION, TENSORS, bundled_files, weights_fingerprint
from atlas.embedding.minilm.queries import write_queries
from atlas.embedding.onnx_encoder import GRAPH, METADATA, OnnxEncoder
from atlas.embedding.onnx_export import TEXTS, TOLERANCE, ExportError, export

_TYPES = {"F32": "<f4", "I64": "<i8"}
"""Number types in the file of weights."""

_DOMAINS = {"", "com.microsoft"}
"""Operator sets (ONNX domains) that the graph uses."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of a safetensors file."""

    values: Vectors
    offset: int
    """Offset of the tensor's first byte in the file."""


def make(directory: Path) -> None:
    """Write the bundled model's graph, metadata, projection and calibration queries to a directory.

    Raises:
        ExportError: The vectors of the graph differ from the model's.
    """
    weights = bundled_files()
    with TemporaryDirectory() as scratch:
        exported = Path(scratch)
        export(BUNDLED, exported, lambda step: print(step, file=sys.stderr))  # noqa: T201
        (directory / GRAPH).write_bytes(graph_with_weights(weights / TENSORS, exported / GRAPH))
        metadata = json.loads((exported / METADATA).read_text(encoding="utf-8"))
        _write(directory / METADATA, metadata | {"weights": weights_fingerprint(weights / TENSORS)})
        encoder, copy = OnnxEncoder(directory, weights=weights), OnnxEncoder(exported)
        difference = float(np.abs(encoder.encode(TEXTS) - copy.encode(TEXTS)).max())
    if not difference <= TOLERANCE:
        raise ExportError(
            f"with the published weights, the graph's vectors differ from the export's by up to {difference:.1e}"
        )
    projection = fit_projection(encoder.encode_with_tokens)
    assert projection is not None
    (directory / PROJECTION).write_text(projection.as_text() + "\n", encoding="ascii")
    write_queries(directory, encoder, projection)


def graph_with_weights(weights: Path, graph: Path) -> bytes:
    """Return a graph whose large weights refer to a safetensors file, matched by value.

    The matrices of linear layers are transposed in that file, so the operator is changed to transpose them back.
    """
    import onnx

    model = onnx.load(graph)
    tensors = read_tensors(weights)
    tensors_by_content = {_content_key(tensor.values): tensor for tensor in tensors.values()}
    transposed_tensors = {
        _content_key(tensor.values.T): tensor for tensor in tensors.values() if tensor.values.ndim == 2
    }
    transposed_names = set[str]()
    for weight in model.graph.initializer:
        key = _content_key(onnx.numpy_helper.to_array(weight))
        tensor = tensors_by_content.get(key) or transposed_tensors.get(key)
        if tensor is not None:
            _refer_to_file(weight, tensor, weights.name)
            if key not in tensors_by_content:
                transposed_names.add(weight.name)
    for node in model.graph.node:
        if transposed_names & set(node.input):
            _transpose(node, transposed_names)
    used_opsets = [opset for opset in model.opset_import if opset.domain in _DOMAINS]
    del model.opset_import[:]
    model.opset_import.extend(used_opsets)
    content: bytes = model.SerializeToString(deterministic=True)
    return content


def read_tensors(file: Path) -> Mapping[str, Tensor]:
    """Return the tensors of a safetensors file, keyed by name."""
    content = file.read_bytes()
    start = 8 + struct.unpack("<Q", content[:8])[0]
    table = json.loads(content[8:start])
    table.pop("__metadata__", None)
    tensors = {}
    for name, entry in table.items():
        begin, end = (start + offset for offset in entry["data_offsets"])
        values = np.frombuffer(content[begin:end], _TYPES[entry["dtype"]]).reshape(entry["shape"])
        tensors[name] = Tensor(values, begin)
    return tensors


def _content_key(values: Vectors) -> tuple[tuple[int, ...], bytes]:
    """Return a key by which tensors with equal values are found."""
    return values.shape, values.tobytes()


def _refer_to_file(weight: Any, tensor: Tensor, location: str) -> None:
    """Make a weight of a graph refer to the tensor's offset in a file instead of containing its values."""
    import onnx

    weight.ClearField("raw_data")
    del weight.dims[:]
    weight.dims.extend(tensor.values.shape)
    weight.data_location = onnx.TensorProto.EXTERNAL
    del weight.external_data[:]
    fields = {"location": location, "offset": tensor.offset, "length": tensor.values.nbytes}
    for key, value in fields.items():
        weight.external_data.add(key=key, value=str(value))


def _transpose(node: Any, transposed_names: set[str]) -> None:
    """Change a MatMul node of a graph to multiply by the transpose of its weight.

    Args:
        transposed_names: Names of the weights that are transposed in the file.

    Raises:
        ExportError: The node is not a MatMul.
    """
    import onnx

    if node.op_type != "MatMul" or node.input[1] not in transposed_names:
        raise ExportError(
            f"expected a MatMul over a matrix that is transposed in the file of weights, got {node.op_type} "
            f"{node.name!r}; "
            "adapt this function to the exported graph"
        )
    node.op_type, node.domain = "FusedMatMul", "com.microsoft"
    node.attribute.append(onnx.helper.make_attribute("transB", 1))


def _write(file: Path, content: Mapping[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    make(DIRECTORY)
