"""The build's own code: which of the model's files it writes, and that it takes no others for them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from atlas.embedding.choice import BUNDLED_SHA256, bundled_weights
from hatch_build import missing_files, write_files

CONTENT = b"weights"
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A directory that lists two files and has neither."""
    (tmp_path / "SHA256SUMS").write_text(f"{DIGEST}  model.safetensors\n{DIGEST}  1_Pooling/config.json\n")
    return tmp_path


def test_missing_files_are_written_and_then_none_is_missing(model: Path):
    missing = missing_files(model)
    assert set(missing) == {"model.safetensors", "1_Pooling/config.json"}
    write_files(model, missing, lambda name: CONTENT)
    assert (model / "1_Pooling" / "config.json").read_bytes() == CONTENT
    assert missing_files(model) == {}


def test_a_changed_file_is_written_again(model: Path):
    write_files(model, missing_files(model), lambda name: CONTENT)
    (model / "model.safetensors").write_bytes(b"half of the wei")
    assert set(missing_files(model)) == {"model.safetensors"}


def test_a_file_with_another_digest_is_refused(model: Path):
    with pytest.raises(ValueError, match=f"expected model.safetensors .* with SHA-256 {DIGEST}, got "):
        write_files(model, missing_files(model), lambda name: b"others")
    assert not (model / "model.safetensors").exists()


def test_the_installed_model_is_the_one_that_the_build_lists():
    directory = bundled_weights()
    assert missing_files(directory) == {}
    assert f"{BUNDLED_SHA256}  model.safetensors" in (directory / "SHA256SUMS").read_text(encoding="utf-8")
