"""Datasets written in several processes: equal files, errors as in one, nothing left running."""

import os
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from report import families
from report.datasets import store
from report.datasets.write import attention, processes
from report.datasets.write.attention import write_attention
from report.datasets.write.folder import Folder
from report.errors import ReportError
from report.files import sha256
from report.models.measure.passage import measure_passage
from tests.commands import contents

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module", params=["qwen2", "gpt_oss", "gptj"])
def measurement(request):
    """Scores of two terms, with a sink, and without terms."""
    loaded = families.loaded(request.param, seed=3)
    return measure_passage(loaded, np.random.default_rng(0).integers(1, 40, 24).tolist())


@pytest.fixture
def two(monkeypatch):
    monkeypatch.setattr(processes, "processors", lambda: 2)
    monkeypatch.setattr(attention, "CELLS_OF_A_START", 1)


def written(folder, measurement):
    """The folder, what was said of its fields, and the steps of progress."""
    files, steps = Folder(folder), []
    fields = write_attention(files, measurement, lambda *step: steps.append(step))
    return files.files, fields, steps


def test_two_processes_write_what_one_writes(measurement, tmp_path, monkeypatch):
    alone = written(tmp_path / "alone", measurement)
    monkeypatch.setattr(processes, "processors", lambda: 2)
    monkeypatch.setattr(attention, "CELLS_OF_A_START", 1)
    together = written(tmp_path / "together", measurement)
    assert together == alone
    layers, heads = measurement.largest_targets.shape[:2]
    sides = [len(getattr(factors, "key", ())) for factors in measurement.factors]
    of_keys = [name for name in alone[0] if name.startswith("keys/")]
    assert len(of_keys) == sum(sides)
    assert len(alone[0]) == layers * heads + len(of_keys)
    assert alone[2] == [(layer + 1, layers) for layer in range(layers)]
    for name, facts in alone[0].items():
        content = (tmp_path / "together" / name).read_bytes()
        assert content == (tmp_path / "alone" / name).read_bytes()
        assert facts == {"bytes": len(content), "sha256": sha256(tmp_path / "alone" / name)}
        shard = store.read(tmp_path / "alone" / name)
        assert "keys" not in shard or shard["keys"] in of_keys


def test_what_another_machine_writes_is_what_this_one_writes(measurement, tmp_path):
    files, fields, _ = written(tmp_path / "here", measurement)
    sent = replace(measurement, factors=attention.to_send(measurement, 1))
    sent = pickle.loads(pickle.dumps(sent))
    assert written(tmp_path / "sent", sent)[:2] == (files, fields)
    assert contents(tmp_path / "sent") == contents(tmp_path / "here")


def test_an_error_is_told_as_in_one_process(measurement, tmp_path, two):
    (tmp_path / "attention").write_text("a file where a folder has to be")
    with pytest.raises(ReportError, match="attention"):
        written(tmp_path, measurement)


def test_results_come_in_order_and_no_job_is_made_long_before(two):
    made = []

    def job(number):
        made.append(number)
        return number, 2

    with processes.calls(pow, (partial(job, n) for n in range(40)), 2) as done:
        for n, result in enumerate(done):
            assert result == n**2
            assert max(made) <= n + 5  # two are under way, two wait to be taken
    assert sorted(made) == list(range(40))


def test_what_a_call_raises_is_raised_here():
    jobs = [lambda: (1, 1), lambda: (1, 0)]
    with pytest.raises(ZeroDivisionError), processes.calls(divmod, jobs, 2) as done:
        assert next(done) == (1, 0)
        next(done)


def test_a_process_that_is_ended_is_one_sentence():
    jobs = [lambda: (1,)]
    ended = pytest.raises(ReportError, match="was ended from outside")
    with ended, processes.calls(os._exit, jobs, 2) as done:
        next(done)


def test_a_process_beside_answers_all_threads_and_is_started_anew_once_it_was_ended():
    with ThreadPoolExecutor(4) as threads, processes.beside() as call:
        asked = [threads.submit(call, pow, n, 2) for n in range(20)]
        assert [each.result() for each in asked] == [n**2 for n in range(20)]
        with pytest.raises(ZeroDivisionError):
            call(divmod, 1, 0)
        first = call(os.getpid)
        assert first != os.getpid()
        with pytest.raises(ReportError, match="was ended from outside"):
            call(os._exit, 1)
        assert call(os.getpid) not in (first, os.getpid())
        waiting = threads.submit(call, time.sleep, 600)  # longer than a test may take
        while not waiting.running():
            time.sleep(0.01)
    with pytest.raises(ReportError, match="was ended from outside"):  # with the block
        waiting.result()


