"""Measuring on a real Ray cluster whose workers and nodes die: nothing is lost, nothing twice."""

import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace

import pytest
from transformers import LlamaConfig

from report.datasets import store
from report.errors import ReportError
from report.measuring.cluster.driver import on_cluster
from report.measuring.cluster.workforce import Workforce
from report.measuring.kept import FOLDER
from report.study.study import read_study
from tests.commands import ROOT, contents, report, without_date
from tests.measuring.cluster import trap
from tests.measuring.cluster.conftest import TEXTS, until
from tests.tiny_falcon import byte_level_tokenizer


def datasets(folders):
    return [without_date(contents(folder)) for folder in folders]


@pytest.fixture
def accidents(monkeypatch):
    """A list of functions; the n-th is called when a worker has just been given the n-th piece."""
    planned, original = [], Workforce.begin

    def begin(self, member, attempt, task):
        original(self, member, attempt, task)
        accident = planned.pop(0) if planned else None
        if accident:
            accident(member)

    monkeypatch.setattr(Workforce, "begin", begin)
    return planned


def test_workers_and_nodes_may_die_in_the_middle(
    cluster, study, measured, project, accidents, capfd
):
    alone = datasets(measured(study(texts=64)).folders)
    shutil.rmtree(project.site_src / "datasets")
    shutil.rmtree(project.root / ".cache")
    nodes = {node.node_id: node for node in cluster.worker_nodes}

    def kill(member):
        os.kill(member.share.pid, signal.SIGKILL)

    def remove(member):
        cluster.remove_node(nodes[member.node])

    accidents += [None, None, None, kill, None, remove]
    capfd.readouterr()
    with on_cluster(cluster.address) as run:
        found = measured(study(), run)
    assert accidents == []
    assert datasets(found.folders) == alone
    for folder in found.folders:
        manifest = store.read(folder / "manifest.json")
        assert (manifest["corpus"]["texts"], manifest["corpus"]["left_out"]) == (TEXTS, 0)
    counts = [step[1:] for step in found.steps if step[0] == "Measuring"]
    assert counts == sorted(counts)
    assert counts[-1] == (2 * TEXTS + 2,) * 2
    assert len(contents(project.root / FOLDER)) == 2  # of each model, the sums of all
    about, header, *workers, total = (
        line for line in found.said if not line.startswith(("small: ", "model-"))
    )
    assert re.match(
        r"The first .* of a worker; the other \d+ will take about .* workers?\.$", about
    )
    assert header.split()[:4] == ["worker", "device", "texts", "tokens"]
    assert len(workers) >= 3  # two died, and what replaced them may have been one
    assert sum(", lost" in line for line in workers) == 2
    assert total.startswith(f"{2 * TEXTS} texts and ")
    assert "; 2 tried again" in total
    out, err = capfd.readouterr()
    assert out + err == ""


ATLAS = """---
title: Atlas
date: 2026-01-02
author: Ann
summary: Which?
atlas: true
model: model-1
corpus: texts.txt
effects: 2
cluster: {texts: 64}
---
"""


def test_an_atlas_is_the_same_though_a_worker_dies(cluster, measured, project, accidents):
    """Its examples and counts of tokens too, in whatever order the batches come."""
    path = project.articles / "atlas.md.j2"
    path.write_text(ATLAS)
    alone = datasets(measured(read_study(path)).folders)
    shutil.rmtree(project.site_src / "datasets")
    shutil.rmtree(project.root / ".cache")
    path.write_text(ATLAS.replace("texts: 64", "texts: 4"))
    accidents += [None, None, lambda member: os.kill(member.share.pid, signal.SIGKILL)]
    with on_cluster(cluster.address) as run:
        found = measured(read_study(path), run)
    assert accidents == []
    assert datasets(found.folders) == alone
    assert sum(", lost" in line for line in found.said) == 1


