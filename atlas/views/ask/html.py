"""Report of an answer or a comparison as a self-contained HTML file."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass

from atlas.llm.trial import Reply, Trial
from atlas.views.ask.answer import Answer, Part, RankedHit
from atlas.views.lists.highlighting import Passage
from atlas.views.lists.hits import HitCard
from atlas.views.shared.browser import asset

Cards = Mapping[tuple[str, str], HitCard]
"""Cards of hits, by the name of the memory and the id of the record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedSide:
    """One configuration with its answer."""

    title: str
    """`A` or `B`, or empty without a comparison."""

    call: str
    """Sentence on the equivalent call of an agent."""

    answer: Answer
    cards: Cards


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """Everything that a page on one task shows. Task, cards, blocks and replies are untrusted."""

    task: str
    about: str
    """A line on the store's size and the time of the query."""

    sides: tuple[ReportedSide, ...]
    difference: str = ""
    """Sentence on the difference of the sides, or empty without a comparison."""

    block_difference: str = ""
    """Diff of the two blocks."""

    trial: Trial | None = None
    """Answers of a language model with and without the block, if any."""


def report_page(report: Report) -> str:
    """Return the text of an HTML file. Untrusted text is escaped, and it has no scripts."""
    parts = [
        "<h1>What the memory says of a task</h1>",
        _p(report.about, "grey"),
        f'<div class="task">{html.escape(report.task)}</div>',
        _p(report.difference) if report.difference else "",
        f'<div class="sides">{"".join(map(_side, report.sides))}</div>',
        _difference(report.block_difference),
        _trial(report.trial) if report.trial else "",
    ]
    return asset("ask_page.html").replace("%BODY%", "\n".join(filter(None, parts)))


def _side(side: ReportedSide) -> str:
    heading = f"Configuration {side.title}" if side.title else "What an agent is told"
    block = side.answer.block.text
    code_block = f"<pre>{html.escape(block)}</pre>" if block else ""
    hits = "".join(_part(part, side.cards) for part in side.answer.ordered_parts)
    return (
        f"<section><h2>{html.escape(heading)}</h2>{_p(side.call, 'grey')}{_p(side.answer.block_sentence)}{code_block}"
        f"<h2>Hits</h2>{hits}</section>"
    )


def _part(part: Part, cards: Cards) -> str:
    shown = [_hit(cards[part.name, hit.id], hit) for hit in part.hits if (part.name, hit.id) in cards]
    return f"<h3>{html.escape(part.title)}</h3>{_p(part.sentence, 'grey')}{''.join(shown)}"


def _hit(card: HitCard, hit: RankedHit) -> str:
    relevance = "" if card.relevance is None else f"relevance {card.relevance:.2f}"
    badges = [
        f"{hit.rank}",
        card.badge.text if card.badge else "",
        card.outcome,
        card.attempts,
        relevance,
        hit.place_sentence,
    ]
    lead = f"{_passage(card.lead)}<br>" if card.lead else ""
    title = f"<b>{html.escape(card.title)}</b><br>" if card.title else ""
    named = "".join(f'<span class="badge">{html.escape(badge)}</span>' for badge in badges if badge)
    return f'<div class="hit">{title}{lead}{_passage(card.passage)}<p>{named}</p>{_p(card.sentence, "grey")}</div>'


def _passage(passage: Passage) -> str:
    marked = "".join(
        f"<mark>{html.escape(text)}</mark>" if is_match else html.escape(text) for text, is_match in passage.pieces
    )
    return f"{'… ' if passage.is_cut_before else ''}{marked}{' …' if passage.is_cut_after else ''}"


def _difference(lines: str) -> str:
    if not lines:
        return ""
    return f"<h2>Where the blocks differ</h2><pre>{''.join(map(_line, lines.splitlines()))}</pre>"


def _line(line: str) -> str:
    kind = {"+": "add", "-": "cut"}.get(line[:1], "same")
    return f'<span class="{kind}">{html.escape(line) or " "}</span>'


def _trial(trial: Trial) -> str:
    heading = f"Answered by {trial.model}"
    sides = _reply("Without the block", trial.without) + _reply("With the block", trial.with_block)
    return f'<h2>{html.escape(heading)}</h2><div class="sides">{sides}</div>'


def _reply(title: str, reply: Reply) -> str:
    reply_block = f"<pre>{html.escape(reply.text or reply.problem)}</pre>"
    return f"<section><h3>{html.escape(title)}</h3>{_p(reply.cost, 'grey')}{reply_block}</section>"


def _p(text: str, kind: str = "") -> str:
    paragraph = re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text))
    return f'<p class="{kind}">{paragraph}</p>' if kind else f"<p>{paragraph}</p>"
