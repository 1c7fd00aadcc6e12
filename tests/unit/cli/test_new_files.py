"""Files that commands write for a person."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from atlas.cli.common import replacement_file


def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as reader:
        read = reader.submit(pipe.read_text)
        with replacement_file(pipe) as write:
            write("exported")
    assert read.result() == "exported"
    assert pipe.is_fifo()


def test_standard_output_by_its_path_is_written_to():
    code = "from pathlib import Path\nfrom atlas.cli.common import replacement_file\n"
    code += "with replacement_file(Path('/dev/stdout')) as write: write('exported')"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (run.stdout, run.stderr) == ("exported", "")


def test_a_link_leads_to_the_new_file_afterwards(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with replacement_file(tmp_path / "link") as write:
        write("exported")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "exported"


def test_an_interrupted_write_leaves_the_former_file_alone(tmp_path):
    file = tmp_path / "file"
    file.write_text("former")
    with pytest.raises(KeyboardInterrupt), replacement_file(file) as write:
        write("half")
        raise KeyboardInterrupt
    assert file.read_text() == "former"
    assert list(tmp_path.iterdir()) == [file]
