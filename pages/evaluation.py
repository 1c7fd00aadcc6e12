"""Evaluation: retrieval quality, and the effect of other weights."""

from __future__ import annotations

from atlas.views.evaluation.verdict import JUDGED
from atlas.views.evaluation.verdict import PROFILES as COMPARE
from pages.components.ask.comparison import draw_comparison
from pages.components.evaluation.judged import draw_judged
from pages.components.evaluation.own import draw_own
from pages.components.evaluation.trials import draw_trials
from pages.components.lists.empty import draw_empty
from pages.components.lists.heading import draw_heading
from pages.components.shared.scope import n_experiences
from pages.components.shared.snapshot import page_memory
from pages.components.shared.tabs import choose_part

OWN, TRIALS = "This store", "Trials"
FORMERLY = {"Strictness": OWN}
"""Names that parts of the page had in older links."""

memory = page_memory()
draw_heading("Evaluation", "Does search find the right memories?")
part = choose_part([OWN, JUDGED, COMPARE, TRIALS], key="evaluation_tab", formerly=FORMERLY)
if part == TRIALS:  # a report needs no experiences
    draw_trials()
elif not n_experiences(memory):
    draw_empty(memory, "Here you can measure how well searches find related attempts.")
elif part == COMPARE:
    draw_comparison(memory)
elif part == JUDGED:
    draw_judged(memory)
else:
    draw_own(memory)
