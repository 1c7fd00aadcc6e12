"""Moving pictures of a page: screenshots, each with the time that it is shown, written as one small GIF."""

from __future__ import annotations

import io
from dataclasses import dataclass, field
from pathlib import Path

from PIL import Image
from playwright.sync_api import Locator, Page

WIDTH = 900
N_COLOURS = 128
STEP_SECONDS = 0.08
"""Time that a picture of a movement is shown."""

POINTER = """
addEventListener('DOMContentLoaded', () => {
    const pointer = document.createElement('div')
    pointer.id = 'recorded-pointer'
    pointer.innerHTML = '<svg width="24" height="24" viewBox="0 0 24 24"><path d="M2 1l7 18 2.6-7.4L19 9z"'
        + ' fill="black" stroke="white" stroke-width="1.5"/></svg>'
    Object.assign(pointer.style, { position: 'fixed', left: '-50px', top: 0, zIndex: 1e9, pointerEvents: 'none' })
    document.documentElement.append(pointer)
    addEventListener('mousemove', (event) => {
        Object.assign(pointer.style, { left: `${event.clientX}px`, top: `${event.clientY}px` })
    }, true)
})
"""
"""Draws the mouse's pointer, which screenshots leave out. For `add_init_script`."""


@dataclass
class Recording:
    """The pictures that were taken so far of a page with a `POINTER`."""

    page: Page
    pictures: list[Image.Image] = field(default_factory=list)
    milliseconds: list[int] = field(default_factory=list)
    place: tuple[float, float] = (600, 700)
    """Where the mouse is."""

    @property
    def seconds(self) -> float:
        """How long it lasts."""
        return sum(self.milliseconds) / 1000

    def hold(self, seconds: float) -> None:
        """Show the page as it is for a time."""
        shot = Image.open(io.BytesIO(self.page.screenshot())).convert("RGB")
        height = round(shot.height * WIDTH / shot.width)
        self.pictures.append(shot.resize((WIDTH, height), Image.Resampling.LANCZOS))
        self.milliseconds.append(round(seconds * 1000))

    def move(self, x: float, y: float, *, steps: int = 6) -> None:
        """Show how the mouse moves to a place."""
        from_x, from_y = self.place
        for step in range(1, steps + 1):
            share = step / steps
            self.page.mouse.move(from_x + (x - from_x) * share, from_y + (y - from_y) * share)
            self.hold(STEP_SECONDS)
        self.place = x, y

    def click(self, target: Locator, *, seconds: float = 0.4) -> None:
        """Show how the mouse moves to an element, and click it."""
        target.scroll_into_view_if_needed()
        box = target.bounding_box()
        assert box is not None, "an element to click is shown"
        self.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.hold(seconds)
        self.page.mouse.down()
        self.page.mouse.up()

    def save(self, path: Path) -> None:
        """Write it as a GIF that begins anew at its end. Pictures share one palette, so that only changes take room."""
        palette = _joined(self.pictures).quantize(N_COLOURS, dither=Image.Dither.NONE)
        first, *rest = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in self.pictures]
        first.save(
            path, save_all=True, append_images=rest, duration=self.milliseconds, loop=0, optimize=True, disposal=1
        )


def _joined(pictures: list[Image.Image]) -> Image.Image:
    """Return some of the pictures in one, to choose colours from."""
    chosen = pictures[:: max(1, len(pictures) // 8)]
    joined = Image.new("RGB", (chosen[0].width, sum(picture.height for picture in chosen)))
    for number, picture in enumerate(chosen):
        joined.paste(picture, (0, number * picture.height))
    return joined
