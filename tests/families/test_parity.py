"""Every family against transformers' own code; and the comparison itself, which has to notice."""

import re
import sys

import pytest
import torch

from report import __main__, families
from report.errors import ReportError
from report.families import overview, verify
from report.families.verify import eager_pass, reference
from report.measurements import decomposition
from report.measurements.visible import Visible
from report.models.attention.structure import LayerStructure, structure
from report.models.measure import passage as measure
from tests.families.test_families import EVERY_VARIANT
from tests.models.recording import some_tokens

SPLITS = {"split", "effects"}
"""What not every model has something for: without rotation and biases, or without terms, there is
no split; and tests/effects says which models' effects are refused."""


@pytest.mark.parametrize("name", EVERY_VARIANT)
def test_what_is_measured_is_what_transformers_computes(name):
    for dtype in verify.DTYPES:
        found, most = verify.differences(name, dtype=dtype), verify.limit(name, dtype)
        assert set(verify.QUANTITIES) - SPLITS <= set(found)
        assert {quantity: value for quantity, value in found.items() if not value <= most} == {}


def test_in_float64_less_than_a_billionth_is_let_pass():
    """So that nothing but rounding is: scores of 60, let be off by that, change no tenth digit."""
    assert max(map(verify.limit, EVERY_VARIANT)) * 60 < 1e-10


@pytest.mark.parametrize("name", ["llama", "qwen2", "gpt2", "bloom", "phi"])
def test_a_split_is_verified_where_there_is_one(name):
    assert "split" in verify.differences(families.variants(name)[0])


@pytest.fixture
def unchecked(monkeypatch):
    """Measuring without the self-check, which would stop at most mistakes before they are seen."""
    monkeypatch.setattr(measure, "checked", lambda loaded: None)


def larger(function):
    """The function with results a billionth too large."""
    return lambda *args, **kwargs: (1 + 1e-9) * function(*args, **kwargs)


def off(name):
    """What is off by more than rounding explains."""
    most = verify.limit(name)
    return {what for what, value in verify.differences(name).items() if not value <= most}


def without_multipliers(structure):
    def changed(model):
        parts = structure(model)
        for part in parts:
            part.residual_multiplier = 1.0
        return parts

    return changed


def with_another_length(measure_passage):
    def changed(*args, **options):
        passage = measure_passage(*args, **options)
        passage.alignment[1][2, 5] += 1e-9
        return passage

    return changed


# A model, what is changed and how, and what is off then; the last two are off in nothing else.
FAULTS = [
    ("llama/default", decomposition, "content", larger, {"terms", "scores", "split"}),
    ("falcon/alibi", verify, "streaming_attention", larger, {"updates", "added", "output"}),
    (
        "mistral",
        Visible,
        "of_mask",
        lambda _: staticmethod(lambda mask: Visible.causal(len(mask))),
        {"prob.", "terms", "output"},
    ),
    ("granite", verify, "structure", without_multipliers, {"added"}),
    ("gemma2", LayerStructure, "norm_weight", lambda _: lambda part: torch.ones(64), {"lengths"}),
    ("bert/encoder", verify, "measure_passage", with_another_length, {"lengths"}),
]


@pytest.mark.parametrize(("name", "place", "changed", "change", "expected"), FAULTS)
def test_a_fault_is_noticed(name, place, changed, change, expected, monkeypatch, unchecked):
    monkeypatch.setattr(place, changed, change(getattr(place, changed)))
    wrong = off(name)
    assert expected == wrong if expected == {"lengths"} else expected <= wrong


def test_a_split_that_is_wrong_but_adds_up_is_noticed(monkeypatch, unchecked):
    content, bias = decomposition.content, decomposition.bias

    def moved(factors):
        return content(factors) + 1e-9 * bias(factors)[:, None]

    monkeypatch.setattr(decomposition, "content", moved)
    monkeypatch.setattr(decomposition, "bias", lambda factors: (1 - 1e-9) * bias(factors))
    assert off("qwen2/default") == {"split"}


def test_nan_is_noticed():
    worst = verify._Worst()
    worst.note("scores", torch.tensor([torch.nan]), torch.tensor([1.0]))
    worst.note("scores", torch.tensor([1.0]), torch.tensor([1.0]))
    assert not worst.differences["scores"] <= verify.limit("bloom")


def test_falcons_eager_code_counts_alibi_twice():
    # When this fails, transformers is mended: remove counts_alibi_twice and alibi_factor's reason.
    with pytest.raises(ReportError, match="eager pass differs from its plain one"):
        reference(families.tiny("falcon/alibi"), some_tokens(24))
    layers = reference(families.tiny("falcon/alibi"), some_tokens(24), alibi_twice=True)
    assert len(layers) == 3


