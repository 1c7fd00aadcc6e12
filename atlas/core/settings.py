"""All settings of ATLAS with their environment variables, defaults and units."""

from __future__ import annotations

import getpass
import os
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import platformdirs

from atlas.core.address import is_address, local_directory
from atlas.core.errors import InvalidInput
from atlas.core.imports.distribution import DIRECTORY
from atlas.core.index_address import read_index_address


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingWeights:
    """Ranking weights: relevance, from meaning and words, and small nudges among hits of similar relevance.

    Two hits whose relevance differs by more than `nudges` are never swapped.
    """

    meaning: float = 0.45
    """Weight of similarity in meaning: 0 for unrelated texts, 1 for neighbours."""

    words: float = 0.55
    """Weight of the IDF-weighted share of the query's words in the record, to the power 0.7."""

    success: float = 0.02
    """Added in full for a success and by half for an unknown outcome. Nothing is added for a failure."""

    use: float = 0.01
    """Weight of the share of a record's uses that succeeded, or of one half without uses."""

    recency: float = 0.005
    """Weight of recency, which halves every `recency_half_life_days`."""

    recency_half_life_days: float = 90.0

    pin: float = 0.005
    """Added for a pinned record."""

    importance: float = 0.02
    """Weight of a journal entry's importance, in [0, 1], in place of `success`: an entry is not an attempt."""

    strictness: float = 1.0
    """Factor on the store's level, which the best hit has to reach for any hits to be shown.

    At 0 all hits are shown. The factor is multiplied by the strictness of the store.

    The level is the relevance that 97 of 100 queries about other subjects do not reach in this store, or less where
    that would hide too many answers.
    """

    @property
    def nudges(self) -> float:
        """Largest sum of the signals for success (or importance instead), use, recency and pin."""
        return max(self.success, self.importance) + self.use + self.recency + self.pin


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings, read once when a store is opened, and passed as arguments, never global."""

    store: Path = Path(".atlas")
    """ATLAS_STORE: the store directory."""

    server: str = ""
    """ATLAS_STORE, if it is the URL of a server, such as `http://memory.example:8501`."""

    address: str = field(default="", repr=False)
    """ATLAS_STORE, if it is the address of a store in PostgreSQL: `postgresql://user@host/database?schema=team`."""

    index: str = ""
    """ATLAS_INDEX: the address of a service that keeps the index: `pinecone://INDEX-HOST`, `chroma+http://HOST:PORT` or
    `chroma+cloud://TENANT/DATABASE`. Empty for none."""

    index_timeout_seconds: float = 5.0
    """ATLAS_INDEX_TIMEOUT_SECONDS: timeout of that service. A search goes on without a service that is slower."""

    key: str = field(default="", repr=False)
    """ATLAS_KEY: API key for the server. Your own server on this machine needs none."""

    embedding_model: str = ""
    """ATLAS_EMBEDDING_MODEL: a model's name, or the directory of its files.

    Empty means the store's own. A new store uses bge-base, or the bundled MiniLM where bge-base is not available.
    """

    query_prompt: str = ""
    """ATLAS_QUERY_PROMPT: prefix of each query. Empty means the model's own, and `none` no prefix."""

    document_prompt: str = ""
    """ATLAS_DOCUMENT_PROMPT: prefix of each document, with the same special values. A store keeps its first prefix."""

    device: str = "auto"
    """ATLAS_DEVICE: `auto` and `cpu` run the model on the CPU, `cuda` or `mps` on a GPU."""

    cache: Path = field(default_factory=lambda: user_cache())
    """ATLAS_CACHE: directory of exported embedding models for all stores. By default the user's cache directory."""

    batch_size: int = 32
    """ATLAS_BATCH_SIZE: texts embedded at once."""

    hub_timeout_seconds: float = 3.0
    """ATLAS_HUB_TIMEOUT_SECONDS: timeout of the model hub, after which a new store uses the bundled model."""

    read_only: bool = False
    """ATLAS_READ_ONLY: 1 opens stores for reading only."""

    actor: str = field(default_factory=lambda: login_name())
    """ATLAS_ACTOR: name of the actor in the history."""

    late_interaction: bool = True
    """ATLAS_LATE_INTERACTION: 0 stores no token vectors, and compares texts by pooled vectors and keywords only."""

    reranker: str = ""
    """ATLAS_RERANKER: a cross-encoder's name, or the directory of its files.

    The cross-encoder reranks the first 20 experiences of a search. Empty for no reranker.
    """

    success_updater: str = "ema"
    """ATLAS_SUCCESS_UPDATER: how strategies' success rates follow from outcomes: `ema`, `average`, `bayesian`,
    `recency`, or the name of a plug-in."""

    busy_timeout_seconds: float = 60.0
    """ATLAS_BUSY_TIMEOUT_SECONDS: timeout of a write that waits for other writers."""

    restore_max_ratio: float = 50.0
    """ATLAS_RESTORE_MAX_RATIO: largest ratio between a backup's unpacked and packed sizes, above 64 MB."""

    exact_max_rows: int = 25_000
    """ATLAS_EXACT_MAX_ROWS: number of vectors up to which a query scans all in memory instead of asking the index."""

    index_lag_rows: int = 5_000
    """ATLAS_INDEX_LAG_ROWS: number of records that the index may lag behind before a writer updates it."""

    max_import_megabytes: int = 2_048
    """ATLAS_MAX_IMPORT_MEGABYTES: size of an unpacked file above which an import refuses it."""

    keep_noise: bool | None = None
    """ATLAS_KEEP_NOISE: whether the journal accepts entries without content, 1 or 0. By default the store's setting."""

    keep_repetitions: bool | None = None
    """ATLAS_KEEP_REPETITIONS: whether the journal accepts entries that repeat a recent one of their type, 1 or 0.

    By default the store's setting.
    """

    scrub_secrets: bool = True
    """ATLAS_SCRUB_SECRETS: 0 stores secrets, such as API keys in an agent's actions, unchanged.

    Imports of logs always replace them.
    """

    llm_model: str = "claude-haiku-5-5"
    """ATLAS_LLM_MODEL: the language model. The API key is in ANTHROPIC_API_KEY."""

    llm_base_url: str = ""
    """ATLAS_LLM_BASE_URL: a language model's server. Empty means the SDK's own (ANTHROPIC_BASE_URL)."""

    llm_api: str = ""
    """ATLAS_LLM_API: that server's protocol: `anthropic` for the Messages API, `openai` for chat completions.

    Empty to detect it at the first request.
    """

    llm_context_tokens: int = 200_000
    """ATLAS_LLM_CONTEXT_TOKENS: size of the model's context window in tokens. Long data are cut to fit."""

    llm_timeout_seconds: float = 120.0
    """ATLAS_LLM_TIMEOUT_SECONDS: timeout of one request."""

    llm_store_seconds: float = 20.0
    """ATLAS_LLM_STORE_SECONDS: time limit for all language model requests while an attempt is stored.

    Unfinished work is done later, in the background.
    """

    llm_retries: int = 3
    """ATLAS_LLM_RETRIES: maximum number of retries if the service is overloaded or fails."""

    llm_concurrency: int = 2
    """ATLAS_LLM_CONCURRENCY: maximum number of concurrent requests."""

    llm_thinking_tokens: int = 4_096
    """ATLAS_LLM_THINKING_TOKENS: tokens reserved for a model's thinking, in addition to the answer."""

    llm_budget_tokens: int = 200_000
    """ATLAS_LLM_BUDGET_TOKENS: maximum number of input and output tokens of one operation."""

    llm_forbidden: bool = field(default_factory=lambda: _parse_flag("ATLAS_LLM_FORBIDDEN", os.environ))
    """ATLAS_LLM_FORBIDDEN: 1 forbids requests to models on other machines. Tests set it."""

    compress_every: int = 20
    """ATLAS_COMPRESS_EVERY: number of new successes with programs after which compression runs. 0 for never."""

    compress_seconds: float = 120.0
    """ATLAS_COMPRESS_SECONDS: processor time of a search for concepts. What it found by then is used."""

    evaluate_growth: float = 0.2
    """ATLAS_EVALUATE_GROWTH: share of added or changed experiences after which the dashboard evaluates searches again
    in the background. 0 for never."""

    holdout: float = 0.0
    """ATLAS_HOLDOUT: share of attempts, from 0 to below 1, that are randomly held out with an empty context block, to
    measure whether memory helps. 0 for none."""

    program_path: tuple[Path, ...] = ()
    """ATLAS_PROGRAM_PATH: directories of modules that programs import, separated as in PATH. Learning reads them."""

    ranking: RankingWeights | None = None
    """Weights of all searches, or None for the store's active profile."""

    @property
    def directory(self) -> Path:
        """The store's directory, or the local directory of a store in PostgreSQL.

        Raises:
            InvalidInput: The store is on a server.
        """
        if self.server:
            raise InvalidInput(
                f"this operation needs the store's directory, but ATLAS_STORE is the URL of a server, {self.server}; "
                "run it on the server's machine, use its dashboard, or use atlas.connect()"
            )
        return local_directory(self.address) if self.address else self.store

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read the settings from the ATLAS_* variables.

        Raises:
            InvalidInput: A value has the wrong type, or a variable is unknown.
        """
        environment = os.environ if environ is None else environ
        variables = {name: environment[name] for name in environment if name.startswith("ATLAS_")}
        _check_names(variables)
        store = variables.get("ATLAS_STORE", "")
        if _is_server_url(store):
            variables |= {"ATLAS_STORE": "", "ATLAS_SERVER": store}
        elif is_address(store):
            variables |= {"ATLAS_STORE": "", "ATLAS_ADDRESS": store}
        options = _option_types().items()
        values = {
            option: _parse_option(name, text, kind) for name, (option, kind) in options if (text := variables.get(name))
        }
        if values.get("index"):
            values["index"] = str(read_index_address(values["index"]))
        parse_share("ATLAS_HOLDOUT", values.get("holdout", 0.0))
        return cls(**values)


@cache
def _option_types() -> dict[str, tuple[str, Any]]:
    """Return the name and type of each option, keyed by its environment variable."""
    types = get_type_hints(Settings)
    return {f"ATLAS_{option.name.upper()}": (option.name, types[option.name]) for option in fields(Settings)}


def parse_share(name: str, share: float) -> float:
    """Return a share of attempts as a float after checking its range.

    Raises:
        InvalidInput: The value is not a number from 0 to below 1.
    """
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 <= share < 1:
        raise InvalidInput(f"expected a share of attempts, from 0 to below 1, for {name}, got {share!r:.80}")
    return float(share)


def _check_names(variables: Iterable[str]) -> None:
    """Raise `InvalidInput` for an unknown variable. A misspelt `ATLAS_STORE` would open another store."""
    names = _known_names()
    for name in sorted(variables):
        if name not in names:
            from difflib import get_close_matches

            matches = get_close_matches(name, names, n=1)
            hint = f"did you mean {matches[0]}?" if matches else f"the variables are: {', '.join(sorted(names))}."
            raise InvalidInput(f"expected a setting of ATLAS, got {name}; {hint} To continue without it: unset {name}")


@cache
def _known_names() -> frozenset[str]:
    return frozenset(_option_types()) - {"ATLAS_SERVER", "ATLAS_ADDRESS", "ATLAS_RANKING"} | _OTHER_VARIABLES


def bulk_settings(settings: Settings) -> Settings:
    """Return settings for bulk writes, which update indexes once at the end."""
    return replace(settings, index_lag_rows=sys.maxsize)


def settings_for_store(settings: Settings, store: str) -> Settings:
    """Return settings for another store, given as its directory or its address in PostgreSQL."""
    if is_address(store):
        return replace(settings, address=store, server="")
    if settings.address and local_directory(settings.address) == Path(store):
        return settings
    return replace(settings, store=Path(store), address="", server="")


def _is_server_url(store: str) -> bool:
    """Return whether a value of ATLAS_STORE is the URL of a server."""
    return store.lower().startswith(("http://", "https://"))


def user_cache() -> Path:
    """Return ATLAS_CACHE, or else the user's cache directory."""
    return Path(os.environ.get("ATLAS_CACHE") or platformdirs.user_cache_path(DIRECTORY))


