"""A real Ray cluster of several nodes on this machine, and a small publication to measure on it."""

import json
import os
import random
import time
from types import SimpleNamespace

import pytest
import torch

from report.measuring import run as measuring
from report.measuring.cluster.driver import QUIET
from report.project import project as project_in
from report.study.study import read_study
from tests.small import write_publication
from tests.tiny_falcon import byte_level_tokenizer, random_falcon

TEXTS = 24
WORDS = "The old lamp stood by the window. Is the lamp lit? asked Ann; nobody answered Ann".split()


@pytest.fixture(scope="module")
def cluster():
    """A head without processors, and nodes with one each; a module shares it."""
    os.environ |= QUIET
    import ray  # installed with the tools; without it these tests fail and are never skipped
    from ray.cluster_utils import Cluster

    found = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False}
    )
    for _ in range(2):
        found.add_node(num_cpus=1)
    yield found
    ray.shutdown()
    found.shutdown()


@pytest.fixture(autouse=True)
def one_thread():
    """As workers with one processor have."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def project(tmp_path):
    """A small publication with `TEXTS` texts and two models."""
    project = project_in(write_publication(tmp_path / "project"))
    rng = random.Random(4)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(2, 60))) for _ in range(TEXTS)]
    (project.root / "texts.txt").write_text("\n".join(texts) + "\n")
    for seed in (1, 2):
        folder = project.root / f"model-{seed}"
        random_falcon(seed).save_pretrained(folder)
        byte_level_tokenizer().save_pretrained(folder)
    return project


@pytest.fixture
def study(project):
    """A function that gives the small article about both models and all texts."""
    template = project.articles / "small.md.j2"
    before = template.read_text()

    def study(models=("model-1", "model-2"), **cluster):
        lines = {"models": list(models), "passage": "passage.md", "corpus": "texts.txt"}
        lines |= {"cluster": {"texts": 5} | cluster}
        if "trap" in models:
            lines["trust_remote_code"] = "trap"
        said = "".join(f"{key}: {json.dumps(value)}\n" for key, value in lines.items())
        template.write_text(before.replace("---\n", f"---\n{said}", 1))
        return read_study(template)

    return study


@pytest.fixture
def measured(project):
    """A function that measures an article: its folders, what was said, and how far bars got."""

    def measured(study, run=None):
        said, steps = [], []
        found = measuring.datasets(
            study, project, lambda *step: steps.append(step), announce=said.append, measurer=run
        )
        return SimpleNamespace(folders=[each.folder for each in found], said=said, steps=steps)

    return measured


def until(condition, seconds=120):
    """Wait for what a function gives to be true, and return it."""
    end = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)
    return found
