"""The widgets of every page, by their keys, and the parameters of an address that pages read."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import streamlit as st
from streamlit.runtime.state.query_params_proxy import QueryParamsProxy
from streamlit.testing.v1 import AppTest

from atlas.infra.actor import Actor, Role
from atlas.memory.effects import store_signs
from tests.support.dashboard import page_at
from tests.support.repository import REPOSITORY
from tests.support.sample import make_sample, opened
from tests.support.snapshots import assert_unchanged
from tests.support.visitors import visiting

PAGES = tuple(sorted(path.stem for path in (REPOSITORY / "pages").glob("[a-z]*.py")))
QUEUES = ("duplicates", "repeated", "failing", "never", "stale", "unknown", "buried", "rule", "refine", "compress")
WORDS = {"scope_text": "report", "scope_by": "Words"}
"""A search that embeds nothing."""

PARTS = (
    *(("curate", {"curate_queue": queue}) for queue in QUEUES),
    ("evaluation", {"evaluation_tab": "Compare profiles"}),
    ("evaluation", {"evaluation_tab": "Judged queries"}),
    *((page, {**WORDS, f"{page}_form": "Cards"}) for page in ("experiences", "concepts", "strategies", "journal")),
    ("ask", {"ask_two": "true"}),
    ("ask", {"ask_text": "a report is late"}),
    ("experiences", WORDS),
    ("history", {"history_tab": "Trash"}),
    ("journal", {"journal_tab": "Link suggestions"}),
    ("journal", {"journal_tab": "What agents read"}),
    ("journal", {"journal_tab": "Archiving"}),
    ("journal", {"journal_tab": "Refused entries"}),
    ("journal", {"journal_tab": "Conversations"}),
    ("map", {"map_renderer": "plotly"}),
    ("settings", {"settings_tab": "Export and backup"}),
    ("settings", {"settings_tab": "Models"}),
    ("settings", {"settings_tab": "Ready-made functions"}),
    ("settings", {"settings_tab": "Import"}),
)
"""The parts of pages that are not drawn first, by what an address says of them."""

OF_A_SERVER = tuple(("settings", {"settings_tab": part}) for part in ("Keys", "People", "Links", "Audit"))
"""The parts that only visitors of a server see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pages:
    """The dashboard over one store."""

    store: Path
    asked: list[str]
    """The parameters of the address that were read since this was emptied."""

    def described(self, page: str, **address: str) -> list[str]:
        """What a page reads of its address and which widgets it draws."""
        os.environ["ATLAS_STORE"] = str(self.store)
        self.asked.clear()
        app = page_at(page, address).run()
        assert not app.exception
        assert not app.error
        said = "&".join(f"{name}={_plain(value)}" for name, value in address.items())
        reads = f"    reads {' '.join(sorted({*self.asked}))}"
        return [f"{page}{'?' * bool(said)}{said}", reads, *(f"    {line}" for line in widgets(app)), ""]


@pytest.fixture
def pages(tmp_path, monkeypatch) -> Iterator[Pages]:
    """The dashboard over a store that is yet to be made."""
    monkeypatch.setattr(store_signs, "HUB_RECORDS", sys.maxsize)  # among hashed words some records are hubs by chance
    before, asked = dict(os.environ), []
    get_item, get_all = QueryParamsProxy.__getitem__, QueryParamsProxy.get_all
    monkeypatch.setattr(QueryParamsProxy, "__getitem__", lambda self, key: asked.append(key) or get_item(self, key))
    monkeypatch.setattr(QueryParamsProxy, "get_all", lambda self, key: asked.append(key) or get_all(self, key))
    yield Pages(store=tmp_path / "store", asked=asked)
    st.cache_resource.clear()
    os.environ.clear()
    os.environ.update(before)


def test_the_widgets_of_every_page_are_the_same_on_an_empty_store(pages: Pages):
    with opened(pages.store):
        pass
    assert_unchanged("widgets_empty", (line for page in PAGES for line in pages.described(page)))


def test_the_widgets_of_every_page_are_the_same_on_the_sample_data(pages: Pages):
    make_sample(pages.store)
    assert_unchanged("widgets", (line for page in PAGES for line in pages.described(page)))


def test_the_widgets_of_every_part_are_the_same_on_the_sample_data(pages: Pages):
    make_sample(pages.store)
    found = [line for page, address in PARTS for line in pages.described(page, **address)]
    with visiting(Actor("ada", Role.ADMIN)):
        found += [line for page, address in OF_A_SERVER for line in pages.described(page, **address)]
    assert_unchanged("widgets_of_parts", found)


def test_the_widgets_of_every_panel_are_the_same_on_the_sample_data(pages: Pages):
    ids = make_sample(pages.store)
    panels = [(page, {"operation" if page == "history" else "id": record_id}) for page, record_id in ids.items()]
    panels += [(page, {"id": ids["experiences"]}) for page in ("curate", "map")]
    found = (line for page, address in panels for line in pages.described(page, **address))
    assert_unchanged("widgets_of_panels", found)


def widgets(app: AppTest) -> list[str]:
    """The widgets in the order of the page: kind, key, and the parameter of the address that it is bound to."""
    found = [node for node in app._tree if getattr(getattr(node, "proto", None), "id", "")]
    return [_line(str(node.type), node.key, getattr(node.proto, "query_param_key", "")) for node in found]


def _line(kind: str, key: str | None, parameter: str) -> str:
    return " ".join([kind, _plain(key or "(no key)"), *([f"?{parameter}"] if parameter else [])])


def _plain(key: str) -> str:
    """A key without what differs from run to run: ids, and hashes of states."""
    return re.sub(r"-?(?:[0-9a-f]{8,}|\d{6,})", "#", key)
