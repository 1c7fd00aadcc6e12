"""From an attempt to what is remembered of it."""

from __future__ import annotations

from dataclasses import replace

from atlas.core.types import Outcome, Step, Task, Trajectory
from atlas.memory.experience.extraction import (
    ContextExperienceExtractor,
    SimpleExperienceExtractor,
    summarise,
    to_experience,
    to_metadata,
    to_trajectory,
)
from atlas.protocols.strategies import ExperienceExtractor
from tests.support.memories import NOW, attempt

TRAJECTORY = Trajectory(
    task=Task("t1", "travel", "Cancel a flight", {"tier": "gold", "bags": [1, 2], "name": "Mia"}),
    steps=(Step(action="look"), Step(action="cancel(1)"), Step(thought="done")),
    outcome=Outcome(False, 0.5, "too late"),
    agent_id="gpt",
    timestamp=NOW,
    metadata={"source": "tau", "trial": 3, "nested": {"x": 1}, "long": "x" * 500, "none": None},
)


def experience_of(trajectory):
    return to_experience(trajectory, experience_id="e", embedding_text="text", now=NOW)


def test_the_simple_extractor_embeds_the_description():
    assert SimpleExperienceExtractor().extract(TRAJECTORY) == "Cancel a flight"
    assert isinstance(SimpleExperienceExtractor(), ExperienceExtractor)


def test_the_context_extractor_embeds_description_domain_and_context():
    text = ContextExperienceExtractor().extract(TRAJECTORY)
    assert text == "Cancel a flight\ntravel\ntier: gold\nbags: [1,2]\nname: Mia"
    assert ContextExperienceExtractor().extract(attempt("x")) == "x\nfield"


def test_the_last_action_is_the_solution_where_nothing_says_otherwise():
    assert experience_of(TRAJECTORY).solution_output == "cancel(1)"
    named = replace(TRAJECTORY, metadata={"solution": "refund()"})
    assert experience_of(named).solution_output == "refund()"
    assert experience_of(replace(TRAJECTORY, steps=())).solution_output == ""


def test_the_error_is_the_feedback_where_there_is_none():
    assert experience_of(TRAJECTORY).feedback == "too late"
    assert experience_of(replace(TRAJECTORY, metadata={"feedback": "rude"})).feedback == "rude"


def test_the_summary_is_one_line():
    assert summarise(TRAJECTORY, "first\nsecond") == "3 steps, failed: first second"
    assert summarise(replace(TRAJECTORY, steps=(Step(),), outcome=Outcome(None)), "") == "1 step, unknown"
    assert len(summarise(TRAJECTORY, "word " * 1_000)) < 340


def test_metadata_is_what_can_be_filtered_by():
    metadata = to_metadata(experience_of(TRAJECTORY))
    shown = {name: value for name, value in metadata.items() if name not in ("content", "content_hash")}
    assert shown == {
        "source": "tau",
        "trial": 3,
        "title": "Cancel a flight",
        "outcome": "failed",
        "success": False,
        "partial_score": 0.5,
        "task_id": "t1",
        "domain": "travel",
        "agent_id": "gpt",
        "created_at": "2026-01-01T00:00:00.000000+00:00",
        "n_steps": 3,
        "trajectory_id": TRAJECTORY.id,
        "search_text": "cancel(1)\ntoo late",
    }


def test_what_the_source_says_never_hides_what_we_derive():
    sly = replace(TRAJECTORY, metadata={"outcome": "succeeded", "success": True, "title": "x", "content": "y"})
    metadata = to_metadata(experience_of(sly))
    assert (metadata["outcome"], metadata["success"], metadata["title"]) == ("failed", False, "Cancel a flight")
    assert metadata["content"] != "y"


def test_what_the_source_says_never_stands_in_for_what_we_do_not_know():
    names = ("success", "partial_score", "domain", "agent_id", "search_text", "content_hash")
    sly = Trajectory(Task("t", "", "d"), (), Outcome(None), metadata={**dict.fromkeys(names, "x"), "source": "s"})
    metadata = to_metadata(experience_of(sly))
    assert {name for name in names if name in metadata} == {"content_hash"}
    assert len(metadata["content_hash"]) == 64
    assert metadata["source"] == "s"


def test_attempts_that_say_the_same_have_one_hash():
    one, two = experience_of(TRAJECTORY), experience_of(replace(TRAJECTORY, id="another"))
    assert hash_of(one) == hash_of(replace(two, id="f"))
    for change in ({"agent_id": "x"}, {"outcome": Outcome(True)}, {"steps": ()}, {"metadata": {"trial": 4}}):
        assert hash_of(experience_of(replace(TRAJECTORY, **change))) != hash_of(one)


def test_an_experience_gives_its_attempt_back():
    experience = experience_of(TRAJECTORY)
    again = experience_of(to_trajectory(experience))
    assert again == experience


def hash_of(experience):
    return to_metadata(experience)["content_hash"]
