"""Tiny random models, made on the spot: no test downloads anything. And one browser for all."""

import gc
import os
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import FalconConfig, FalconForCausalLM, PreTrainedTokenizerFast

from report.families.double import in_float64
from report.measuring.kinds import passage as passage_kind
from report.models.load.load import load_model
from tests import browsers, made_prediction
from tests import firefox as other
from tests.commands import ROOT
from tests.fuzz import profile  # noqa: F401 (how random inputs are drawn, in all tests)
from tests.killing import children
from tests.serving import BELOW, ProjectPages, served
from tests.site import SITE
from tests.small import CORPUS

ORDER = (
    "tests/site/test_pages",
    "tests/site/own",
    "tests/figures",
    "tests/site",
    "tests/test_killed",
    "tests/test_installed",
    "tests/benchmarks",
    "tests/cli",
    "tests/test_notebook",
    "tests/models",
    "tests/measuring",
    "tests/families",
    "tests/training",
)
"""Files that begin a run, so that its processes end together: the first builds the one site, while
others see to files that build sites of their own ("own"), and to figures; what takes a minute in
one file is not among the last."""

if "PYTEST_XDIST_WORKER" in os.environ:  # as many processes as cores: one thread each
    torch.set_num_threads(1)

BEGINNING = "<|begin_of_text|>"
TEXT = 'The old lamp stood by the window. "Is the lamp lit?" asked Ann; nobody answered Ann.'


def pytest_configure(config):
    """A folder for what all processes of a run share, and a server of the site built in it.

    The one that starts the others serves, as it outlives them: a process that stops to listen
    resets the connections of the others' browsers.

    A command that measures has one thread where there are as many processes as cores. Its threads
    sleep while they wait for each other: they would else turn in place, and beside another process
    on the same cores need up to four times as long.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        return
    stack = ExitStack()
    config.add_cleanup(stack.close)
    folder = stack.enter_context(TemporaryDirectory(prefix="tests-"))
    host = stack.enter_context(served(Path(folder) / SITE, ProjectPages))
    os.environ |= {"SHARED_FOLDER": folder, "SHARED_ADDRESS": host + BELOW}
    os.environ |= {"OMP_WAIT_POLICY": "passive"}
    if config.getoption("numprocesses", None):
        os.environ |= {"OMP_NUM_THREADS": "1"}


def pytest_collection_modifyitems(items):
    """The slow folders first; files stay as they are."""
    shared = {item.path for item in items if "built" in item.fixturenames}
    items.sort(key=lambda item: _place(item.path, item.path in shared))


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Look for no garbage meanwhile, and later never among what is there then: it all stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def _place(path, shared):
    name = path.relative_to(ROOT).with_suffix("").as_posix()
    if name.startswith("tests/site/") and not shared:
        name = "tests/site/own"
    return next((n for n, start in enumerate(ORDER) if name.startswith(start)), len(ORDER))


def falcon_config(**changes):
    """A fresh config each time: models that share one would share its attention implementation."""
    options = {
        "vocab_size": 320,
        "hidden_size": 32,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "max_position_embeddings": 512,
        "alibi": True,
        "bias": True,
        "multi_query": False,
        "parallel_attn": False,
        "new_decoder_architecture": False,
        "bos_token_id": 0,
        "eos_token_id": 0,
    }
    return FalconConfig(**{**options, **changes})


def random_falcon(seed=7, **changes):
    """A tiny Falcon with random biases and norms (or tests of them would be empty), and peaky
    attention (or all heads would look alike)."""
    torch.manual_seed(seed)
    model = FalconForCausalLM(falcon_config(**changes)).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" in name or "ln_" in name:
                parameter.add_(0.2 * torch.randn_like(parameter))
            elif name.endswith("bias"):
                parameter.normal_(std=0.5)
            else:
                parameter.normal_(std=0.3 if "query_key_value" in name else 0.1)
    return model


def byte_level_tokenizer():
    """Byte-level BPE of 320 tokens that puts the beginning-of-text token first."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=320,
        special_tokens=[BEGINNING],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator([TEXT], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{BEGINNING} $A", special_tokens=[(BEGINNING, 0)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token=BEGINNING, eos_token=BEGINNING
    )


@pytest.fixture(scope="session")
def falcon_folder(tmp_path_factory):
    """A folder with the tiny Falcon and its tokenizer, as save_pretrained writes it (read only)."""
    folder = tmp_path_factory.mktemp("models") / "tiny-falcon"
    random_falcon().save_pretrained(folder)
    byte_level_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def prediction(tmp_path_factory, falcon_folder):
    """`PredictionData` of two prompts, of the tiny Falcon."""
    folder = tmp_path_factory.mktemp("prediction") / "datasets" / "hand" / "ab9876543210"
    return made_prediction.study(folder, falcon_folder)


@pytest.fixture(scope="session")
def run_children(falcon_folder):
    """A function that runs commands in children that may be killed, see `tests.killing.order`."""
    with children(falcon_folder) as run:
        yield run


@pytest.fixture(scope="module")
def short_corpus():
    """Two short texts in place of the corpus that ships, for all tests of a file.

    A test may put others in their place, see `report.measuring.kinds.passage.corpus`.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passage_kind, "corpus", lambda: CORPUS)
        yield


@pytest.fixture
def loaded(falcon_folder):
    """The tiny Falcon, loaded afresh for each test, which may damage it."""
    return load_model(falcon_folder)


@pytest.fixture
def token_ids():
    """Forty token ids of the tiny vocabulary, the first the beginning-of-text token."""
    generator = torch.Generator().manual_seed(3)
    return [0, *torch.randint(1, 320, (39,), generator=generator).tolist()]


@pytest.fixture
def double():
    """Everything in float64, models that are built in the test included: what is not the same to
    the last digits is a mistake. In float32 the same is compared in test_parity.py."""
    with in_float64():
        yield


@pytest.fixture(scope="session")
def browser():
    """Debian's Chromium; where it is missing, browser tests fail and are never skipped."""
    with browsers.or_failed(), browsers.chromium() as chromium:
        yield chromium


@pytest.fixture(scope="session")
def firefox(tmp_path_factory):
    """Debian's Firefox, started once; windows of 1280 x 1000 unless a test makes it another."""
    with other.started(tmp_path_factory.mktemp("firefox")) as reader:
        reader.size(1280, 1000)
        yield reader
