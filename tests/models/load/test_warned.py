"""What libraries warn of: refused where numbers would be wrong, else shown unless harmless."""

import json
import logging
import warnings

import pytest
from tokenizers import Regex, Tokenizer, models, pre_tokenizers
from transformers import MistralConfig, MistralForCausalLM, PreTrainedTokenizerFast
from transformers.utils import logging as of_transformers

from report.errors import ReportError
from report.models.load.load import load_model
from report.models.load.sentences import LIBRARIES, heard
from tests.models.gguf.written import saved, tiny
from tests.models.tiny_tokenizers import llama2

LLAMA3_CUT = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+|\s+"


@pytest.fixture(autouse=True)
def _silenced():
    """As where a user's environment or another test silences transformers."""
    before = of_transformers.get_verbosity()
    of_transformers.set_verbosity_error()
    yield
    of_transformers.set_verbosity(before)


def test_no_warning_is_lost_and_each_is_shown_once(capfd):
    said = []
    handlers = [logging.getLogger(name).handlers for name in LIBRARIES]
    with heard("a", said.append):
        for _ in range(2):
            of_transformers.get_logger("transformers.models.x").warning("a\n  \x1b[1mstrange thing")
            logging.getLogger("torch.nn").error("an error")
            logging.getLogger("transformers.x").info("no warning")
            logging.getLogger("transformers.x").warning(
                "`f` is falling back to its reference PyTorch implementation because …"
            )
            warnings.warn("from Python", UserWarning, stacklevel=1)
    assert said == [
        "transformers warns: a \x1b[1mstrange thing",
        "torch warns: an error",
        "Python warns: from Python",
    ]
    assert [logging.getLogger(name).handlers for name in LIBRARIES] == handlers
    assert capfd.readouterr() == ("", "")


@pytest.fixture(scope="module")
def mistral(tmp_path_factory):
    """A model whose tokenizer has the mistake that transformers knows Mistral's files by: more than
    100,000 tokens, and saved by an earlier version of it."""
    folder = tmp_path_factory.mktemp("mistral") / "model"
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: n for n, token in enumerate(["<s>", "1", "2", *alphabet])}
    vocabulary |= {f"\u0120qqz{n}": n for n in range(len(vocabulary), 100_300)}
    vocabulary |= {"12": 100_300}
    tokenizer = Tokenizer(models.BPE(vocabulary, [("1", "2")]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(LLAMA3_CUT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    config = MistralConfig(
        vocab_size=100_301,
        hidden_size=8,
        intermediate_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
    )
    MistralForCausalLM(config).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>").save_pretrained(folder)
    change(folder, transformers_version="4.52.0")
    return folder


def change(folder, **values):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")) | values))


def test_a_tokenizer_that_transformers_knows_as_wrong_is_refused_or_settled(mistral):
    with pytest.raises(ReportError, match="fix_mistral_regex"):
        load_model(mistral)
    found = {
        fix: load_model(mistral, tokenizer={"fix_mistral_regex": fix}) for fix in (True, False)
    }
    assert [len(each.tokenizer("12").input_ids) for each in found.values()] == [2, 1]
    assert found[True].identity["tokenizer"] == {"fix_mistral_regex": True}


def test_a_setting_that_changes_nothing_is_refused(tmp_path):
    folder = saved(tiny("llama"), llama2(), tmp_path / "model")
    with pytest.raises(ReportError, match="fix_mistral_regex"):
        load_model(folder, tokenizer={"fix_mistral_regex": True})


@pytest.mark.parametrize(
    "rope",
    [
        {"rope_type": "default", "rope_theta": 1e4, "strange_key": 3},
        {"rope_type": "linear", "rope_theta": 1e4, "factor": 0.5},
    ],
)
@pytest.mark.parametrize("options", [{}, {"layers": 1}, {"layer_by_layer": True}])
def test_positions_that_transformers_does_not_understand_are_refused(tmp_path, rope, options):
    folder = saved(tiny("llama"), llama2(), tmp_path / "model")
    change(folder, rope_parameters=rope)
    with pytest.raises(ReportError, match="rope_parameters"):
        load_model(folder, **options)
