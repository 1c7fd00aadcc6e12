"""Every name of the specifications can be imported from the module that they put it in, and takes what they say."""

from __future__ import annotations

import inspect
import subprocess
import sys
from importlib import import_module

import pytest

from atlas.core.errors import InvalidInput
from atlas.memory.experience import PassthroughRefineStrategy, SimpleExperienceExtractor
from atlas.memory.strategies import EMASuccessUpdater
from atlas.testing import ScriptedLLM
from tests.support.contract.plain import PLAIN, PlainConcepts, PlainExperience, PlainStrategies
from tests.support.contract.specified_names import NAMES

REQUIRED = inspect.Parameter.empty

SIGNATURES = {
    "atlas.memory.experience.ChromaExperienceMemory": {
        "embedder": REQUIRED,
        "vector_store": REQUIRED,
        "extractor": SimpleExperienceExtractor,
        "refine_strategy": PassthroughRefineStrategy,
        "collection_name": "atlas_experiences",
    },
    "atlas.memory.experience.LLMSummarizingExtractor": {"llm_client": REQUIRED},
    "atlas.memory.experience.LLMRefineStrategy": {"llm_client": REQUIRED},
    "atlas.memory.concepts.ChromaConceptLibrary": {
        "embedder": REQUIRED,
        "vector_store": REQUIRED,
        "primitive_loader": None,
        "composition_strategy": None,
        "compression_strategy": None,
        "collection_name": "atlas_concepts",
    },
    "atlas.memory.concepts.LLMCompositionStrategy": {"llm_client": REQUIRED},
    "atlas.memory.concepts.StitchCompressionStrategy": {"documenter": None},
    "atlas.memory.concepts.LLMAutoDocumenter": {"llm_client": REQUIRED},
    "atlas.memory.strategies.ChromaStrategyBank": {
        "embedder": REQUIRED,
        "vector_store": REQUIRED,
        "abstractor": REQUIRED,
        "success_updater": EMASuccessUpdater,
        "collection_name": "atlas_strategies",
    },
    "atlas.memory.strategies.LLMStrategyAbstractor": {"llm_client": REQUIRED},
    "atlas.memory.strategies.EMASuccessUpdater": {"alpha": 0.1},
    "atlas.memory.strategies.BayesianUpdater": {"prior_alpha": 1.0, "prior_beta": 1.0},
    "atlas.memory.system.MemorySystemImpl": {"experience": None, "concepts": None, "strategies": None},
    "atlas.memory.experience.ChromaExperienceMemory.store": {"trajectory": REQUIRED},
    "atlas.memory.experience.ChromaExperienceMemory.search": {"task": REQUIRED, "k": 4},
    "atlas.memory.experience.ChromaExperienceMemory.refine": {"experiences": REQUIRED},
    "atlas.memory.experience.ChromaExperienceMemory.prune": {"criteria": REQUIRED},
    "atlas.memory.concepts.ChromaConceptLibrary.add": {"concept": REQUIRED},
    "atlas.memory.concepts.ChromaConceptLibrary.search": {"query": REQUIRED, "k": 5},
    "atlas.memory.concepts.ChromaConceptLibrary.compose": {"concept_ids": REQUIRED},
    "atlas.memory.concepts.ChromaConceptLibrary.compress": {"trajectories": REQUIRED},
    "atlas.memory.concepts.ChromaConceptLibrary.update_stats": {"concept_id": REQUIRED, "success": REQUIRED},
    "atlas.memory.strategies.ChromaStrategyBank.write": {"trajectory": REQUIRED},
    "atlas.memory.strategies.ChromaStrategyBank.read": {"task": REQUIRED, "k": 5},
    "atlas.memory.strategies.ChromaStrategyBank.update_stats": {"strategy_id": REQUIRED, "success": REQUIRED},
    "atlas.memory.system.MemorySystemImpl.query": {"task": REQUIRED, "k": 5},
    "atlas.memory.system.MemorySystemImpl.store": {"trajectory": REQUIRED},
    "atlas.memory.storage.VectorStore.add": {
        "ids": REQUIRED,
        "embeddings": REQUIRED,
        "metadatas": REQUIRED,
        "documents": REQUIRED,
    },
    "atlas.memory.storage.VectorStore.query": {"embedding": REQUIRED, "k": REQUIRED, "where": None},
    "atlas.memory.storage.VectorStore.delete": {"ids": REQUIRED},
    "atlas.memory.storage.VectorStore.get": {"ids": REQUIRED},
}
"""The parameters of the specifications, in their order, with the class of a default that is an object."""

PLACES = [(module, name) for module, names in NAMES.items() for name in names]


@pytest.mark.parametrize(("module", "name"), PLACES)
def test_a_name_is_where_its_specification_puts_it(module, name):
    found = import_module(module)
    assert hasattr(found, name)
    assert name in getattr(found, "__all__", ()) or getattr(found, name).__module__ == module, "types are not exported"


