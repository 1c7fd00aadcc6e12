"""Choosing a model for a new store, and locating model files on this machine."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from atlas.core.errors import EmbeddingUnavailable
from atlas.core.imports.distribution import NAME, extra, missing_package

BUNDLED = "all-MiniLM-L6-v2"
DEFAULT_MODEL = "BAAI/bge-base-en-v1.5"
PREFERRED_SIZE = "about 440 MB"
"""Size of the download of the preferred model."""

BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

_BUNDLED_FILES = Path(__file__).with_name("minilm")
"""Directory of the bundled model's files, which every build and editable install fills, see `hatch_build.py`."""


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The embedding model chosen for a new store, and a sentence with the reason."""

    name: str
    announcement: str
    """One sentence to show to the user who creates the store."""


def choose_model(
    model: str = "",
    *,
    timeout_seconds: float = 3.0,
    announce: Callable[[str], None],
    confirm: Callable[[str], bool] | None = None,
) -> ModelChoice:
    """Return the model for a new store: the requested one, else bge-base if it is available and runs, else MiniLM.

    Args:
        model: Name of the requested model, or empty for the default.
        timeout_seconds: Timeout for the model hub, after which the bundled model is used.
        announce: Called with a message before anything slow.
        confirm: Called with a question before bge-base is downloaded. If None, only local files are used.
    """
    if model:
        return ModelChoice(
            canonical_name(model), f"This store uses the embedding model {canonical_name(model)}, as asked."
        )
    if missing := missing_package("models", DEFAULT_MODEL):
        return ModelChoice(BUNDLED, f"This store uses the bundled embedding model {BUNDLED}, because {missing}")
    if _is_cached(DEFAULT_MODEL):
        return ModelChoice(
            DEFAULT_MODEL, f"This store uses the embedding model {DEFAULT_MODEL}, found on this machine."
        )
    reason = _confirm_and_fetch(DEFAULT_MODEL, timeout_seconds, announce, confirm)
    if not reason:
        return ModelChoice(DEFAULT_MODEL, f"This store uses the embedding model {DEFAULT_MODEL}.")
    return ModelChoice(
        BUNDLED,
        f"This store uses the bundled embedding model {BUNDLED}, because {DEFAULT_MODEL} is not on this machine and "
        f"{reason}. To use another: atlas reembed --model {DEFAULT_MODEL}",
    )


def _confirm_and_fetch(
    model: str, timeout_seconds: float, announce: Callable[[str], None], confirm: Callable[[str], bool] | None
) -> str:
    """Download a model if the user agrees. Return an empty string, or the reason why it was not downloaded."""
    if confirm is None:
        return f"its {PREFERRED_SIZE} are fetched only if a person at a terminal agrees"
    if not _is_hub_reachable(model, timeout_seconds):
        return "the model hub did not answer"
    if not confirm(f"Fetch the embedding model {model} ({PREFERRED_SIZE}) from the model hub? Without it the bundled "
                   f"{BUNDLED} is used."):  # fmt: skip
        return "fetching it was declined"
    announce(f"Fetching the embedding model {model} ({PREFERRED_SIZE}), once …")
    return "" if _fetch(model) else "the model could not be fetched from the model hub"


def canonical_name(model: str) -> str:
    """Return the canonical spelling of a model's name."""
    name = model.removeprefix("sentence-transformers/")
    return name if name == BUNDLED else model


def model_files(model: str) -> Path | None:
    """Return the local directory of a model's files, or None if the files have to be downloaded.

    Raises:
        EmbeddingUnavailable: The files of the bundled model, or the package that locates other models, are missing.
    """
    if model == BUNDLED:
        return _bundled_files()
    if (local := Path(model)).is_dir():
        return local
    with extra("models", f"the embedding model {model!r}", EmbeddingUnavailable):
        from huggingface_hub import try_to_load_from_cache

    for name in (model, f"sentence-transformers/{model}"):
        with suppress(ValueError):  # not a valid name on the hub
            cached_file = try_to_load_from_cache(name, "modules.json")
            if isinstance(cached_file, str):
                return Path(cached_file).parent
    return None


def model_size(model: str) -> int:
    """Return the size of a model's files on this machine in bytes, or 0 if there are none."""
    try:
        directory = model_files(model)
    except EmbeddingUnavailable:
        return 0
    if directory:
        return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
    return 0


def bundled_weights() -> Path:
    """Return the directory of the bundled model after verifying the SHA-256 digest of its weights.

    Raises:
        EmbeddingUnavailable: The model's files are missing, or the digest of its weights differs.
    """
    directory = _bundled_files()
    weights = directory / "model.safetensors"
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != BUNDLED_SHA256:
        raise EmbeddingUnavailable(
            f"the weights in {weights} have SHA-256 {digest}, not {BUNDLED_SHA256}; "
            f"install ATLAS again: pip install --force-reinstall {NAME}"
        )
    return directory


def _bundled_files() -> Path:
    """Return the directory of the bundled model's files, or raise `EmbeddingUnavailable` if they are missing."""
    if not (_BUNDLED_FILES / "model.safetensors").is_file():
        raise EmbeddingUnavailable(
            f"expected the weights of {BUNDLED} in {_BUNDLED_FILES}, but they are missing; install ATLAS again: pip "
            f"install --force-reinstall {NAME}"
        )
    return _BUNDLED_FILES


def _is_cached(model: str) -> bool:
    """Return whether a model was downloaded from the hub before."""
    from huggingface_hub import try_to_load_from_cache

    return all(isinstance(try_to_load_from_cache(model, name), str) for name in ("config.json", "model.safetensors"))


def _is_hub_reachable(model: str, timeout_seconds: float) -> bool:
    """Return whether the model hub has a model and answers in time. Always False in offline mode."""
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in {"1", "true", "yes", "on"}:
        return False
    url = f"{os.environ.get('HF_ENDPOINT', 'https://huggingface.co')}/{model}/resolve/main/config.json"
    answers: list[bool] = []
    thread = threading.Thread(target=lambda: answers.append(_is_url_reachable(url, timeout_seconds)), daemon=True)
    thread.start()
    thread.join(timeout_seconds)  # DNS lookups have no timeout of their own
    return answers == [True]


def _is_url_reachable(url: str, timeout_seconds: float) -> bool:
    """Return whether a server answers a request for a URL's headers without an error."""
    import urllib.request

    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=timeout_seconds):
            return True
    except (OSError, ValueError):
        return False


def _fetch(model: str) -> bool:
    """Download a model from the hub, and return whether that succeeded."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        snapshot_download(model, allow_patterns=["*.json", "*.txt", "model.safetensors", "1_Pooling/*"])
    except (OSError, HfHubHTTPError):
        return False
    return True
