"""aider's chat histories as attempts, one for each request."""

from __future__ import annotations

import pytest

from atlas.core.types import Step
from atlas.importers import detect
from atlas.importers.files import NothingToImport

HISTORY = """
# aider chat started at 2026-04-01 09:00:00

> Aider v0.86.2
> Main model: gpt-x with diff edit format, infinite output
> Weak model: gpt-x-mini
> Git repo: .git with 12 files

#### /add parser.py

> Added parser.py to the chat

#### Fix the parser.
#### It fails on empty input.

I see the problem. Here is the change:

# Not a heading of aider

parser.py
```python
<<<<<<< SEARCH
    return tokens[0]
=======
    return tokens[0] if tokens else None
>>>>>>> REPLACE
```

> Tokens: 2.3k sent, 1.1k cache hit, 120 received. Cost: $0.0042 message, $0.01 session.
> Applied edit to parser.py
> Commit 1a2b3c4 fix: Return None for empty input

#### /run pytest

> 3 passed

#### /ask why did it fail?

The list was empty.

> Tokens: 12k sent, 30 received.

# aider chat started at 2026-04-02 09:00:00

> Model: other-model with whole edit format

#### Fix the parser.

Done.

#### Not answered
"""


@pytest.fixture
def path(files):
    return files.raw(".aider.chat.history.md", HISTORY)


def attempts(files, path):
    rows = files.read("aider", path)
    assert [row.reason for row in rows if row.item is None] == []
    return [row.item for row in rows]


def test_each_answered_request_is_an_attempt_of_unknown_outcome(files, path):
    assert detect(path).name == "aider"
    first, second, third = attempts(files, path)
    assert first.task.description == "Fix the parser.\nIt fails on empty input."
    [step] = first.steps
    assert step.action.startswith("I see the problem.")
    assert step.action.endswith(">>>>>>> REPLACE\n```")
    assert "# Not a heading of aider" in step.action
    assert "Applied edit to parser.py\nCommit 1a2b3c4" in step.observation
    assert "[user] /run pytest" in step.observation
    assert "[tool aider] 3 passed" in step.observation
    assert "Tokens:" not in step.observation
    assert (first.outcome.success, first.agent_id) == (None, "gpt-x")
    assert first.metadata["session"] == "2026-04-01 09:00:00"
    assert first.metadata["tokens"] == {"input": 2300, "output": 120}
    assert first.metadata["cost_usd"] == 0.0042
    assert first.timestamp.isoformat() == "2026-04-01T09:00:00+00:00"
    assert (second.task.description, second.steps) == ("why did it fail?", (Step("", "The list was empty."),))
    assert (second.metadata["tokens"], second.metadata["follows"]) == ({"input": 12000, "output": 30}, first.id)
    assert (third.agent_id, third.metadata["session"]) == ("other-model", "2026-04-02 09:00:00")
    assert "follows" not in third.metadata


def test_a_longer_history_keeps_the_ids(files, path):
    before = [attempt.id for attempt in attempts(files, path)]
    longer = files.raw("longer.md", HISTORY + "\nIt is answered now.\n")
    assert [attempt.id for attempt in attempts(files, longer)][: len(before)] == before
    assert len(attempts(files, longer)) == len(before) + 1


def test_attempts_of_two_projects_have_different_ids(files, path):
    shop, bank = (path.parent / name / path.name for name in ("shop", "bank"))
    for each in (shop, bank):
        each.parent.mkdir()
        each.write_text(HISTORY, encoding="utf-8")
    ids = [{attempt.id for attempt in attempts(files, each)} for each in (shop, bank)]
    assert not ids[0] & ids[1]
    assert ids[0] == {attempt.id for attempt in attempts(files, shop)}


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "  \n"])
def test_line_ends_of_every_system_are_read(files, line_end):
    text = "# aider chat started at 2026-04-01 09:00:00\n\n#### Fix it\n\nDone.\n".replace("\n", line_end)
    [attempt] = attempts(files, files.raw("h.md", text))
    assert (attempt.task.description, attempt.steps) == ("Fix it", (Step("", "Done."),))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("# aider chat started at 2026-04-01 09:00:00\n\n#### caf\xe9\n".encode("latin-1"), "is not UTF-8"),
        (b"5", "expected `# aider chat started at`"),
        (b"# aider chat started at noon\n", "expected `# aider chat started at`"),
    ],
)
def test_another_file_is_refused_with_a_reason(files, content, reason):
    [row] = files.read("aider", files.raw("h.md", content))
    assert reason in row.reason


def test_other_markdown_is_not_a_history(files):
    with pytest.raises(NothingToImport, match="is in an unknown format"):
        detect(files.raw("README.md", "# A project\n\n#### Use\n"))
