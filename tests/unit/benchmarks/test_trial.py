"""The benchmark of customers' messages: its report and figures on cells that are done."""

from __future__ import annotations

from atlas.evaluation.trial.agents import RunResult
from atlas.evaluation.trial.design import Cell
from atlas.evaluation.trial.journal import FinishedCell
from benchmarks.agents.messages import GRAMMAR, Message
from benchmarks.agents.trial import ARMS, _design, figures_of, report_on

STREAM = [
    Message(task=task, trial=trial, text=f"message {task}.{trial}", action=action)
    for trial in range(2)
    for task, action in enumerate(("cancel", "book", "cancel"))
]


def cell(task: int, trial: int, arm: str, answer: str, shown: str = "") -> FinishedCell:
    right = next(message.action for message in STREAM if (message.task, message.trial) == (task, trial))
    return FinishedCell(
        cell=Cell(task=task, repeat=trial, arm=arm),
        is_seen=trial == 1,
        block_tokens=9,
        shown={"experience": (shown,) if shown else ()},
        result=RunResult(success=answer == right, seconds=1.0, solution=answer),
    )


def test_the_figures_are_of_what_is_done_and_copies_of_those_with_a_case():
    cells = [cell(0, 1, "our hit", "cancel", "0.0"), cell(1, 1, "our hit", "cancel", "0.0")]
    cells += [cell(2, 1, "our hit", "book"), *(cell(task, 1, "nothing", "cancel") for task in range(3))]
    cells += [cell(0, 1, arm, "book") for arm in ARMS if arm not in ("nothing", "our hit")]
    report = report_on(STREAM, _design(STREAM), cells)
    assert (report.n_done, report.n_cells) == (len(cells), 6 * len(ARMS))
    figures = {figure.what.partition(",")[0]: figure for figure in figures_of(STREAM, report)}
    assert figures["our hit: right answers"].ours == 1 / 3
    assert figures["nothing: right answers"].ours == 2 / 3
    assert figures["our hit: answers that copy the best case"].ours == 1.0
    assert "nothing: answers that copy the best case" not in figures


def test_the_model_can_answer_with_an_action_alone():
    assert GRAMMAR.startswith('root ::= " book\\n" | " cancel\\n"')
    assert '" refuse\\n"' in GRAMMAR
