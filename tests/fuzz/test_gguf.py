"""Damaged GGUF files: refused in a sentence, or measured; without much memory or time."""

import json

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from report.models.gguf.file import open_gguf
from tests.fuzz.damage import damaged_bytes
from tests.fuzz.profile import LONG, examples
from tests.fuzz.test_checkpoints import WAYS, measured, with_little
from tests.models import tiny_tokenizers
from tests.models.gguf.written import Written, saved, tiny

pytestmark = pytest.mark.promise("gguf")

MADE = {
    "llama": ("llama/llama3-rope", tiny_tokenizers.llama2),
    "gpt2": ("gpt2", tiny_tokenizers.byte_level),
    "stablelm": ("stablelm/qk-layernorm", tiny_tokenizers.llama3),
}
if LONG:
    MADE |= {
        "mixtral": ("mixtral", tiny_tokenizers.gemma),
        "falcon": ("falcon/rotary-new-decoder", tiny_tokenizers.llama2),
        "phi3": ("phi3/longrope", tiny_tokenizers.llama2),
        "gemma2": ("gemma2", tiny_tokenizers.gemma),
    }

HARMFUL = (0, 1, 3, 7, 10**6, 2**31, 2**32 - 1, True, "", "x" * 3000, "none", 0.0, 1e30, [1], ["a"])
"""What is put in the place of a value."""

KEYS = (
    "attention.sliding_window",
    "rope.scaling.type",
    "rope.scaling.factor",
    "rope.dimension_count",
    "attention.key_length",
    "expert_count",
)
"""Keys that some architectures have, behind the architecture's name."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """dict of name to what is written."""
    return {
        name: Written(saved(tiny(variant), tokenizer(), tmp_path_factory.mktemp("whole") / "it"))
        for name, (variant, tokenizer) in MADE.items()
    }


@st.composite
def changed_values(draw, whole, path):
    """A file in which some values are others, of other types, or missing."""
    stated = open_gguf(whole.to(path)).values
    known = sorted(key for key in stated if not key.startswith("general."))
    known += [f"{whole.name}.{key}" for key in KEYS]
    changes = {}
    for _ in range(draw(st.sampled_from([1, 1, 2, 3]))):
        changes[draw(st.sampled_from(known))] = draw(st.sampled_from([None, *HARMFUL]))
    whole.to(path, **changes)


@examples(12)
@given(st.data())
def test_damaged_files_are_refused_or_measured(whole, tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damaged") / "it.gguf"
    made = whole[data.draw(st.sampled_from(sorted(whole)))]
    if data.draw(st.booleans()):
        data.draw(changed_values(made, path))
    else:
        content = made.to(path).read_bytes()
        end = min(tensor.start for tensor in open_gguf(path).tensors.values())
        head = data.draw(st.sampled_from([200, 2000, end]))
        path.write_bytes(data.draw(damaged_bytes(content[:head])) + content[head:])
    way = data.draw(st.sampled_from(WAYS))
    with np.errstate(all="ignore"):
        step, said = with_little(measured, path, way)
    event(f"{step}: {'refused' if said else 'done'}")
    assert "out of memory" not in (said or ""), said
    assert str(path.parent) not in (said or ""), json.dumps(said)
    path.unlink()
