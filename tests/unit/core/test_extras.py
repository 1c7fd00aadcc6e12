"""Features whose packages are not installed name the line that installs them, and the rest works without any."""

from __future__ import annotations

import asyncio
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import packages_distributions
from pathlib import Path

import numpy as np
import pytest
from packaging.utils import canonicalize_name

import atlas
from atlas.cli import main, profiles
from atlas.core.errors import EmbeddingUnavailable, ExtraMissing, LLMUnavailable
from atlas.core.imports.distribution import EXTRAS, NAME, extra, installed_extras, missing_package
from atlas.core.index_address import read_index_address
from atlas.core.settings import Settings
from atlas.embedding.choice import BUNDLED, choose_model, model_files
from atlas.embedding.cross_encoder import CrossEncoderReranker
from atlas.embedding.onnx_cache import MissingExport, OnnxCache
from atlas.embedding.sentence_transformers import SentenceTransformerEmbedder
from atlas.embedding.torch_encoder import load_model
from atlas.learning.compression import compress
from atlas.learning.search.engines import Corpus, EngineError
from atlas.learning.search.limits import Limits
from atlas.learning.search.stitch import StitchEngine
from atlas.learning.terms.terms import read_term
from atlas.llm.client import ModelClient
from atlas.llm.structured_output import Question, ask
from atlas.maps.domains import find_domains, match_domains
from atlas.maps.knn import nearest_neighbours
from atlas.maps.projection import fit
from atlas.memory.base.tables import build_frame
from atlas.storage.following_index import IndexUnreachable
from atlas.storage.vectors.remote.chroma import ChromaService
from atlas.testing import ScriptedLLM
from atlas.views.lists.tables import FORMS
from atlas.views.map.figure import map_figure
from atlas.views.overview.index_state import index_state
from atlas.views.shared.language_model import language_model
from tests.support import requirements

WITH_KEY = Settings(llm_forbidden=False, llm_base_url="http://127.0.0.1:1")
VECTORS = np.eye(40, dtype=np.float32)
POINTS = np.random.default_rng(0).random((40, 2), np.float32)

BESIDE = ("google.protobuf", "httpx2", "itsdangerous", "mcp_types", "pydantic", "starlette", "transformers", "uvicorn")
"""What the packages of the extras bring in, and nothing else."""

OPTIONAL = sorted({*BESIDE, *(package for packages in EXTRAS.values() for package in packages)})


@dataclass(frozen=True, slots=True)
class Feature:
    """Something that an extra is installed for."""

    extra: str
    package: str
    use: Callable[[Path], object]
    error: type[Exception] = ExtraMissing


def ask_scripted() -> object:
    question = Question(system="system", prompt="prompt", schema={"type": "object"}, validate=dict)
    return asyncio.run(ask(ScriptedLLM([]), question))


def search_by_stitch() -> object:
    terms = (read_term("(a)"), read_term("(a)"))
    return StitchEngine().abstractions(Corpus(terms=terms, tasks=("1", "2")), Limits())


def ask_chroma() -> object:
    return ChromaService(read_index_address("chroma+http://127.0.0.1:1"), seconds=1.0).count("all")


FEATURES = [
    Feature("chroma", "chromadb", lambda _: ask_chroma(), IndexUnreachable),
    Feature("dashboard", "plotly", lambda _: map_figure(None, None, None, height=1)),
    Feature("learning", "stitch_core", lambda _: search_by_stitch(), EngineError),
    Feature("llm", "anthropic", lambda _: ModelClient(WITH_KEY), LLMUnavailable),
    Feature("llm", "jsonschema", lambda _: ask_scripted(), LLMUnavailable),
    Feature("map", "scipy", lambda _: match_domains(np.zeros(3, np.int32), np.zeros(3, np.int32))),
    Feature("map", "sklearn", lambda _: find_domains(POINTS)),
    Feature("map", "umap", lambda _: fit(VECTORS, nearest_neighbours(VECTORS, 15), engine="umap-learn")),
    Feature("models", "huggingface_hub", lambda _: model_files("some/model"), EmbeddingUnavailable),
    Feature("models", "onnx", lambda path: OnnxCache(path / "cache").has_export(path), MissingExport),
    Feature("models", "sentence_transformers", lambda _: load_model("some/model"), EmbeddingUnavailable),
    Feature("models", "torch", lambda _: CrossEncoderReranker("some/model").prepare(str), EmbeddingUnavailable),
    Feature("tables", "pandas", lambda _: build_frame({})),
    Feature("tables", "pyarrow", lambda _: FORMS["Parquet"](None)),
]


