"""The pictures of the docs: the moving one stays small and short enough for the top of a page."""

from __future__ import annotations

from PIL import Image, ImageSequence

from tests.support.repository import REPOSITORY

MOVING = REPOSITORY / "docs" / "pictures" / "curation.gif"


def test_the_moving_picture_is_small_short_and_repeats():
    assert MOVING.stat().st_size <= 2_000_000
    with Image.open(MOVING) as picture:
        assert picture.width <= 900
        assert picture.info["loop"] == 0
        milliseconds = [frame.info["duration"] for frame in ImageSequence.Iterator(picture)]
    assert len(milliseconds) > 30, "the pointer is seen to move"
    assert 8_000 <= sum(milliseconds) <= 15_000
