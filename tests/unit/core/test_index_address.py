"""The addresses of services that keep an index."""

from __future__ import annotations

import re

import pytest

from atlas.core.errors import InvalidInput
from atlas.core.index_address import read_index_address
from atlas.core.settings import Settings

SECRET = "pcsk-very-secret"


@pytest.mark.parametrize(
    ("given", "shown", "is_secure"),
    [
        ("pinecone://notes-a1b2.svc.aped-1.pinecone.io", "pinecone://notes-a1b2.svc.aped-1.pinecone.io", True),
        ("pinecone://127.0.0.1:5081", "pinecone://127.0.0.1:5081", False),
        ("pinecone://localhost:5081/", "pinecone://localhost:5081", False),
        ("chroma+http://127.0.0.1", "chroma+http://127.0.0.1:8000", False),
        ("chroma+http://[::1]:9000", "chroma+http://[::1]:9000", False),
        ("chroma+https://chroma.example", "chroma+https://chroma.example:443", True),
        ("chroma+https://chroma.example?database=team", "chroma+https://chroma.example:443?database=team", True),
        ("chroma+http://h:1?database=turkey", "chroma+http://h:1?database=turkey", False),
        ("chroma+cloud://0a1b-Tenant/memories", "chroma+cloud://0a1b-Tenant/memories", True),
    ],
)
def test_an_address_is_read_and_shown(given, shown, is_secure):
    address = read_index_address(given)
    assert (str(address), address.is_secure) == (shown, is_secure)
    assert read_index_address(str(address)) == address
    assert Settings.from_environment({"ATLAS_INDEX": given}).index == shown


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("qdrant://host", "got qdrant://"),
        ("notes.svc.pinecone.io", "got no scheme"),
        ("pinecone://", "got no host"),
        ("pinecone://host/index", "from Pinecone's console, got more after the host"),
        ("chroma+http://host:port", "got no readable host or port"),
        ("chroma+http://host/api/v2", "for ATLAS_INDEX, got other parts too"),
        ("chroma+cloud://tenant", "expected chroma+cloud://TENANT/DATABASE"),
        ("chroma+cloud://tenant/a/b", "expected chroma+cloud://TENANT/DATABASE"),
    ],
)
def test_what_is_no_address_is_refused_with_what_to_give(given, said):
    with pytest.raises(InvalidInput, match=re.escape(said)):
        Settings.from_environment({"ATLAS_INDEX": given})


@pytest.mark.parametrize(
    "given",
    [
        f"pinecone://{SECRET}@host",
        f"pinecone://user:{SECRET}@host",
        f"chroma+https://host?api_key={SECRET}",
        f"chroma+cloud://{SECRET}@tenant/database",
    ],
)
def test_a_key_in_an_address_is_refused_and_not_repeated(given):
    with pytest.raises(InvalidInput, match="set PINECONE_API_KEY or CHROMA_API_KEY instead") as refused:
        Settings.from_environment({"ATLAS_INDEX": given})
    assert SECRET not in str(refused.value)


@pytest.mark.parametrize(
    "given",
    [
        f"pinecone://host/{SECRET}",
        f"pinecone://host?{SECRET}",
        f"pinecone://host?token={SECRET}",
        f"pinecone://host#{SECRET}",
        f"chroma+http://host?token={SECRET}",
        f"chroma+http://host/{SECRET}",
        f"chroma+cloud://tenant/{SECRET}/b",
        f"chroma+cloud:///{SECRET}",
        f"pinecone:{SECRET}",
    ],
)
def test_what_follows_the_host_is_never_repeated(given):
    with pytest.raises(InvalidInput) as refused:
        Settings.from_environment({"ATLAS_INDEX": given})
    assert SECRET not in str(refused.value)


def test_a_misspelt_variable_is_refused():
    with pytest.raises(InvalidInput, match="expected a setting of ATLAS, got ATLAS_INDX; did you mean ATLAS_INDEX"):
        Settings.from_environment({"ATLAS_INDX": "pinecone://host"})
