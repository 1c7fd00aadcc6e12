"""Secrets are taken out of logs, and what is none stays."""

from __future__ import annotations

import base64
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from atlas.infra.secrets import KINDS, scrub_text, scrub_value

AZURE = base64.b64encode(bytes(range(64))).decode()
SHORT = base64.b64encode(bytes(range(32))).decode()
TELEGRAM = "123456789:AA" + "Ab1_-" * 6 + "xyz"

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
    "tokens": [
        *("ghp_" + "a1" * 18, "glpat-" + "x" * 20, "xoxb-" + "1" * 20, "hf_" + "a" * 30, "ya29." + "a" * 40),
        *(TELEGRAM, f"https://api.telegram.org/bot{TELEGRAM}/getMe", f"TELEGRAM_TOKEN={TELEGRAM}"),
    ],
    "Azure keys": [
        f"DefaultEndpointsProtocol=https;AccountName=ann;AccountKey={AZURE};EndpointSuffix=core.windows.net",
        f"AccountKey={AZURE}",
        f'"accountKey": "{AZURE}"',
        f"AZURE_STORAGE_KEY='{AZURE}'",
        f"az storage blob list --account-name ann --account-key {AZURE}",
        f"az storage blob list --account-name ann -k {AZURE}",
        f"SharedAccessKey={SHORT}",
        f"the key of the storage account is\n{AZURE}",
    ],
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
    clean = scrub_text(f"before {text} after", found)
    assert found == {kind: 1}
    assert clean.startswith("before ")
    assert clean.endswith(" after")
    assert scrub_text(clean, found) == clean
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
        f'"integrity": "sha512-{AZURE}"',
        f"the digest {AZURE} of an archive",
        f"azure-core sha512-{AZURE}",
        "AccountKey=<your key>",
        "account_key = 'customer_2024'",
        "123456789:AAbb",
        "at 1234567890:AA it wraps",
        "token = lines2tokens(text)",
        "secret = base64.b64decode(text)",
        "it begins with -----BEGIN PRIVATE KEY----- and then the key comes",
    ],
)
def test_what_is_no_secret_stays(text):
    found: Counter[str] = Counter()
    assert scrub_text(text, found) == text
    assert not found


def test_a_key_gives_its_value_away():
    found: Counter[str] = Counter()
    value = {"headers": {"Authorization": "abc"}, "db_password": "x", "n_tokens": 5, "note": "y"}
    assert scrub_value(value, found) == {
        "headers": {"Authorization": "[secret]"},
        "db_password": "[secret]",
        "n_tokens": 5,
        "note": "y",
    }
    assert found == {"named secrets": 2}


def test_lists_and_long_numbers_under_such_a_key_are_secrets_too_and_counts_are_not():
    found: Counter[str] = Counter()
    value = {"token": "s3cr3tvalue99", "github_token": "x", "api_key": ["a", "b"], "password": 12345678, "secret": None}
    assert scrub_value(value | {"passwd": {"min": 8}}, found) == {
        "token": "[secret]",
        "github_token": "[secret]",
        "api_key": ["[secret]", "[secret]"],
        "password": "[secret]",
        "secret": None,
        "passwd": {"min": 8},
    }
    assert scrub_value({"token": 17, "has_password": True}, found) == {"token": 17, "has_password": True}


def test_a_key_of_azure_is_found_under_its_name():
    found: Counter[str] = Counter()
    assert scrub_value({"AccountName": "ann", "account_key": AZURE, "storage-key": SHORT}, found) == {
        "AccountName": "ann",
        "account_key": "[secret]",
        "storage-key": "[secret]",
    }
    assert scrub_value({"account_key": "acme-001"}, found) == {"account_key": "acme-001"}
    assert found == {"named secrets": 2}


def test_what_was_scrubbed_is_not_counted_again():
    found: Counter[str] = Counter()
    value = {"password": "abcdefgh", "token": TELEGRAM, "log": f"AccountKey={AZURE} TOKEN={TELEGRAM}"}
    clean = scrub_value(value, found)
    assert scrub_value(clean, Counter()) == clean
    again: Counter[str] = Counter()
    scrub_value(clean, again)
    assert again == {}


def test_home_directories_may_stay():
    found: Counter[str] = Counter()
    assert scrub_text("/home/ann/work", found, homes=False) == "/home/ann/work"
    assert not found


@settings(deadline=None)
@given(st.text(st.sampled_from("AKIAsk-_=:/.@ \n\"'{}[]Bearer0123456789passwordtokenkey+&é\u212a"), max_size=300))
def test_cues_leave_out_no_secret_and_scrubbing_twice_is_scrubbing_once(text):
    clean = scrub_text(text, Counter())
    for kind in KINDS:
        without_cue = not any(cue in text.lower() for cue in kind.cues)
        assert not (without_cue and re.search(kind.pattern, text))
    assert scrub_text(clean, Counter()) == clean