@pytest.mark.parametrize("path", SIGNATURES)
def test_a_signature_begins_as_its_specification_says(path):
    called = _at(path)
    given = list(inspect.signature(called).parameters.values())
    given = [one for one in given if one.name != "self"]
    expected = SIGNATURES[path]
    assert [one.name for one in given[: len(expected)]] == list(expected)
    for one in given[: len(expected)]:
        default = type(one.default) if isinstance(expected[one.name], type) else one.default
        if expected[one.name] is not REQUIRED:
            assert default == expected[one.name], one.name
        else:
            assert one.default is REQUIRED, one.name
    assert all(one.default is not REQUIRED for one in given[len(expected) :])


@pytest.mark.parametrize(
    ("path", "protocol"),
    [
        ("atlas.memory.experience.LLMSummarizingExtractor", "atlas.memory.experience.ExperienceExtractor"),
        ("atlas.memory.experience.LLMRefineStrategy", "atlas.memory.experience.RefineStrategy"),
        ("atlas.memory.concepts.LLMCompositionStrategy", "atlas.memory.concepts.CompositionStrategy"),
        ("atlas.memory.concepts.LLMAutoDocumenter", "atlas.memory.concepts.ConceptDocumenter"),
        ("atlas.memory.strategies.LLMStrategyAbstractor", "atlas.memory.strategies.StrategyAbstractor"),
    ],
)
def test_what_asks_a_language_model_is_given_it_by_its_name_and_implements_its_protocol(path, protocol):
    llm = ScriptedLLM([])
    made = _at(path)(llm_client=llm)
    assert made.llm is llm
    assert isinstance(made, _at(protocol))


def test_a_memory_system_implements_its_protocol_and_takes_either_name_of_its_parts():
    parts = {"experience_memory": PlainExperience(), "concept_library": PlainConcepts()}
    made = _at("atlas.memory.MemorySystem")(**parts, strategy_bank=PlainStrategies())
    assert isinstance(made, _at("atlas.protocols.memory.MemorySystem"))
    assert (made.experience_memory, made.concept_library) == tuple(parts.values())
    assert isinstance(made.strategy_bank, PlainStrategies)


@pytest.mark.parametrize(
    ("short", "long"),
    [("experience", "experience_memory"), ("concepts", "concept_library"), ("strategies", "strategy_bank")],
)
def test_both_names_of_one_part_are_refused(short, long):
    part = dict(zip(("experience", "concepts", "strategies"), PLAIN, strict=True))[short]
    with pytest.raises(InvalidInput, match=f"expected only one of the arguments {short} and {long}, got both"):
        _at("atlas.memory.MemorySystem")(**{short: part(), long: part()})


def test_importing_the_package_of_memories_imports_none_of_them():
    code = "import sys, atlas.memory; print([name for name in sys.modules if name.startswith('atlas.memory.exp')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec("from atlas.memory import nothing")


def test_stitch_is_given_a_documenter_by_its_name_and_implements_its_protocol():
    documenter = _at("atlas.memory.concepts.LLMAutoDocumenter")(ScriptedLLM([]))
    made = _at("atlas.memory.concepts.StitchCompressionStrategy")(documenter=documenter)
    assert made.documenter is documenter
    assert isinstance(made, _at("atlas.memory.concepts.CompressionStrategy"))


@pytest.mark.parametrize("name", ["EMASuccessUpdater", "SimpleAverageUpdater", "BayesianUpdater"])
def test_every_updater_implements_its_protocol(name):
    assert isinstance(_at(f"atlas.memory.strategies.{name}")(), _at("atlas.memory.strategies.SuccessRateUpdater"))


@pytest.mark.parametrize(
    ("path", "named"),
    [
        ("arc.ARCPrimitiveLoader", "get_objects flood_fill rotate_90 mirror_horizontal get_background_color"),
        ("swe.SWEPrimitiveLoader", "read_file write_file search_codebase"),
    ],
)
def test_every_loader_implements_its_protocol_and_loads_what_is_named(path, named):
    loader = _at(f"atlas.memory.primitives.{path}")()
    assert isinstance(loader, _at("atlas.memory.concepts.PrimitiveLoader"))
    loaded = loader.load()
    assert {name: (loaded[name].name, loaded[name].source) for name in named.split()} == {
        name: (name, "primitive") for name in named.split()
    }


def test_one_name_is_one_thing_wherever_it_is_taken_from():
    found: dict[str, object] = {}
    for module, name in PLACES:
        if (module, name) == ("atlas.protocols.memory", "MemorySystem"):  # the protocol of the class of that name
            continue
        assert found.setdefault(name, getattr(import_module(module), name)) is getattr(import_module(module), name)


def _at(path):
    """What stands at a dotted path of a module and of names in it."""
    module = next(one for one in sorted(NAMES, key=len, reverse=True) if path.startswith(f"{one}."))
    found = import_module(module)
    for name in path.removeprefix(f"{module}.").split("."):
        found = getattr(found, name)
    return found
