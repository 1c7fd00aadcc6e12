"""Which Python of an attempt becomes a program, with which tests, and why the rest does not."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from atlas.core.types import Experience, Outcome, Step
from atlas.learning import extraction as extracting
from atlas.learning.extraction import programs_of
from tests.support.learning.builders import attempt, task

SOLVE = "def solve(x):\n    return x + 1\n"


def only_source(*attempts, **options) -> str:
    (found,) = programs_of(attempts, **options).programs
    return found.source


def reason(*attempts) -> str:
    found = programs_of(attempts)
    assert found.programs == ()
    ((said, n),) = found.dropped.items()
    assert n == len(attempts)
    return said


def test_the_solution_is_the_program():
    of = task("add one", tests="assert solve(1) == 2")
    tried = attempt(SOLVE, of=of)
    (found,) = programs_of([tried]).programs
    assert (found.id, found.task_id, found.description) == (tried.id, "t", "add one")
    assert (found.source, found.tests) == (SOLVE, "assert solve(1) == 2")


def test_an_experience_is_read_like_the_attempt_that_it_remembers():
    experience = Experience(
        id="e",
        task=task(),
        trajectory_summary="",
        outcome=Outcome(True),
        embedding_text="",
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        solution_output=SOLVE,
    )
    (found,) = programs_of([experience]).programs
    assert (found.id, found.source) == ("e", SOLVE)


def test_a_solution_that_completes_its_prompt_is_read_with_it():
    of = task(prompt='def solve(x):\n    """Add one."""\n')
    whole = 'def solve(x):\n    """Add one."""\n    return x + 1\n'
    assert only_source(attempt("    return x + 1", of=of)) == whole
    assert only_source(attempt("return x + 1", of=of)) == whole


@pytest.mark.parametrize("label", ["python", "py", "Python3", ""])
def test_a_fenced_block_is_read_out_of_the_text_around_it(label):
    assert only_source(attempt(f"Here it is:\n```{label}\n{SOLVE}```\nGood luck!")) == SOLVE


def test_of_several_blocks_the_last_that_defines_a_function_counts():
    other = "def solve(x):\n    return x\n"
    text = f"```python\n{other}```\nno, rather\n```python\n{SOLVE}```\nfor example\n```python\ny = solve(1)\n```"
    assert only_source(attempt(text)) == SOLVE


def test_without_a_solution_the_last_action_that_is_a_program_counts():
    assert only_source(attempt(actions=("def solve(x):\n    return 0", SOLVE, "submit solve.py"))) == SOLVE


def test_a_file_that_a_shell_writes_is_a_program():
    assert only_source(attempt(actions=(f"cat > solve.py <<'EOF'\n{SOLVE}EOF", "python solve.py"))) == SOLVE


def test_files_are_as_the_edits_left_them():
    steps = (
        Step(action="create solve.py"),
        Step(action="edit 1:1\ndef solve(x):\n    return x\nend_of_edit"),
        Step(action="edit 2:2\n    return x +\nend_of_edit", observation="Your edit was NOT applied: syntax error"),
        Step(action="edit 2:2\n    return x + 1\nend_of_edit"),
        Step(action="python solve.py"),
    )
    assert only_source(attempt(steps=steps)) == SOLVE


def test_edits_of_a_file_that_was_there_before_make_no_program():
    steps = (Step(action="open there.py"), Step(action="edit 3:4\n    y = x + 1\nend_of_edit"))
    assert reason(attempt(steps=(Step(action="edit\ny = 1\nend_of_edit"),))) == extracting.NOT_PYTHON
    assert reason(attempt(steps=steps)) == extracting.NOT_PYTHON


def test_a_script_counts_where_nothing_defines_a_function():
    script = "total = sum(range(10))\nprint(total)\n"
    assert only_source(attempt(script)) == script
    assert only_source(attempt(actions=(SOLVE, script))) == SOLVE


def test_fences_that_nothing_closes_take_no_time():
    assert reason(attempt("```a\n" * 50_000)) == extracting.TOO_LONG


@pytest.mark.parametrize(
    ("solution", "why"),
    [
        ("Dear Ada, thank you for writing.", extracting.NOT_PYTHON),
        ("42", extracting.NO_STATEMENT),
        ('reply: "No, thanks."', extracting.NO_STATEMENT),
        ('{"name": "value"}', extracting.NO_STATEMENT),
        ("```javascript\nconst f = () => 1;\n```", extracting.FOREIGN_LANGUAGE),
        ("diff --git a/x.py b/x.py\n--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+b", extracting.PATCH),
        ("return 1\nx = 2", extracting.NOT_PYTHON),
        ("x = '\0'", extracting.NOT_PYTHON),
        ("x = " + "(" * 5_000 + ")" * 5_000, extracting.NOT_PYTHON),
        ("x = 1\n" * 20_000, extracting.TOO_LONG),
        ("", extracting.NO_CODE),
    ],
)
def test_what_is_left_out_is_counted_with_its_reason(solution, why):
    assert reason(attempt(solution)) == why


def test_only_what_succeeded_counts_unless_the_unknown_is_asked_for_too():
    assert reason(attempt(SOLVE, success=False)) == extracting.NOT_SUCCESSFUL
    assert reason(attempt(SOLVE, success=None)) == extracting.UNKNOWN
    assert only_source(attempt(SOLVE, success=None), unknown_too=True) == SOLVE


def test_other_languages_are_left_out():
    assert reason(attempt(SOLVE, of=task(language="javascript"))) == extracting.FOREIGN_LANGUAGE
    assert only_source(attempt(SOLVE, of=task(language="py"))) == SOLVE


def test_the_same_program_for_the_same_task_counts_once():
    found = programs_of([attempt(SOLVE), attempt(SOLVE), attempt(SOLVE + "\n\n")])
    assert len(found.programs) == 1
    assert found.dropped == {extracting.REPEATED_PROGRAM: 2}


def test_a_check_that_nobody_calls_is_called_with_the_entry_point():
    check = "def check(candidate):\n    assert candidate(1) == 2\n"
    (found,) = programs_of([attempt(SOLVE, of=task(test=check, entry_point="solve"))]).programs
    assert found.tests == f"{check}\ncheck(solve)\n"


def test_a_check_that_is_called_is_left_as_it_is():
    tests = "def check(candidate):\n    assert candidate(1) == 2\n\ndef run():\n    check(solve)\n\nrun()\n"
    (found,) = programs_of([attempt(SOLVE, of=task(test=tests, entry_point="solve"))]).programs
    assert found.tests == tests


def test_a_list_of_assertions_follows_its_setup():
    of = task(test_list=["assert solve(1) == 2", "assert solve(-1) == 0"], test_setup_code="import math")
    (found,) = programs_of([attempt(SOLVE, of=of)]).programs
    assert found.tests == "import math\nassert solve(1) == 2\nassert solve(-1) == 0"


@pytest.mark.parametrize("tests", ["run the tests, please", "", "   "])
def test_tests_that_are_no_python_are_none(tests):
    (found,) = programs_of([attempt(SOLVE, of=task(test=tests))]).programs
    assert found.tests == ""