@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: f"{feature.extra}-{feature.package}")
def test_a_feature_names_its_package_and_the_line_that_installs_it(feature, tmp_path, block):
    block(feature.package)
    line = re.escape(f"pip install '{NAME}[{feature.extra}]'")
    with pytest.raises(feature.error, match=rf"needs the package {feature.package}, which is not installed.*{line}"):
        feature.use(tmp_path)


def test_a_package_that_is_installed_by_halves_is_named_by_what_it_lacks(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import other_half\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    sentence = rf"a feature needs the package other_half, .*{NAME}\[map\]"
    with pytest.raises(ExtraMissing, match=sentence), extra("map", "a feature"):
        import half_installed  # noqa: F401


def test_an_extra_is_installed_with_all_of_its_packages(block):
    assert installed_extras() == [*EXTRAS]
    block("umap")
    assert installed_extras() == [name for name in EXTRAS if name not in {"map", "dashboard", "server"}]
    assert missing_package("tables", "a table") == ""


def test_a_new_store_takes_the_bundled_model_where_no_other_could_be_run(block):
    block("sentence_transformers")
    choice = choose_model(announce=pytest.fail)
    assert choice.name == BUNDLED
    assert f"pip install '{NAME}[models]'" in choice.announcement


def test_a_model_that_nothing_can_run_is_no_slower_one(block, tmp_path):
    block("sentence_transformers")
    embedder = SentenceTransformerEmbedder(str(tmp_path), cache=tmp_path / "cache")
    assert embedder.engine.startswith("nothing: ")
    assert embedder.engine.endswith(f"pip install '{NAME}[models]'")


def test_a_compression_without_stitch_reports_what_searched(block):
    block("stitch_core")
    notes = compress({"a": "x = 1\n", "b": "y = 2\n"}, limits=Limits(iterations=1)).notes
    assert [note for note in notes if f"pip install '{NAME}[learning]'" in note and "Stitch" in note]


def test_the_page_of_models_names_the_missing_package_and_not_the_key(block):
    block("anthropic")
    assert language_model(WITH_KEY).client is None
    assert language_model(WITH_KEY).sentences[-1].endswith(f"pip install '{NAME}[llm]'")


@pytest.mark.parametrize("is_installed", [True, False])
def test_the_index_is_reported_missing_where_it_would_be_used(is_installed, block, tmp_path):
    if not is_installed:
        block("chromadb")
    settings = Settings(store=tmp_path, embedding_model=BUNDLED, exact_max_rows=1)
    with atlas.open_memory(settings=settings) as memory:
        for number, text in enumerate(("sort a list", "parse a date", "read a file")):
            task = atlas.Task(id=str(number), domain="code", description=text)
            memory.experience.store(atlas.Trajectory(task=task, steps=(), outcome=atlas.Outcome(success=True)))
        assert memory.experience.search(task, k=1)
        assert (f"pip install '{NAME}[chroma]'" in index_state(memory)) is not is_installed


USES = """
import atlas, tempfile
with atlas.open_memory(tempfile.mkdtemp(), announce=print) as memory:
    task = atlas.Task(id="words-1", domain="text", description="Sort a list of words by their length")
    steps = tuple(atlas.Step(action=action) for action in ("read", "sorted(words, key=len)", "print"))
    memory.store(atlas.Trajectory(task=task, steps=steps, outcome=atlas.Outcome(success=True)))
    memory.journal.add("observation", "words sort by length with a key", generation=1)
    assert len(memory.experience.retrieve("Sort words by how long they are", k=1).hits) == 1
    assert memory.experience.search(task)
    assert memory.strategies.read(task)
    assert memory.journal.recent(1)
    print(memory.build_context(task, budget_tokens=1_000).text)
"""


def test_a_memory_is_written_searched_and_read_without_any_optional_package():
    done = run_without_extras(USES)
    assert done.returncode == 0, done.stderr
    assert "Sort a list of words by their length" in done.stdout


def test_commands_work_without_any_optional_package(tmp_path):
    for arguments in (["--help"], ["init"], ["search", "sort a list"], ["status"], ["doctor"]):
        done = command_without_extras(tmp_path, arguments)
        assert (done.returncode, done.stderr.count("bug in ATLAS")) == (0, 0), done.stderr
    status = command_without_extras(tmp_path, ["status"]).stdout
    assert re.search(r"^extras +none$", status, re.MULTILINE)


def test_refining_without_the_sdk_of_the_model_that_is_configured_reports_that(tmp_path):
    command_without_extras(tmp_path, ["init"])
    done = command_without_extras(tmp_path, ["refine"])
    assert done.returncode == 0
    assert "refining without a language model: a language model needs the package anthropic" in done.stderr


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("server", ["serve"]),
        ("mcp", ["mcp"]),
        ("llm", ["compress", "--by", "model"]),
        ("postgres", ["--store", "postgresql://127.0.0.1:1/none", "status"]),
    ],
)
def test_a_command_without_its_packages_prints_the_line_that_installs_them(name, arguments, tmp_path):
    done = command_without_extras(tmp_path, arguments)
    assert done.returncode == 1
    assert re.fullmatch(rf"atlas: .*pip install '{NAME}\[{name}\]'\n", done.stderr)


