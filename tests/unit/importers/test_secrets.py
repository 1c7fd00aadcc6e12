"""Secrets are taken out of logs, and what is none stays."""

from __future__ import annotations

from collections import Counter

import pytest

from atlas.importers.secrets import scrubbed_text, scrubbed_value

SECRETS = {
    "API keys": [
        "sk-" + "a1" * 12,
        "sk-lf-" + "12345678-abcd",
        "AKIA" + "ABCDEFGH12345678",
        "AIza" + "b" * 35,
        "xai-" + "a1" * 20,
        "SG." + "a" * 22 + "." + "b" * 43,
        "atlas_" + "a1-" * 14 + "b",
    ],
    "tokens": ["ghp_" + "a1" * 18, "glpat-" + "x" * 20, "xoxb-" + "1" * 20, "hf_" + "a" * 30, "ya29." + "a" * 40],
    "addresses with secrets": ["https://hooks.slack.com/services/T000/B000/XXXX"],
    "bearer headers": [
        "Authorization: Bearer abcdef123456",
        "authorization: Basic YWxhZGRpbjpvcGVu",
        "Authorization: token abcdefgh",
    ],
    "private keys": [
        "-----BEGIN PRIVATE KEY-----\n" + "aB3/" * 16 + "\n" + "aB3/" * 16 + "\ncut",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
    ],
    "passwords in addresses": ["postgres://ann:hunter2@db/x", "https://:tok3n@host"],
    "named secrets": [
        '"api_key": "abcd1234efgh"',
        "PASSWORD=correct-horse-9",
        "client_secret: zzzz9999zzzz",
        "AWS_SECRET_ACCESS_KEY=wJalrXUtnFEMI7MDENG",
        '"secretAccessKey": "wJalrXUtnFEMI7"',
        "DB_PASSWORD=correcthorsebattery",
        '"password": "abcdefgh"',
        '"db_password": "abcdefgh"',
    ],
    "home directories": ["/home/ann/work", "/Users/ann", "C:\\Users\\ann\\x", "cd /root/x", "file:///home/ann/x"],
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in SECRETS.items() for text in texts])
def test_a_secret_is_replaced_and_counted_by_its_kind(kind, text):
    found: Counter[str] = Counter()
    clean = scrubbed_text(f"before {text} after", found)
    assert found == {kind: 1}
    assert clean.startswith("before ")
    assert clean.endswith(" after")
    assert scrubbed_text(clean, found) == clean
    assert found == {kind: 1}


@pytest.mark.parametrize(
    "text",
    [
        "the task-force-of-the-secret-garden",
        "a token: the next word",
        "https://example.com:8080/a@b",
        "/homework/ann and /rooted",
        "def5678..abc1234 main",
        "max_tokens=4096",
        "the password is reset",
        "PASSWORD=$DB_PASSWORD",
        '"password": "<your password>"',
        '"password": "{{ secret }}"',
        "password: str",
        "it begins with -----BEGIN PRIVATE KEY----- and then the key comes",
    ],
)
def test_what_is_no_secret_stays(text):
    found: Counter[str] = Counter()
    assert scrubbed_text(text, found) == text
    assert not found


def test_a_key_gives_its_value_away():
    found: Counter[str] = Counter()
    value = {"headers": {"Authorization": "abc"}, "db_password": "x", "n_tokens": 5, "note": "y"}
    assert scrubbed_value(value, found) == {
        "headers": {"Authorization": "[secret]"},
        "db_password": "[secret]",
        "n_tokens": 5,
        "note": "y",
    }
    assert found == {"named secrets": 2}


def test_lists_and_long_numbers_under_such_a_key_are_secrets_too_and_counts_are_not():
    found: Counter[str] = Counter()
    value = {"token": "s3cr3tvalue99", "github_token": "x", "api_key": ["a", "b"], "password": 12345678, "secret": None}
    assert scrubbed_value(value | {"passwd": {"min": 8}}, found) == {
        "token": "[secret]",
        "github_token": "[secret]",
        "api_key": ["[secret]", "[secret]"],
        "password": "[secret]",
        "secret": None,
        "passwd": {"min": 8},
    }
    assert scrubbed_value({"token": 17, "has_password": True}, found) == {"token": 17, "has_password": True}
