"""Made-up secrets of real shapes are replaced, and ordinary texts and values stay."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from atlas.infra.secrets import scrub_text, scrub_value

HEX = "9f86d081884c7d659a2feaa0c55ad015"
BASE64URL = "Qm3x_Zt8-Lw0pVnR5uYkE2hGdJ7sBcA4fTqXoMi9"

SECRET_TEXTS = {
    "sk-" + "T3BlbkFJ" + "4hGdJ7sBcA9w" * 3: ("T3BlbkFJ",),
    f"OPENAI_API_KEY=sk-proj-{BASE64URL}": (BASE64URL,),
    f"export ANTHROPIC_API_KEY='sk-ant-api03-{BASE64URL}'": (BASE64URL,),
    f"key: sk-or-v1-{HEX}": (HEX,),
    "STRIPE=sk_live_51H8xYz2eZvKYlo2C": ("51H8xYz2eZvKYlo2C",),
    "aws_access_key_id = AKIAIOSFODNN7EXAMPLE": ("AKIAIOSFODNN7EXAMPLE",),
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzz9a": ("wJalrXUtnFEMI",),
    "git clone https://x-access-token:ghs_16C7e42F292c6912E7710c838347Ae17@github.com/a/b": ("16C7e42F",),
    f"GITLAB_TOKEN: glpat-{BASE64URL[:20]}": (BASE64URL[:20],),
    f"Authorization: Bearer {BASE64URL}": (BASE64URL,),
    'curl -H "Authorization: Bearer abcdefghij"': ("abcdefghij",),
    '{"Authorization": "Bearer abcdefghij"}': ("abcdefghij",),
    "it sends Bearer abcdefghijklmnopqrstuvwx": ("abcdefghijklmnopqrstuvwx",),
    "it sends bearer ab12cd34": ("ab12cd34",),
    "postgresql://ann:Tr0ub4dor@db.example.com/prod": ("Tr0ub4dor",),
    'token = "8f14e45fceea167a"': ("8f14e45fceea167a",),
    "token: 8f14e45fceea167a": ("8f14e45fceea167a",),
    "token: 123456789012": ("123456789012",),
    "?access_token=ab12cd34ef56": ("ab12cd34ef56",),
    "secret: s3cr3t-of-the-webhook": ("s3cr3t-of-the-webhook",),
    "secret=12345678": ("12345678",),
    'secret: "12345678"': ("12345678",),
    "JWT_SECRET=my-jwt-secret-2024": ("my-jwt-secret-2024",),
    "password: 12345678": ("12345678",),
    "PASSWORD=/slash-in-front-9": ("slash-in-front-9",),
    "pwd=hunter22": ("hunter22",),
    "DB_PWD=correcthorse": ("correcthorse",),
    "sqlcmd: Server=db;Uid=sa;Pwd=P4ssw0rd!x": ("P4ssw0rd",),
    '{"pwd": "hunterxx"}': ("hunterxx",),
    '{"password": "letmeinnow"}': ("letmeinnow",),
    "client_secret: GOCSPX-4hGdJ7sBcA9w": ("GOCSPX",),
    "HF_TOKEN=hf_" + "aB3dE5gH7j" * 3: ("aB3dE5gH7j",),
    "x-api-key: 3f9a1b7c5d2e": ("3f9a1b7c5d2e",),
    "PASSWORD=$ecret99xx": ("ecret99xx",),
}

SECRET_VALUES: list[tuple[str, Any]] = [
    *(("token", "8f14e45fceea167a"), ("token", ["8f14e45fceea167a"]), ("Token", BASE64URL), ("secret", "wh1sper-it")),
    *(
        ("password", "letmein"),
        ("password", "correct horse battery staple"),
        ("PASSWORD", "/slash9"),
        ("pwd", "hunter"),
    ),
    *(("db_pwd", "sesame"), ("passwd", ["sesame"]), ("api_key", ["k"]), ("github_token", "x")),
    *(("app_secret", "sesame"), ("Authorization", "abc"), ("password", 12345678), ("token", "123456789:AAb1")),
]

ORDINARY_TEXTS = [
    *("PWD=/srv/build/job42", "OLDPWD=/srv/build/job41", 'PWD="/srv/build 7/job42"', "pwd: ~/work/job42"),
    *("PWD=./job42/build", "PWD=C:\\build\\job42", "pwd = D:/build/job42", 'declare -x PWD="/srv/build/job42"'),
    *('{"PWD": "/srv/build/job"}', '{"OLDPWD": "/srv/build/job42"}', "{'pwd': '~/work/atlas'}", "export PWD=/srv/job"),
    *("pip install sk-learn-contrib-helpers", "sk-learn-contrib-helpers-2", "task-sk-estimators-for-everybody"),
    *("sk-learn-nightly-20240701", "the locale sk-SK-messages-and-errors"),
    *("the secret: 12345678 apples", "secret: 2024-01-02 is the day", "the token: 12345678 of the vocabulary"),
    *('{"token": 12345678}', "secret: 3.14159265 is about pi", "the token: 1234567.8 seconds"),
    *("token = self.tokens_v2[0]", "token = vocabulary_2[index]", "secret = config.secrets.v1_key"),
    *("token=tokens2words(line)", "PASSWORD=${DB_PASSWORD_2}", "PASSWORD=$DB_PASSWORD_2", '"password": "required"'),
    *("the bearer credential of the jwt-bearer exchange", "a Bearer authentication/authorization scheme"),
    *('{"password": "string"}', "max_new_tokens: 12345678", "password: see the wiki", "the secret: patience"),
]

ORDINARY_VALUES: list[tuple[str, Any]] = [
    *(("token", "the"), ("token", "internationalization"), ("token", ["the", "cat"]), ("tokens", ["the", "cat"])),
    *(("token", "12345678"), ("token", 1280091), ("tokens", 12345678), ("token", "two words of 2024")),
    *(("secret", "banana"), ("secret", "patience is the secret"), ("secret", 123456), ("secrets", ["fog", "rain"])),
    *(
        ("password", "required"),
        ("password", "string"),
        ("password", "<your password>"),
        ("password", "${DB_PASSWORD}"),
    ),
    *(("api_key", "$OPENAI_API_KEY"), ("password", "********"), ("PWD", "/srv/build/job42"), ("pwd", "~/work")),
    *(("pwd", "C:\\build\\job42"), ("pwd", "."), ("password_policy", "strong"), ("password_field", "the second input")),
    *(("password_updated_at", "2024-01-02T10:11:12Z"), ("api_key_file", "/run/keys/api1"), ("id_token_count", 123456)),
    *(("secret_santa", "Ann"), ("authorization_status", "granted"), ("bos_token", "<s>"), ("eos_token_id", 128009)),
]


@pytest.mark.parametrize(("text", "secrets"), SECRET_TEXTS.items(), ids=list(SECRET_TEXTS))
def test_a_secret_of_a_real_shape_is_replaced(text, secrets):
    found: Counter[str] = Counter()
    clean = scrub_text(f"before {text} after", found, homes=False)
    assert found.total() == 1
    assert not [secret for secret in secrets if secret in clean]
    assert clean.startswith("before ")
    assert clean.endswith(" after")


@pytest.mark.parametrize(("key", "value"), SECRET_VALUES)
def test_a_value_that_its_key_gives_away_is_replaced(key, value):
    replaced = ["[secret]"] if isinstance(value, list) else "[secret]"
    assert scrub_value({key: value}, Counter(), homes=False) == {key: replaced}


@pytest.mark.parametrize("text", ORDINARY_TEXTS)
def test_an_ordinary_text_stays(text):
    found: Counter[str] = Counter()
    assert scrub_text(f"before {text} after", found, homes=False) == f"before {text} after"
    assert scrub_text(f"{text}\nnext line", found, homes=False) == f"{text}\nnext line"
    assert not found


@pytest.mark.parametrize(("key", "value"), ORDINARY_VALUES)
def test_an_ordinary_value_stays_whatever_its_key(key, value):
    found: Counter[str] = Counter()
    assert scrub_value({key: value}, found, homes=False) == {key: value}
    assert not found