def test_a_plug_in_that_misses_a_package_is_named_instead_of_an_extra(tmp_path, monkeypatch, capsys):
    """A module that a command calls stands for a plug-in, and one that it misses for a dependency of the plug-in."""
    (tmp_path / "some_plug_in.py").write_text("def greet(options, settings):\n    import greeting_cards\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    greet = importlib.import_module("some_plug_in").greet
    monkeypatch.setattr(profiles, "_list", greet)
    assert main(["profiles"]) == 1
    assert capsys.readouterr().err == (
        "atlas: some_plug_in needs the package greeting_cards, which is not installed; neither is part of ATLAS, so "
        "reinstall some_plug_in with its dependencies\n"
    )


def command_without_extras(directory: Path, arguments: list[str]) -> subprocess.CompletedProcess[str]:
    source = f"import sys, atlas.cli; sys.exit(atlas.cli.main({arguments!r}))"
    surroundings = {
        "ATLAS_STORE": str(directory / "store"),
        "ATLAS_EMBEDDING_MODEL": BUNDLED,
        "ATLAS_LLM_FORBIDDEN": "",
        "ATLAS_LLM_BASE_URL": "http://127.0.0.1:1",
    }
    return run_without_extras(source, surroundings)


def run_without_extras(source: str, surroundings: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    blocked = f"import sys; sys.modules.update(dict.fromkeys({OPTIONAL!r}))\n"
    return subprocess.run(
        [sys.executable, "-c", blocked + source],
        env={**os.environ, **(surroundings or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def block(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Make importing a package fail as if it were not installed."""
    before = set(sys.modules)

    def block_package(package: str) -> None:
        loaded = [name for name in sys.modules if name.startswith(f"{package}.")]
        for name in (package, *loaded):
            monkeypatch.setitem(sys.modules, name, None)

    yield block_package
    for name in sys.modules.keys() - before:
        if name.partition(".")[0] in {"sentence_transformers", "transformers"}:  # they remember that there was no torch
            del sys.modules[name]


def test_the_table_of_extras_is_that_of_the_distribution():
    assert set(EXTRAS) == set(requirements.EXTRAS) - {"all", "dev", "docs"}
    sources = packages_distributions()
    for name, packages in EXTRAS.items():
        brought = requirements.closure({name})
        assert [package for package in packages if brought.isdisjoint(map(canonicalize_name, sources[package]))] == []
