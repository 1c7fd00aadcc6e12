"""Programs that are run: what they print, what they get, and that they end."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest

from atlas.primitives.swe.commands import run_command, run_tests


def python(root, program, **options):
    return run_command(root, [sys.executable, "-c", program], **options)


def test_it_runs_in_the_root_and_says_how_it_ended(root):
    result = python(root, "import os, sys; print(os.listdir('package')); print('oh', file=sys.stderr); sys.exit(3)")
    assert result == {"exit_code": 3, "output": "['module.py']\n", "errors": "oh\n", "timed_out": False}


def test_there_is_no_shell(root):
    assert run_command(root, ["echo", "$HOME; ls *"])["output"] == "$HOME; ls *\n"


@pytest.mark.parametrize("command", ["ls -l", [], ()])
def test_a_text_or_nothing_is_no_command(root, command):
    with pytest.raises(ValueError, match="a program and its arguments as a list"):
        run_command(root, command)


def test_a_program_that_is_not_there_is_said(root):
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        run_command(root, ["no-such-program"])


def test_what_is_secret_in_the_environment_stays_there(root, monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    program = "import os; print(os.environ.get('ANTHROPIC_API_KEY'), os.environ.get('MODE'), 'PATH' in os.environ)"
    assert python(root, program, environment={"MODE": "test"})["output"] == "None test True\n"


def test_there_is_nothing_to_read(root):
    assert run_command(root, ["cat"])["exit_code"] == 0


def test_a_program_whose_time_is_over_is_killed_with_its_children(root):
    program = (
        "import os, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(600)"
    )
    result = python(root, program, seconds=2)
    assert (result["exit_code"], result["timed_out"]) == (None, True)
    assert ends(int(result["output"]))


def test_what_a_program_leaves_behind_is_killed_and_not_waited_for(root):
    program = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(child.pid)"
    )
    result = python(root, program)
    assert (result["exit_code"], result["timed_out"]) == (0, False)
    assert ends(int(result["output"]))


def ends(pid):
    """Whether a process is gone, or dead and only not yet collected, within some seconds."""
    for _ in range(500):
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.01)
    return False


def test_a_program_that_prints_without_end_is_ended_and_its_output_bounded(root):
    result = run_command(root, ["yes"], seconds=0.5, max_output_bytes=1000)
    assert result["timed_out"]
    assert len(result["output"]) < 1100
    assert "bytes left out" in result["output"]


def test_the_first_and_the_last_of_a_long_output_are_kept(root):
    result = python(root, "print('begin' + 'x' * 100_000 + 'end')", max_output_bytes=100)
    assert result["output"].startswith("begin")
    assert result["output"].endswith("end\n")
    assert "\n… 99,909 bytes left out …\n" in result["output"]


def test_output_that_just_fits_is_whole(root):
    assert python(root, "print('x' * 99)", max_output_bytes=100)["output"] == "x" * 99 + "\n"


def test_bytes_that_are_no_text_are_shown_as_such(root):
    assert python(root, "import sys; sys.stdout.buffer.write(b'caf\\xe9')")["output"] == "caf\ufffd"


def test_a_program_ended_by_a_signal_says_so(root):
    assert python(root, "import os; os.abort()")["exit_code"] == -6


def test_a_program_that_closes_its_output_and_goes_on_is_waited_for(root):
    assert python(root, "import os, time; os.close(1); os.close(2); time.sleep(0.3); os._exit(7)")["exit_code"] == 7


def test_tests_are_run_with_this_python_and_pytest(root):
    (root / "test_it.py").write_text("def test_good():\n    pass\n\n\ndef test_bad():\n    assert False\n")
    result = run_tests(root, ["test_it.py"], environment={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    assert result["exit_code"] == 1
    assert "1 failed, 1 passed" in result["output"]