_OTHER_VARIABLES = frozenset(
    [
        *("ATLAS_LOCAL", "ATLAS_DEBUG", "ATLAS_PORT", "ATLAS_ROLES", "ATLAS_PUBLIC_URL", "ATLAS_SESSION_HOURS"),
        *("ATLAS_LOG", "ATLAS_METRICS", "ATLAS_TRACES", "ATLAS_REQUESTS_PER_MINUTE"),
        *("ATLAS_OIDC_ISSUER", "ATLAS_OIDC_CLIENT", "ATLAS_OIDC_SECRET", "ATLAS_OIDC_SECRET_FILE"),
        *("ATLAS_OIDC_SCOPE", "ATLAS_OIDC_CLAIM"),
        *("ATLAS_PROXY", "ATLAS_PROXY_USER", "ATLAS_PROXY_NAME", "ATLAS_PROXY_GROUPS"),
        *("ATLAS_TRIAL_TASK", "ATLAS_TRIAL_BLOCK", "ATLAS_TRIAL_ANSWER"),
        *(
            "ATLAS_REAL_DATA",
            "ATLAS_RENEW_SNAPSHOTS",
            "ATLAS_BENCH_DATA",
            "ATLAS_PUBLIC",
            "ATLAS_MANUALS",
            "ATLAS_SHOTS",
        ),
        *(f"ATLAS_BENCHMARK_{suffix}" for suffix in ("SIZES", "PROGRAMS", "COPIES", "SEED", "SEEDS", "FILE")),
    ]
)
"""Variables for servers, for this machine, and for tests and benchmarks, which are not in `Settings`."""


