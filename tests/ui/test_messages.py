"""What a browser may say over an open socket, and with whose rights a page's downloads are made."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg

from atlas.infra.actor import Actor, Role, acting, bind_actor, current_actor
from pages.frame.messages import MessageMiddleware

ADA = Actor("ada", Role.ADMIN)
DRAW_ALL = BackMsg(rerun_script={"page_name": "history"})
DRAW_PART = BackMsg(rerun_script={"page_name": "history", "fragment_id": "pulse"})
DOWNLOAD = BackMsg(backend_operation_request={"request_id": "1", "deferred_file": {"file_id": "export"}})


class Browser:
    """A browser that says one thing after the other over one socket, while its rights may change."""

    def __init__(self, **rights: Actor) -> None:
        self.rights: Mapping[str, Actor] = rights

    def say(self, *said: BackMsg | Callable[[], None]) -> list[BackMsg]:
        """Send messages, with acts between them; return those that reach the pages."""
        heard: list[BackMsg] = []
        asyncio.run(
            MessageMiddleware(hearing(heard), lambda scope: self.rights)({"type": "websocket"}, told(said), unsaid)
        )
        return heard

    def removed(self) -> None:
        """Have no rights from here on."""
        self.rights = {}


def hearing(heard: list[BackMsg]):
    async def app(scope, receive, send) -> None:
        while (message := await receive())["type"] == "websocket.receive":
            heard.append(BackMsg.FromString(message["bytes"]))

    return app


def told(said: Iterable[BackMsg | Callable[[], None]]):
    left = iter(said)

    async def receive():
        for one in left:
            if isinstance(one, BackMsg):
                return {"type": "websocket.receive", "bytes": one.SerializeToString()}
            one()
        return {"type": "websocket.disconnect", "code": 1000}

    return receive


async def unsaid(message) -> None:
    raise AssertionError(f"the server said {message}")


def test_a_page_is_drawn_whole_and_then_in_parts():
    assert Browser(main=ADA).say(DRAW_ALL, DRAW_PART, DOWNLOAD) == [DRAW_ALL, DRAW_PART, DOWNLOAD]


def test_the_first_drawing_over_a_socket_is_of_the_whole_page():
    assert Browser(main=ADA).say(DRAW_PART, DRAW_PART) == [DRAW_ALL, DRAW_PART]


def test_for_whoever_is_removed_the_whole_page_is_drawn_which_says_so():
    browser = Browser(main=ADA)
    assert browser.say(DRAW_ALL, DRAW_PART, browser.removed, DRAW_PART, DRAW_PART) == [
        DRAW_ALL, DRAW_PART, DRAW_ALL, DRAW_ALL,
    ]  # fmt: skip


def test_whoever_is_removed_from_one_store_of_two_sees_the_whole_page_anew():
    browser = Browser(main=ADA, research=ADA)

    def left_research() -> None:
        browser.rights = {"main": ADA}

    assert browser.say(DRAW_ALL, left_research, DRAW_PART, DRAW_PART) == [DRAW_ALL, DRAW_ALL, DRAW_PART]


def test_nothing_is_downloaded_with_rights_that_a_page_was_not_drawn_with():
    browser = Browser(main=ADA)

    def made_a_viewer() -> None:
        browser.rights = {"main": Actor("ada", Role.VIEWER)}

    assert browser.say(DRAW_ALL, made_a_viewer, DOWNLOAD, DRAW_ALL, DOWNLOAD) == [DRAW_ALL, DRAW_ALL, DOWNLOAD]
    assert browser.say(DRAW_ALL, browser.removed, DOWNLOAD) == [DRAW_ALL]


@pytest.mark.parametrize(
    "said",
    [
        BackMsg(clear_cache=True),
        BackMsg(set_run_on_save=True),
        BackMsg(debug_shutdown_runtime=True),
        BackMsg(backend_operation_request={"request_id": "1", "install_skills": {}}),
        BackMsg(),
    ],
    ids=lambda said: said.WhichOneof("type") or "empty",
)
def test_nobody_says_what_would_reach_others(said: BackMsg):
    assert Browser(main=ADA).say(DRAW_ALL, said, DRAW_PART) == [DRAW_ALL, DRAW_PART]


def test_what_is_no_message_is_not_passed_on():
    heard: list[BackMsg] = []
    messages = iter([{"type": "websocket.receive", "bytes": b"\xff\xff"}, {"type": "websocket.disconnect"}])

    async def receive():
        return next(messages)

    asyncio.run(MessageMiddleware(hearing(heard), lambda scope: {"main": ADA})({"type": "websocket"}, receive, unsaid))
    assert heard == []


def test_what_is_made_later_in_another_thread_is_made_on_behalf_of_whoever_asked():
    found: list[Actor | None] = []
    with acting(ADA):
        later = bind_actor(current_actor)
    thread = threading.Thread(target=lambda: found.append(later()))
    thread.start()
    thread.join()
    assert found == [ADA]
    assert bind_actor(current_actor)() is None
