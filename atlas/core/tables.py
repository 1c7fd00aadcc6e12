"""Tables of records, hits and plans for notebooks. All values are escaped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice

from atlas.core.unseen import escape_invisible

MAX_ROWS = 20
MAX_CHARACTERS = 300

TableRow = Mapping[str, object]
"""The cells of a row, keyed by the column's heading. All rows of a table have the same headings."""


class Tabular:
    """A value with a caption and rows, which notebooks show in place of its `repr`."""

    __slots__ = ()

    def _caption(self) -> str:
        """Return the line above the table."""
        raise NotImplementedError

    def _rows(self) -> Iterable[TableRow]:
        """Return the rows. Only the first 20 are shown."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return "\n".join(_html_lines(self._caption(), list(islice(self._rows(), MAX_ROWS + 1))))


def caption_of(item: object) -> str:
    """Return the line that shows a record of ATLAS or of a plugged-in memory."""
    return item._caption() if isinstance(item, Tabular) else str(getattr(item, "title", item))


def _html_lines(caption: str, rows: list[TableRow]) -> Iterator[str]:
    # Jupyter would set formulas between dollars; these two classes keep it from that.
    yield '<table class="tex2jax_ignore mathjax_ignore">'
    yield f'<caption style="text-align: left">{_escape(caption)}</caption>'
    if rows:
        yield f"<thead><tr>{_cells('th', rows[0])}</tr></thead>"
    yield from (f"<tr>{_cells('td', row.values())}</tr>" for row in rows[:MAX_ROWS])
    yield "</table>"
    if len(rows) > MAX_ROWS:
        yield f"<p>The first {MAX_ROWS} are shown.</p>"


def _cells(tag: str, values: Iterable[object]) -> str:
    return "".join(
        f'<{tag} style="text-align: left; white-space: pre-wrap">{_escape(value)}</{tag}>' for value in values
    )


def _escape(value: object) -> str:
    """Return a value escaped for HTML, with invisible characters written out."""
    from html import escape  # only notebooks need it

    text = str(value)
    text = text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 1]}…"
    return escape("\n".join(map(escape_invisible, text.splitlines())))