def test_nothing_runs_on_after_an_interruption():
    jobs = [lambda: (0,), *[lambda: (600,)] * 3]  # longer than a test may take
    with pytest.raises(KeyboardInterrupt), processes.calls(time.sleep, jobs, 2) as done:
        next(done)
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("quota", "number"), [("100000 100000", 1), ("50000 100000", 1), ("max 100000", None)]
)
def test_a_container_gets_as_many_processes_as_it_has_time(tmp_path, monkeypatch, quota, number):
    monkeypatch.setattr(processes, "QUOTA", tmp_path / "none")
    whole = processes.processors()
    (tmp_path / "cpu.max").write_text(f"{quota}\n")
    monkeypatch.setattr(processes, "QUOTA", tmp_path / "cpu.max")
    assert processes.processors() == (number or whole)


def test_what_ends_a_process_that_runs_what_authors_write_is_said_and_the_next_call_has_another():
    """Also an error that the program did not expect, as the one that it would be here."""
    with processes.pool(1, authored=True) as submit:
        first = submit(os.getpid, tuple).result()
        assert first != os.getpid()
        with pytest.raises(ReportError, match="the whole program was ended, with status 3"):
            submit(os._exit, lambda: (3,)).result()
        second = submit(os.getpid, tuple).result()
        with pytest.raises(ReportError, match=r"a defect of the program.*ZeroDivisionError"):
            submit(divmod, lambda: (1, 0)).result()
        assert submit(os.getpid, tuple).result() == second != first
        waiting = submit(time.sleep, lambda: (600,))  # longer than a test may take
        while not waiting.running():
            time.sleep(0.01)
    until = time.monotonic() + 60
    while runs(str(second)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not runs(str(second))


@pytest.mark.promise("killed-commands")
@pytest.mark.parametrize("amid", ["nothing", "calls"])
def test_the_processes_end_with_the_one_that_started_them(amid):
    """Also where it is killed, and cannot end them."""
    end = "    os.kill(os.getpid(), signal.SIGKILL)\n"
    program = (
        "import os, signal, sys, time\n"
        "from report.datasets.write import processes\n"
        "begin = processes._start\n"
        "def start(*how):\n"
        "    process = begin(*how)\n"
        '    os.write(1, b"%d\\n" % process.pid)\n'  # as one: two threads start at once
        "    return process\n"
        "processes._start = start\n"
        "jobs = [lambda: (0,)] * 2 + [lambda: (600,)] * 2\n"  # longer than a test may take
        f"jobs = jobs[:{4 if amid == 'calls' else 2}]\n"
        "with processes.calls(time.sleep, jobs, 2) as done:\n"
        "    next(done), next(done)\n" + end
    )
    done = subprocess.run(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert done.returncode == -signal.SIGKILL
    numbers, until = done.stdout.split(), time.monotonic() + 60
    assert len(numbers) == 2
    while any(map(runs, numbers)) and time.monotonic() < until:
        time.sleep(0.05)
    assert not any(map(runs, numbers))


def runs(number):
    """Whether a process is there, and is no zombie that nobody has asked about."""
    state = subprocess.run(
        ["ps", "-o", "stat=", "-p", number],
        capture_output=True,
        text=True,
    )
    return state.stdout.strip()[:1] not in ("", "Z")


def test_they_are_started_in_any_folder_and_load_no_library_that_measures(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    (tmp_path / "numpy.py").write_text("raise SystemExit('a module of this folder')")
    names = "sorted({name.partition('.')[0] for name in __import__('sys').modules})"
    asked = f"[__import__('report.datasets.write.attention'), {names}][1]"
    with processes.calls(eval, [lambda: (asked,)], 2) as done:
        loaded = next(done)
    assert {"numpy", "report"} <= set(loaded)
    assert not {"torch", "transformers"} & set(loaded)


def test_memory_and_processors_bound_their_number(monkeypatch):
    monkeypatch.setattr(processes, "processors", lambda: 64)
    assert processes.number(1) == 64
    assert processes.number(processes.MEMORY // 3) == 3
    assert processes.number(processes.MEMORY * 5) == 1
