"""Every page in one visit: in light and dark, on a laptop and a phone, by keyboard, and with the network cut.

axe-core finds nothing serious or critical, nothing is cut without a hint, the keyboard's place is seen, and nothing is
asked of any other host than the dashboard itself.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.support.browser.axe import found_in
from tests.support.browser.page import settle
from tests.support.browser.server import Serve
from tests.support.browser.tables import rows
from tests.support.repository import REPOSITORY

LAPTOP, PHONE = {"width": 1024, "height": 768}, {"width": 390, "height": 844}
PAGES = tuple(sorted(path.stem for path in (REPOSITORY / "pages").glob("[a-z]*.py")))
PLACES = {"ask": "ask?ask_text=A customer cancelled and wants the money back"}
"""The addresses of pages that are not their names."""

TABBED = 40
"""Controls of a page that the keyboard is taken to."""

LOOKS, PAUSE_MS = 12, 250
"""How often a page is looked at before what is cut counts, and the wait between."""

CUT = """() => {
    const said = (one) => (one.innerText ?? '').trim().replace(/\\s+/g, ' ').slice(0, 60)
    const isSeen = (one) => one.clientWidth > 1 && one.checkVisibility({ visibilityProperty: true })
    const seen = [...document.querySelectorAll('[data-testid=stMain], [data-testid=stMain] *')].filter(isSeen)
    const cut = []
    if (document.documentElement.scrollWidth > innerWidth) cut.push('the page scrolls sideways')
    for (const one of seen) {
        const style = getComputedStyle(one), says = said(one) || one.className
        if (one.scrollWidth > one.clientWidth + 1) {
            const isHinted = style.boxShadow !== 'none' || style.maskImage !== 'none'
            if (['auto', 'scroll'].includes(style.overflowX) && !isHinted) cut.push(`scrolls without a hint: ${says}`)
            if (['hidden', 'clip'].includes(style.overflowX) && said(one) && !one.closest('[title]'))
                cut.push(`cut off: ${says}`)
        }
        for (const text of one.childNodes) {
            if (text.nodeType !== Node.TEXT_NODE || one.closest('pre, code')) continue
            for (const word of text.data.matchAll(/[\\p{L}\\p{N}]{3,24}/gu)) {
                const range = new Range()
                range.setStart(text, word.index)
                range.setEnd(text, word.index + word[0].length)
                const lines = new Set([...range.getClientRects()].filter((box) => box.width).map((box) => box.top))
                if (lines.size > 1) cut.push(`broken within "${word[0]}": ${says}`)
            }
        }
    }
    return cut
}"""
"""What a page cuts off, lets scroll without a hint, or breaks within a word."""

FOCUS = """() => {
    const around = ({ parentElement: up, nextElementSibling: next }) => [up, up?.parentElement, next].filter(Boolean)
    const look = (one) => JSON.stringify([one, ...around(one)].map((each) => {
        const style = getComputedStyle(each)
        const outline = style.outlineStyle === 'none' ? '' : style.outline
        return [outline, style.boxShadow, style.borderColor, style.backgroundColor]
    }))
    let one = document.activeElement
    while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement
    const before = globalThis.atlasFocused, isSame = before && before.one !== one && before.look === look(before.one)
    globalThis.atlasFocused = one && one !== document.body && !one.closest('canvas') ? { one, look: look(one) } : null
    return isSame ? before.one.cloneNode().outerHTML : ''
}"""
"""The control that had the keyboard until now, if it looked as it does without: a canvas draws the focus itself."""


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_for_everybody(page: Page, serve: Serve, sample: Path, name: str):
    address = serve(sample)
    asked: list[str] = []
    page.route(lambda url: not url.startswith(address), lambda route: route.abort())
    page.on("request", lambda request: asked.append(request.url))
    _go(page, f"{address}/{PLACES.get(name, name)}")
    found = {"axe": found_in(page)}
    page.set_viewport_size(LAPTOP)
    settle(page)
    found |= {"laptop": _cut(page), "keyboard": _unseen(page)}
    page.set_viewport_size(PHONE)
    settle(page)
    found["phone"] = _cut(page)
    page.evaluate("() => document.fonts.ready")  # fonts and icons are fetched late
    found["asked elsewhere"] = [url for url in asked if not url.startswith((address, "data:", "blob:"))]
    wrong = {where: what for where, what in found.items() if what}
    assert not wrong, json.dumps(wrong, indent=1, ensure_ascii=False)


def test_the_tray_leaves_the_foot_of_the_map_to_be_seen(page: Page, serve: Serve, sample: Path):
    page.set_viewport_size(LAPTOP)
    _go(page, f"{serve(sample)}/map")
    page.wait_for_function("() => globalThis.atlasMap?.look().view.scale > 0")
    page.get_by_role("row").nth(1).click()
    page.get_by_role("button", name="Select all ").click()
    tray = page.locator(".st-key-tray")
    expect(tray).to_be_visible()
    settle(page)
    foot = page.get_by_role("button", name="Play").bounding_box()
    top = page.get_by_test_id("stBottom").bounding_box()
    assert foot is not None
    assert top is not None
    assert top["y"] + top["height"] <= foot["y"], "the tray lies above the foot of the map"


@pytest.mark.parametrize("place", ["nowhere", "overview/x", "map/x/y?scope_text=wax"])
def test_an_address_that_no_page_has_opens_the_overview(page: Page, serve: Serve, sample: Path, place: str):
    page.goto(f"{serve(sample)}/{place}")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


def test_what_is_opened_on_a_phone_is_seen_at_once(page: Page, serve: Serve, sample: Path):
    page.set_viewport_size(PHONE)
    _go(page, f"{serve(sample)}/experiences")
    rows(page).nth(20).click()
    expect(page.get_by_role("button", name="Close", exact=True)).to_be_in_viewport()


def _cut(page: Page) -> list[str]:
    """Return what stays cut: a table's shadow at its edge is drawn some frames after the table."""
    for _ in range(LOOKS):
        if not (found := page.evaluate(CUT)):
            break
        page.wait_for_timeout(PAUSE_MS)
    return found


def _unseen(page: Page) -> list[str]:
    """Return the controls on which the keyboard was not seen."""
    page.add_style_tag(content="* { transition: none !important }")
    found = []
    for _ in range(TABBED):
        page.keyboard.press("Tab")
        found.append(page.evaluate(FOCUS))
    return [one for one in found if one]


def _go(page: Page, address: str) -> None:
    page.goto(address)
    page.get_by_test_id("stMain").get_by_role("heading", level=1).wait_for()
    settle(page)
