"""The Containerfile's steps, run in clean Debian trees, and checks of the other files that need no engine."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.support.containers import Stage, build, instructions, missing
from tests.support.repository import REPOSITORY

CONTAINERFILE = REPOSITORY / "Containerfile"
UNIT = REPOSITORY / "deploy" / "atlas.service"
PAGE = REPOSITORY / "docs" / "how-to" / "deploy.md"


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    """The image, on a file system where programs may run: that of temporary files of tests may be in memory."""
    if lacks := missing():
        pytest.skip(f"the steps of the Containerfile need {lacks}")
    with tempfile.TemporaryDirectory(dir="/var/tmp") as directory:
        yield build(CONTAINERFILE, Path(directory))


@pytest.mark.slow
def test_the_image_serves_a_store_and_is_healthy_without_root(stage):
    assert stage.run("id --user").strip() == "10001"
    assert stage.run("stat --format='%U %a' /srv/atlas").strip() == "atlas 700"
    assert "10001" not in stage.run("find /opt/atlas ! -user root -o -perm -o=w -type f | head"), "the code is root's"
    stage.run("atlas init")
    key = re.search(r"atlas_\S+", stage.run("atlas keys add me --role admin"))[0]
    address = "http://127.0.0.1:8501"
    program = (
        f"import time, urllib.request as r; request = r.Request('{address}/api/v1/operations');"
        f"request.add_header('Authorization', 'Bearer {key}'); print(r.urlopen(request).status)"
    )
    served = stage.run(
        f"{stage.program} >/tmp/served 2>&1 & server=$!\n"
        f"for attempt in $(seq 120); do {shlex.join(stage.health)} 2>/dev/null && break; sleep 1; done\n"
        f"{shlex.join(stage.health)} || {{ cat /tmp/served; exit 1; }}\n"
        f"python3 -c {shlex.quote(program)}\n"
        "kill $server; wait $server || true",
        has_network=False,
    )
    assert served.split() == ["200"]


def test_the_image_runs_the_server_as_another_user_than_root():
    steps = instructions(CONTAINERFILE.read_text(encoding="utf-8"))
    last = steps[max(n for n, (instruction, _) in enumerate(steps) if instruction == "FROM") :]
    assert [rest for instruction, rest in last if instruction == "USER"] == ["atlas"]
    assert {"VOLUME", "HEALTHCHECK", "EXPOSE"} <= {instruction for instruction, _ in last}


def test_compose_has_the_server_and_a_database_with_pgvector():
    compose = yaml.safe_load((REPOSITORY / "compose.yaml").read_text(encoding="utf-8"))
    server, database = compose["services"]["atlas"], compose["services"]["database"]
    assert set(compose["services"]) == {"atlas", "database"}
    assert (REPOSITORY / server["build"]["dockerfile"]).is_file()
    assert server["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert [port.split(":")[0] for port in server["ports"]] == ["127.0.0.1"], "a proxy with TLS stands before it"
    assert "pgvector" in database["image"]
    assert database["healthcheck"]["test"][:2] == ["CMD", "pg_isready"]
    assert "ports" not in database
    named = {volume.split(":")[0] for service in (server, database) for volume in service["volumes"]}
    assert {name for name in named if not name.startswith("./")} == set(compose["volumes"])
    assert [name for name in named if name.startswith("./") and not (REPOSITORY / name).is_file()] == []
    secrets = server["environment"]["PGPASSWORD"], database["environment"]["POSTGRES_PASSWORD"]
    assert all(secret.startswith("${ATLAS_DB_PASSWORD:?") for secret in secrets), "no password stands in the file"


def test_the_unit_names_what_the_page_makes():
    unit, page = UNIT.read_text(encoding="utf-8"), PAGE.read_text(encoding="utf-8")
    started = re.search(r"^ExecStart=(\S+)", unit, re.MULTILINE)[1]
    assert started.removesuffix("/bin/atlas") in page
    assert "User=atlas\n" in unit
    assert "ReadWritePaths=/srv/atlas\n" in unit
    assert "deploy/atlas.service" in page


@pytest.mark.slow
def test_systemd_finds_no_fault_with_the_unit(tmp_path):
    verify = shutil.which("systemd-analyze")
    if verify is None:
        pytest.skip("systemd-analyze is not on this machine")
    text = UNIT.read_text(encoding="utf-8").replace("/opt/atlas/bin/atlas", "/bin/true")  # which is there
    (tmp_path / UNIT.name).write_text(text, encoding="utf-8")
    done = subprocess.run([verify, "verify", str(tmp_path / UNIT.name)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
