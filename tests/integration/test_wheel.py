"""The wheel, installed into a fresh virtualenv and used from an empty directory, as somebody without the repository."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import NewSession

import atlas
from atlas.core.imports.distribution import NAME
from tests.support.installed import Installation, install
from tests.support.repository import REPOSITORY

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Installation:
    """ATLAS from a wheel, and a store of sample data in its working directory."""
    installation = install(tmp_path_factory.mktemp("installed"))
    assert "added 448 records of sample data" in installation.atlas("init", "--sample")
    return installation


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/python.md"])
def test_the_python_examples_of_a_page_run(installed: Installation, page: str, tmp_path: Path):
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    program = "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))
    where = f"import os, atlas; print(atlas.__file__); os.chdir({str(tmp_path)!r})\n"
    file, _, printed = installed.python(where + program).partition("\n")
    assert Path(file).is_relative_to(installed.path)
    assert "succeeded Sum the invoices of March by customer" in printed


def test_the_page_on_an_index_has_links_and_pictures_that_lead_there_from_anywhere(installed: Installation):
    page = installed.python(f"import importlib.metadata; print(importlib.metadata.metadata({NAME!r}).get_payload())")
    links = re.findall(r"\]\(([^)\s]+)\)", page)
    assert any(link.endswith((".gif", ".png")) for link in links)
    assert [link for link in links if not link.startswith("https://")] == []


def test_commands_find_and_export_the_sample_data(installed: Installation):
    assert installed.atlas("--version") == f"atlas {atlas.__version__}\n"
    assert "Change or cancel a booking" in installed.atlas("search", "cancel a booking")
    assert len(installed.atlas("export", "-").splitlines()) > 375


def test_the_server_answers_pages_the_api_and_mcp(installed: Installation):
    with installed.serving("serve") as (port, printed):
        [address] = re.findall(r"http://\S+token=\S+", printed.read_text(encoding="utf-8"))
        headers = {"Authorization": f"Bearer {parse_qs(urlsplit(address).query)['token'][0]}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=60) as client:
            client.get(address)  # gives a browser its cookie
            assert "<title>Streamlit</title>" in client.get("/").text
            assert client.get("/api/v1/health").json()["status"] == "ready"
            accepted = {"Accept": "application/json, text/event-stream"}
            greeting = client.post("/mcp/", json=HELLO, headers=accepted).json()["result"]
            assert greeting["serverInfo"]["version"] == atlas.__version__
            assert_configured(session(port, client.cookies))
        assert "ScriptRunContext" not in printed.read_text(encoding="utf-8")


def test_the_demo_shows_a_dashboard_on_sample_data_in_a_store_of_its_own(installed: Installation):
    with installed.serving("demo") as (port, printed):
        assert_configured(session(port, httpx.Cookies()))
        output = printed.read_text(encoding="utf-8")
        [store] = re.findall("filling (.*) with sample data", output)
        assert f"http://127.0.0.1:{port}" in output
    assert len(installed.atlas("--store", store, "export", "-").splitlines()) > 375
    assert not Path(store).is_relative_to(installed.directory)


def assert_configured(started: NewSession) -> None:
    """The dashboard's own configuration is in force: its theme, and no statistics sent anywhere."""
    assert started.custom_theme.light.primary_color == "#1f5f99"
    assert not started.config.gather_usage_stats


def session(port: int, cookies: httpx.Cookies) -> NewSession:
    """Return how the server begins the session of a browser."""

    async def begun() -> NewSession:
        async with websockets.connect(
            f"ws://127.0.0.1:{port}/_stcore/stream",
            subprotocols=["streamlit"],
            origin=f"http://127.0.0.1:{port}",
            additional_headers={"Cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())},
        ) as connection:
            request = BackMsg()
            request.rerun_script.query_string = ""
            await connection.send(request.SerializeToString())
            while True:
                message = ForwardMsg.FromString(await connection.recv())
                if message.WhichOneof("type") == "new_session":
                    return message.new_session

    return asyncio.run(asyncio.wait_for(begun(), 60))
