"""Requests of a page's parts that reach the server while it draws another page."""

from __future__ import annotations

import asyncio

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.frame.page_changes import MAX_AWAITED, PageChangeMiddleware

DONE = ForwardMsg(script_finished=ForwardMsg.FINISHED_SUCCESSFULLY)
DONE_EARLY = ForwardMsg(script_finished=ForwardMsg.FINISHED_EARLY_FOR_RERUN)
DONE_PART = ForwardMsg(script_finished=ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)


def draw(page: str) -> BackMsg:
    """A request for a whole page."""
    return BackMsg(rerun_script={"page_script_hash": page})


def click(page: str) -> BackMsg:
    """A request of a part of a page, after a click."""
    return BackMsg(rerun_script={"page_script_hash": page, "fragment_id": "palette"})


def tick(page: str) -> BackMsg:
    """A request of a part of a page that runs each second."""
    return BackMsg(rerun_script={"page_script_hash": page, "fragment_id": "live", "is_auto_rerun": True})


def begun(page: str, *parts: str) -> ForwardMsg:
    """The beginning of a run of a page or of parts of it."""
    return ForwardMsg(new_session={"page_script_hash": page}, metadata={"run": {"fragment_ids": parts}})


class Socket:
    """A page's open socket between a browser and the server, over which given messages go one after the other."""

    def __init__(self, *messages: BackMsg | ForwardMsg) -> None:
        self._left = iter(messages)
        self.reached: list[BackMsg] = []
        self.shown: list[ForwardMsg] = []

    async def serve(self, scope, receive, send) -> None:
        self._say = send
        while (message := await receive())["type"] == "websocket.receive":
            self.reached.append(BackMsg.FromString(message["bytes"]))

    async def receive(self):
        for message in self._left:
            content = message.SerializeToString()
            if isinstance(message, BackMsg):
                return {"type": "websocket.receive", "bytes": content}
            await self._say({"type": "websocket.send", "bytes": content})
        return {"type": "websocket.disconnect", "code": 1000}

    async def send(self, message) -> None:
        self.shown.append(ForwardMsg.FromString(message["bytes"]))


def passed_on(*messages: BackMsg | ForwardMsg) -> list[BackMsg]:
    """Return the browser's messages that reach the server. All of the server's reach the browser."""
    socket = Socket(*messages)
    asyncio.run(PageChangeMiddleware(socket.serve)({"type": "websocket"}, socket.receive, socket.send))
    assert socket.shown == [message for message in messages if isinstance(message, ForwardMsg)]
    return socket.reached


def test_a_part_runs_each_second_while_the_page_stands():
    drawn = [draw("a"), begun("a"), DONE]
    assert passed_on(*drawn, tick("a"), begun("a", "live"), DONE_PART, tick("a")) == [draw("a"), tick("a"), tick("a")]


def test_it_does_not_run_while_a_page_is_drawn():
    assert passed_on(draw("a"), tick("a"), begun("a"), tick("a"), DONE, tick("a")) == [draw("a"), tick("a")]


def test_it_does_not_run_while_a_part_leads_to_another_page():
    drawn = [draw("a"), begun("a"), DONE]
    left = [click("a"), tick("a"), begun("a", "palette"), tick("a"), DONE_EARLY, tick("a"), begun("b"), tick("a"), DONE]
    assert passed_on(*drawn, *left, tick("a"), tick("b")) == [draw("a"), click("a"), tick("b")]


def test_a_click_that_comes_with_the_run_of_each_second_is_not_skipped():
    busy = [draw("a"), begun("a")]
    clicked = tick("a")
    clicked.rerun_script.widget_states.widgets.add(id="button", trigger_value=True)
    ticked = tick("a")
    ticked.rerun_script.widget_states.widgets.add(id="field", string_value="words")
    assert passed_on(*busy, ticked, clicked) == [draw("a"), clicked]


def test_a_click_on_a_part_of_the_page_that_was_left_counts_on_the_new_one():
    assert passed_on(draw("a"), begun("a"), DONE, draw("b"), begun("b"), click("a")) == [
        draw("a"), draw("b"), click("b"),
    ]  # fmt: skip


def test_the_end_of_an_earlier_run_does_not_let_it_run_before_a_requested_page_is_drawn():
    drawn = [draw("a"), begun("a"), DONE, click("a"), begun("a", "palette")]
    assert passed_on(*drawn, draw("b"), DONE_PART, tick("a"), begun("b"), DONE, tick("b")) == [
        draw("a"), click("a"), draw("b"), tick("b"),
    ]  # fmt: skip


def test_it_runs_again_after_a_click_on_a_part_that_is_gone():
    drawn = [draw("a"), begun("a"), DONE, click("a")]
    assert passed_on(*drawn, *[tick("a")] * (MAX_AWAITED + 1)) == [draw("a"), click("a"), tick("a")]


def test_a_frame_that_is_no_message_is_sent_all_the_same():
    shown = []

    async def app(scope, receive, send) -> None:
        await send({"type": "websocket.send", "bytes": b"\xff\xff"})

    async def send(message) -> None:
        shown.append(message["bytes"])

    asyncio.run(PageChangeMiddleware(app)({"type": "websocket"}, None, send))
    assert shown == [b"\xff\xff"]


def test_an_address_that_no_page_has_shows_the_first_page_without_a_dialog():
    socket = Socket(draw(""), begun("main"), ForwardMsg(page_not_found={"page_name": "overview"}), DONE)
    asyncio.run(PageChangeMiddleware(socket.serve)({"type": "websocket"}, socket.receive, socket.send))
    assert socket.shown == [begun("main"), DONE]


def test_the_page_of_an_address_is_known_by_the_navigation():
    found = ForwardMsg(navigation={"page_script_hash": "curate"})
    opened = [draw(""), begun("main"), found, DONE]
    assert passed_on(*opened, click("curate"), begun("curate", "palette"), DONE_PART, tick("curate")) == [
        draw(""), click("curate"), tick("curate"),
    ]  # fmt: skip
