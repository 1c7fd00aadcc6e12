"""A Containerfile whose steps are run without a container engine: each stage is a clean Debian tree, entered by chroot.

It takes root, `debootstrap` and the network. Engines do more: layers, limits, port forwarding, volumes.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.repository import REPOSITORY

MIRROR = "http://deb.debian.org/debian"
SUITES = {"docker.io/library/debian:12-slim": "bookworm"}
"""Debian's suite of each base image."""

PASSED_TO_PIP = ("cert", "default-timeout", "extra-index-url", "find-links", "index-url", "trusted-host")


@dataclass
class Stage:
    """A tree, and how programs run in it."""

    root: Path
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"})
    user: str = "root"
    directory: str = "/"
    entrypoint: list[str] = field(default_factory=list)
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)

    @property
    def program(self) -> str:
        """What a container runs, as a command of the shell."""
        return shlex.join([*self.entrypoint, *self.command])

    def run(self, script: str, *, has_network: bool = True) -> str:
        """Run a script in the tree as the stage's user, and return what it prints.

        Args:
            has_network: False for a network of its own, on which it can reach itself alone.
        """
        into = ["chroot", f"--userspec={self.user}:{self.user}", str(self.root), "env", "-i"]
        variables = [f"{name}={value}" for name, value in {**self.environment, **_pip_variables()}.items()]
        entered = f"cd {shlex.quote(self.directory)} && {script}"
        lines = [f"mount -t proc proc {self.root}/proc", *([] if has_network else ["ip link set lo up"])]
        for source in _local_packages():  # this machine's own, where pip is set up to read some
            (self.root / source.relative_to("/")).mkdir(parents=True, exist_ok=True)
            lines.append(f"mount --bind {source} {self.root}{source}")
        lines.append(f"exec {shlex.join([*into, *variables, 'sh', '-euc', entered])}")
        unshared = ["unshare", "--mount", *([] if has_network else ["--net"]), "sh", "-euc", "\n".join(lines)]
        done = subprocess.run(unshared, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{script}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
        return done.stdout


def build(containerfile: Path, directory: Path) -> Stage:
    """Run the steps of a Containerfile with trees in a directory, and return the last stage."""
    stages: dict[str, Stage] = {}
    stage = Stage(directory)
    for instruction, rest in instructions(containerfile.read_text(encoding="utf-8")):
        if instruction == "FROM":
            image, _, name = rest.partition(" AS ")
            stage = stages[name] = Stage(debian(SUITES[image], directory / f"stage-{len(stages)}"))
        else:
            STEPS[instruction](stage, rest, stages)
    return stage


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a Containerfile, each with what follows it."""
    lines = re.sub(r"^#.*\n|\\\n", "", text, flags=re.MULTILINE).splitlines()
    words = [line.split(maxsplit=1) for line in lines if line.strip()]
    return [(instruction, rest) for instruction, rest in words]


def debian(suite: str, root: Path) -> Path:
    """Make a clean tree."""
    made = ["debootstrap", "--variant=minbase", f"--cache-dir={_cache(root.parent)}", suite, str(root), MIRROR]
    subprocess.run(made, capture_output=True, check=True)
    certificate = _pip_configuration().get("cert")
    if certificate:
        shutil.copy(certificate, root / "mnt" / "cert.pem")
    return root


def _cache(directory: Path) -> Path:
    cache = directory / "packages"
    cache.mkdir(exist_ok=True)
    return cache


def _copy(stage: Stage, rest: str, stages: dict[str, Stage]) -> None:
    words = rest.split()
    source, target = words[-2:]
    place = stage.root / target.strip("/")
    if words[0].startswith("--from="):
        origin = stages[words[0].removeprefix("--from=")].root / source.strip("/")
        subprocess.run(["cp", "--archive", str(origin), str(place)], check=True)
        return
    assert source == "."
    place.mkdir(parents=True)
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, check=True).stdout
    copied = ["cp", "--parents", "--no-dereference", *filter(None, tracked.decode().split("\0")), str(place)]
    subprocess.run(copied, cwd=REPOSITORY, check=True)


def _environment(stage: Stage, rest: str, stages: dict[str, Stage]) -> None:
    name, _, value = rest.partition("=")
    stage.environment[name] = value


def _health(stage: Stage, rest: str, stages: dict[str, Stage]) -> None:
    stage.health = json.loads(rest.partition("CMD ")[2])


STEPS = {
    "RUN": lambda stage, rest, stages: stage.run(rest),
    "COPY": _copy,
    "ENV": _environment,
    "USER": lambda stage, rest, stages: setattr(stage, "user", rest),
    "WORKDIR": lambda stage, rest, stages: setattr(stage, "directory", rest),
    "ENTRYPOINT": lambda stage, rest, stages: setattr(stage, "entrypoint", json.loads(rest)),
    "CMD": lambda stage, rest, stages: setattr(stage, "command", json.loads(rest)),
    "HEALTHCHECK": _health,
    "VOLUME": lambda stage, rest, stages: None,  # for engines alone, as the next
    "EXPOSE": lambda stage, rest, stages: None,
}
"""What each instruction does to its stage. Another one is an error."""


def _pip_configuration() -> dict[str, str]:
    """Return where pip of this machine looks for packages, by the names of its options."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    found = re.findall(r"^[\w:]+\.([\w-]+)='(.*)'$", listed.stdout, re.MULTILINE)
    return {name: value for name, value in found if name in PASSED_TO_PIP}


def _pip_variables() -> dict[str, str]:
    paths = _pip_configuration() | ({"cert": "/mnt/cert.pem"} if "cert" in _pip_configuration() else {})
    return {f"PIP_{name.upper().replace('-', '_')}": value for name, value in paths.items()}


def _local_packages() -> list[Path]:
    """Return the directories among them. An index, by custom `simple`, links to files beside itself."""
    words = " ".join(_pip_configuration().values()).replace("\\n", " ").split()
    places = [Path(word.removeprefix("file://")) for word in words]
    named = [place for place in places if place.is_absolute() and place.is_dir()]
    return [place.parent if place.name == "simple" else place for place in named]


def missing() -> str:
    """Return what this machine lacks to build, or an empty string."""
    lacks = [name for name in ("debootstrap", "unshare", "chroot", "ip") if shutil.which(name) is None]
    return ", ".join([*lacks, *([] if os.geteuid() == 0 else ["root"])])