@pytest.mark.parametrize("name", ["gptj", "codegen", "gpt_neo", "xglm", "llama", "bert/encoder"])
def test_a_head_writes_to_its_own_slice_of_the_context(name):
    """Where only scores are seen, nothing else shows that head h is part h of the context."""
    token_ids = some_tokens(24)

    def context(part_of_head):
        model = families.tiny(name)
        part = structure(model)[0]
        found = []
        part.output_projection.register_forward_pre_hook(lambda _, args: found.append(args[0]))
        with part_of_head(part):
            eager_pass(model, token_ids)
        return found[0].reshape(24, part.heads, -1)

    untouched = context(lambda part: _Weakened(None, part.heads))
    for head in range(4):
        changed = context(lambda part, head=head: _Weakened(head, part.heads))
        moved = (changed != untouched).any(2).any(0)
        assert moved.nonzero().flatten().tolist() == [head]


class _Weakened(torch.overrides.TorchFunctionMode):
    """Halves the probabilities of one head in the first softmax over the text."""

    def __init__(self, head, heads):
        super().__init__()
        self.head, self.heads, self.done = head, heads, False

    def __torch_function__(self, function, types, args=(), kwargs=None):
        output = function(*args, **kwargs or {})
        named = getattr(function, "__name__", "") == "softmax"
        if named and not self.done and output.shape[-3:] == (self.heads, 24, 24):
            self.done = True
            if self.head is not None:
                output[..., self.head, :, :] *= 0.5
        return output


def run(monkeypatch, capsys, *arguments):
    """What the command prints, and its exit code."""
    monkeypatch.setattr(sys, "argv", ["report", "models", *arguments])
    with pytest.raises(SystemExit) as stopped:
        __main__.main()
    printed = capsys.readouterr()
    return stopped.value.code or 0, printed.out, printed.err


def test_the_command_says_what_is_measured_and_by_which_route(monkeypatch, capsys):
    code, out, _ = run(monkeypatch, capsys, "--family", "falcon")
    assert code == 0
    lines = [line.split(maxsplit=1) for line in out.splitlines() if line.startswith("falcon")]
    told = {name: rest.split("  ")[0] for name, rest in lines}
    assert list(told) == families.variants("falcon")
    assert told["falcon/alibi"] == "own forward content, bias, position"
    assert told["falcon/rotary-new-decoder"] == "own forward content, position"
    assert "No bias (its queries have no bias): falcon/alibi-no-bias" in out
    assert max(map(len, out.splitlines())) <= overview.WIDTH


def test_a_family_without_attention_says_why(monkeypatch, capsys):
    code, out, _ = run(monkeypatch, capsys, "--family", "mamba")
    assert code == 0
    assert " ".join(out.split()).count("mamba not measured: architecture 'mamba'") == 1


def test_a_family_that_should_be_measured_and_is_not_is_an_error(monkeypatch):
    read = families.read
    monkeypatch.setattr(families, "read", lambda name: read(name) | {"unsupported": False})
    with pytest.raises(ReportError, match="mamba could not be measured: architecture 'mamba'"):
        list(overview.overview("mamba"))
    monkeypatch.setattr(families, "read", lambda name: read(name) | {"unsupported": True})
    with pytest.raises(ReportError, match="gpt2/default is measured, although its file says"):
        list(overview.overview("gpt2/default"))


def test_the_command_verifies(monkeypatch, capsys):
    code, out, _ = run(monkeypatch, capsys, "--verify", "--family", "bloom")
    assert code == 0
    header, row, *_ = out.splitlines()
    assert header.split() == ["model", *verify.QUANTITIES]
    assert all(0 <= float(value) <= verify.limit("bloom") for value in row.split()[1:])
    assert out.endswith("All 1 models are within rounding, in float64 and in float32.\n")
    assert max(map(len, out.splitlines())) <= overview.WIDTH


def test_the_command_names_what_is_off(monkeypatch, capsys, unchecked):
    monkeypatch.setattr(decomposition, "content", larger(decomposition.content))
    code, out, err = run(monkeypatch, capsys, "--verify", "--family", "bloom")
    assert code == 1
    assert re.search(r"bloom: terms is off by \S+ in float64", err)
    assert out.splitlines()[1].endswith(" <")
    assert "within" not in out


def test_a_model_that_fails_its_self_check_is_named(monkeypatch):
    monkeypatch.setattr(decomposition, "content", larger(decomposition.content))
    with pytest.raises(ReportError, match="bloom could not be measured: self-check failed"):
        list(overview.parity("bloom"))


@pytest.mark.parametrize("arguments", [(), ("--verify",)])
def test_an_unknown_family_is_an_error(monkeypatch, capsys, arguments):
    code, out, err = run(monkeypatch, capsys, "--family", "lama", *arguments)
    assert (code, out) == (1, "")
    assert "unknown family 'lama'; known: bert, bloom" in err
    code, _, err = run(monkeypatch, capsys, "--family", "llama/7b", *arguments)
    assert "unknown variant 'llama/7b'; known: llama/default" in err