def parse_directories(name: str, text: str) -> tuple[Path, ...]:
    """Parse directories separated as in PATH, and return absolute paths.

    Raises:
        InvalidInput: A path is not a directory.
    """
    paths = tuple(Path(part.strip()).expanduser().absolute() for part in text.split(os.pathsep) if part.strip())
    for path in paths:
        if not path.is_dir():
            raise InvalidInput(
                f"expected directories, separated by {os.pathsep!r}, for {name}, got {str(path)!r}, which is not a "
                "directory; correct it"
            )
    return paths


def join_directories(paths: tuple[Path, ...]) -> str:
    """Return directories as one string, separated as in PATH."""
    return os.pathsep.join(map(str, paths))


def as_variables(settings: Settings, options: Iterable[str]) -> dict[str, str]:
    """Return options as environment variables for `Settings.from_environment`."""
    return {f"ATLAS_{name.upper()}": _to_text(getattr(settings, name)) for name in options}


def _to_text(value: Any) -> str:
    if isinstance(value, tuple):
        return join_directories(value)
    return str(int(value) if isinstance(value, bool) else value)


_MAY_BE_ZERO = (
    *("ATLAS_COMPRESS_EVERY", "ATLAS_EVALUATE_GROWTH", "ATLAS_HOLDOUT"),
    *("ATLAS_LLM_RETRIES", "ATLAS_LLM_THINKING_TOKENS"),
)


def _parse_option(name: str, text: str, kind: Any) -> Any:
    """Return the value of a setting from the text of its variable, or raise `InvalidInput` for an invalid text."""
    if kind == tuple[Path, ...]:
        return parse_directories(name, text)
    if kind in (bool, bool | None):
        if text.lower() in {"1", "true", "yes", "on"}:
            return True
        if text.lower() in {"0", "false", "no", "off"}:
            return False
        raise InvalidInput(f"expected 1 or 0 for {name}, got {text!r}")
    try:
        value = kind(text)
    except ValueError as error:
        raise InvalidInput(f"expected {kind.__name__} for {name}, got {text!r}") from error
    is_zero_allowed = name in _MAY_BE_ZERO
    if kind in (int, float) and not (value >= 0 if is_zero_allowed else value > 0):
        expected = "a number from 0" if is_zero_allowed else "a positive number"
        raise InvalidInput(f"expected {expected} for {name}, got {text!r}")
    return value


def _parse_flag(name: str, environ: Mapping[str, str]) -> bool:
    return bool(environ.get(name)) and bool(_parse_option(name, environ[name], bool))


def login_name() -> str:
    """Return the operating system's name for this process's user, which is the default actor."""
    try:
        return os.environ.get("USER") or getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
