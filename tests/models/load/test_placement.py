"""Where weights go, and what is said where there is no room for them."""

from types import SimpleNamespace

import pytest
import torch
from transformers import FalconForCausalLM

from report.errors import ReportError
from report.models.attention import capture
from report.models.find import weights
from report.models.load import load, memory
from report.models.load.load import load_model
from tests.models.checkpoints import refused

GPU = torch.device("cuda", 0)


@pytest.fixture
def two_gpus(monkeypatch):
    """A machine on which torch sees two GPUs with 100 bytes free on each."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (100, 200))


@pytest.fixture
def no_gpu(monkeypatch):
    """A machine on which torch sees no GPU."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)


def test_without_a_gpu_everything_is_on_the_cpu(no_gpu, falcon_folder):
    assert memory.device_named("auto") == memory.device_named("cpu") == torch.device("cpu")
    refused(falcon_folder, "device 'cuda' is not there: torch sees 0 CUDA dev", device="cuda")
    refused(falcon_folder, "device 'gpu' is not known; choose auto, cpu, cuda", device="gpu")


def test_with_gpus_the_first_is_taken_or_the_one_named(two_gpus):
    assert memory.device_named("auto") == memory.device_named("cuda") == torch.device("cuda")
    assert memory.device_named("cuda:1") == torch.device("cuda:1")
    with pytest.raises(ReportError, match="device 'cuda:2' is not there: torch sees 2 CUDA"):
        memory.device_named("cuda:2")


@pytest.mark.parametrize(
    ("size", "name", "layer_by_layer", "way"),
    [
        (60, "auto", None, "whole"),
        (61, "auto", None, "several devices"),
        (120, "auto", None, "several devices"),
        (121, "auto", None, "layer by layer"),
        (61, "cuda:0", None, "layer by layer"),
        (61, "auto", True, "layer by layer"),
        (61, "auto", False, "whole"),
    ],
)
def test_several_gpus_are_used_only_when_one_is_too_small(
    two_gpus, monkeypatch, size, name, layer_by_layer, way
):
    monkeypatch.setattr(memory.importlib.util, "find_spec", lambda name: object())
    assert memory.placement(size, name, GPU, layer_by_layer) == way


def test_the_devices_of_a_spread_model_are_all_named():
    spread = SimpleNamespace(hf_device_map={"model.layers.0": 0, "model.layers.1": 1, "norm": 0})
    assert load.devices(spread, GPU) == "cuda:0, cuda:1"
    assert load.devices(object(), torch.device("cpu")) == "cpu"


def test_updates_get_the_hidden_state_where_the_layer_computes():
    """Of a model on several GPUs, layers move what they get, after all hooks have seen it."""
    layer = torch.nn.Sequential(torch.nn.Linear(6, 6, device="meta"))
    inside = layer.forward
    layer.forward = lambda hidden_states: inside(hidden_states.to("meta"))
    part = SimpleNamespace(module=layer, output_projection=layer[0], heads=2, measures_updates=True)
    heard = []
    with capture._updates({0: part}, lambda _, *tensors: heard.extend(tensors)):
        layer(torch.ones(1, 4, 6))
    assert [tensor.shape for tensor in heard] == [(4, 6), (2, 4, 3), (4, 6)]
    assert {tensor.device.type for tensor in heard} == {"meta"}


def test_several_gpus_need_accelerate_and_say_so(two_gpus, monkeypatch):
    monkeypatch.setattr(memory.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(
        ReportError, match=r"do not fit on one of the 2 GPUs.*pip install accelerate"
    ):
        memory.placement(61, "auto", GPU)


def test_free_memory_is_read_from_linux_and_from_a_container_s_limit(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal:  9 kB\nMemAvailable:    3 kB\n")
    assert memory._meminfo(tmp_path / "meminfo") == 3 * 1024
    assert memory._meminfo(tmp_path / "none") == float("inf")
    for name, text in {"max": "1000", "current": "600", "stat": "anon 1\ninactive_file 50"}.items():
        (tmp_path / f"memory.{name}").write_text(text + "\n")
    assert memory._control_group(tmp_path) == 450
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._control_group(tmp_path) == float("inf")


def test_a_model_too_large_for_the_memory_is_run_layer_by_layer(falcon_folder, monkeypatch):
    size = weights.parameters(falcon_folder, weights.shapes(falcon_folder)) * 4
    monkeypatch.setattr(memory, "available", lambda device: size / memory.SHARE)
    assert load_model(falcon_folder).partial is None
    monkeypatch.setattr(memory, "available", lambda device: size / memory.SHARE - 1)
    assert load_model(falcon_folder).partial.layer_by_layer
    assert load_model(falcon_folder, dtype="bfloat16").partial is None
    assert load_model(falcon_folder, layer_by_layer=False).partial is None
    assert not load_model(falcon_folder, layers=1).partial.layer_by_layer


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
        RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
        OSError(12, "Cannot allocate memory"),
        MemoryError(),
        None,  # torch's own
    ],
)
def test_memory_that_runs_out_while_loading_says_what_to_reduce(falcon_folder, monkeypatch, error):
    def fail(*_, **__):
        raise error or torch.empty(1 << 60)

    monkeypatch.setattr(FalconForCausalLM, "from_pretrained", fail)
    refused(
        falcon_folder,
        r"out of memory while loading the weights: take a shorter passage, fewer layers "
        r"\(--layers 0-3\), half the precision \(--dtype bfloat16\), or one layer at a time",
    )


def test_other_errors_are_not_taken_for_a_lack_of_memory():
    with pytest.raises(RuntimeError, match="shapes"), memory.enough_memory("trying"):
        raise RuntimeError("shapes cannot be multiplied")


def test_threads_are_at_most_as_many_as_fit():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        memory.at_most_threads(2)
        assert torch.get_num_threads() == 2
        memory.at_most_threads(4)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