def test_a_driver_that_is_killed_leaves_what_is_finished(cluster, study, measured, project):
    study(["model-1"], texts=2, workers=1)  # each takes long to start
    command = ["measure", "--project", str(project.root), "--ray", cluster.address]
    driver = subprocess.Popen(
        [sys.executable, "-m", "report", *command],
        env=os.environ | {"PYTHONPATH": str(ROOT), "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    kept = project.root / FOLDER
    until(lambda: len(list(kept.glob("*/batches/*.json"))) >= 3 or driver.poll() is not None)
    driver.kill()
    out, _ = driver.communicate()
    assert driver.returncode == -signal.SIGKILL, out
    before = {path: path.read_bytes() for path in kept.glob("*/batches/*.json")}
    assert 3 <= len(before) < TEXTS // 2
    again = report(*command)
    assert again.returncode == 0, again.stderr
    # what was kept is not measured again: all texts less 2 a batch
    assert f"\n{TEXTS - 2 * len(before)} texts and " in again.stderr
    resumed = sorted((project.site_src / "datasets" / "small").iterdir())
    found = datasets(resumed)
    assert len(contents(kept)) == 1  # the sums of all
    shutil.rmtree(project.site_src / "datasets")
    shutil.rmtree(kept)
    alone = measured(study(["model-1"], texts=64))
    assert found == datasets(alone.folders)


def test_bad_texts_are_tried_again_and_told_by_their_index(cluster, study, measured, project):
    """One text that ends the process at once, one that makes numbers that are none.

    The first is a batch of its own, as every worker takes long to start: how such a text is looked
    for among others is tested in test_scheduling.py.
    """
    trap_model(project.root / "trap")
    texts = ["The lamp", "By the window", "Is it lit?", "Ann asked", "But nobody did"]
    (project.root / "texts.txt").write_text("\n".join(texts))
    asked = study(models=["trap"], texts=2, retries=0, workers=1)
    with on_cluster(cluster.address) as run, pytest.raises(ReportError) as raised:
        measured(asked, run)
    said = str(raised.value)
    assert said.startswith("2 texts of texts.txt could not be measured (text 1: ")
    assert "is NaN or infinite" in said
    assert "; text 4: the worker was lost (" in said
    assert said.endswith("leave them out: `skip: [1, 4]` below `corpus:`")
    assert len(contents(project.root / FOLDER)) == 1  # the batch of texts 2 and 3


def trap_model(folder):
    config = LlamaConfig(
        vocab_size=320,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        max_position_embeddings=512,
    )
    model = trap.TrapForCausalLM(config)
    model.save_pretrained(folder)
    byte_level_tokenizer().save_pretrained(folder)
    shutil.copy(trap.__file__, folder)
    values = store.json.loads((folder / "config.json").read_text())
    values |= {"auto_map": {"AutoModelForCausalLM": "trap.TrapForCausalLM"}}
    (folder / "config.json").write_text(store.json.dumps(values))
    return folder


PREDICTION = """---
title: Who
date: 2026-01-02
author: Ann
summary: Who?
kind: prediction
model: falcon-8x8
prompts:
  - {text: "Mary and John went to the store. John gave a drink to", target: " Mary", other: " John"}
generated: {set: givers, number: 20, ablated: 2}
cluster: {workers: 1}
---
"""


def test_predictions_and_their_sets_are_as_alone(cluster, measured, project):
    """With one worker, as every worker takes long to start: that the order in which sentences come
    changes nothing is tested in kinds/test_generated.py.
    """
    path = project.articles / "who.md.j2"
    path.write_text(PREDICTION)
    article = read_study(path)
    parts = article, article.apart
    alone = [datasets(measured(part).folders) for part in parts]
    shutil.rmtree(project.site_src / "datasets")
    with on_cluster(cluster.address) as run:
        found = [measured(part, run) for part in parts]
    assert [datasets(each.folders) for each in found] == alone
    for each in found:
        assert any(line.startswith("worker") for line in each.said)


def test_a_model_that_is_not_there_is_one_sentence(cluster, study, measured, project):
    asked = study(models=["model-1"], retries=1, workers=1)
    with on_cluster(cluster.address) as run, pytest.raises(ReportError) as raised:

        def elsewhere(tasks, *others):
            """The folder is on this machine alone."""
            (task,) = tasks.values()
            source = replace(task.source, folder=project.root / "not-there")
            yield from run({0: replace(task, source=source)}, *others)

        measured(asked, elsewhere)
    assert "has no folder" in str(raised.value)
    assert "put the model where all machines see it" in str(raised.value)


def test_more_than_any_machine_has_is_refused(cluster, study, measured):
    asked = study(models=["model-1"], num_cpus=3, num_gpus=1)
    with on_cluster(cluster.address) as run, pytest.raises(ReportError) as raised:
        measured(asked, run)
    assert "a worker asks for 3 CPUs and 1 GPU, and the cluster has no room" in str(raised.value)
