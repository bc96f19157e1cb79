"""Stored factors are what they were, in memory or in a file, and no file stays behind."""

import gc
import resource
import signal
import tempfile
from dataclasses import fields, replace
from pathlib import Path

import pytest
import torch

from report.errors import ReportError
from report.measurements import decomposition
from report.measurements.decomposition import Factors, Scores
from report.measurements.stored import IN_MEMORY, in_file, stored
from report.measurements.visible import Visible
from tests.measurements import plain

MANY = IN_MEMORY
"""Layers, so many that even a byte of each is too much to keep in memory."""


KINDS = {name: plain.CASES[name] for name in ("rotation, shared keys", "ALiBi", "sink", "window")}
KINDS["scores"] = Scores(plain.drawer()(4, plain.LENGTH, plain.LENGTH), Visible.full(plain.LENGTH))


@pytest.mark.parametrize("layers", [1, MANY])
@pytest.mark.parametrize("factors", KINDS.values(), ids=KINDS)
def test_every_kind_of_layer_is_what_it_was(factors, layers):
    copy = stored(factors, layers)
    for field in fields(factors):
        value, other = getattr(factors, field.name), getattr(copy, field.name)
        if torch.is_tensor(value):
            assert torch.equal(value, other)
            assert value.dtype == other.dtype
            assert value.data_ptr() != other.data_ptr()
        elif field.name != "visible":
            assert value == other
    assert torch.equal(factors.range().mask(), copy.range().mask())
    probability = decomposition.probability(copy.head(1))
    assert torch.equal(probability, decomposition.probability(factors.head(1)))


@pytest.mark.parametrize("layers", [1, MANY])
def test_changing_what_was_stored_changes_nothing_else(layers):
    factors = plain.biased()
    kept, copy = factors.query.clone(), stored(factors, layers)
    factors.query.zero_()
    factors.query_bias.zero_()
    assert torch.equal(copy.query, kept)
    assert copy.query_bias.all()
    copy.query.zero_()
    assert torch.equal(stored(replace(factors, query=kept), layers).query, kept)


@pytest.mark.parametrize(("layers", "files"), [(1, False), (8, False), (9, True)])
def test_what_all_layers_together_hold_decides_between_memory_and_a_file(layers, files):
    rows = IN_MEMORY // 8 // 4 // 2
    query, key = torch.ones(2, 1, rows, 1)
    gc.collect()
    before = mapped()
    copy = stored(Factors(query, key, None, None, None, 1.0), layers)
    assert (mapped() > before) == files
    assert torch.equal(copy.query, query)


@pytest.mark.parametrize("layers", [1, MANY])
def test_views_of_any_precision_are_stored_without_what_they_are_views_of(layers):
    fused = torch.randn(5, 4, 3, 6, requires_grad=True).to(torch.bfloat16)
    query, key, value = fused.permute(2, 1, 0, 3)
    copy = stored(Factors(query, key.double(), None, None, value[0].float(), 1.0), layers)
    assert torch.equal(copy.query, query)
    assert torch.equal(copy.key, key.double())
    assert torch.equal(copy.position, value[0].float())
    assert not copy.query.requires_grad
    own, shared = query.nbytes, query.nbytes + key.double().nbytes  # a file holds both
    assert copy.query.untyped_storage().nbytes() == (shared if layers == MANY else own)


def mapped():
    """Bytes of files without a name that this process still looks into."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    spans = [line.split()[0].split("-") for line in lines if line.endswith(" (deleted)")]
    return sum(int(end, 16) - int(start, 16) for start, end in spans)


def test_the_file_has_no_name_and_is_gone_with_the_tensors(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = mapped()
    found = in_file({"one": torch.ones(3000, 10, 10)})
    assert list(tmp_path.iterdir()) == []
    assert mapped() - before >= 1_200_000
    del found
    gc.collect()
    assert mapped() == before


def test_no_room_is_one_sentence(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/dev/null/nowhere")
    with pytest.raises(ReportError, match=r"no room for what is measured: .*set TMPDIR to a f"):
        in_file({"one": torch.ones(2, 2, 2)})


def test_a_file_that_cannot_grow_is_one_sentence(tmp_path, monkeypatch):
    """As on a full disk: the kernel refuses to write any further."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(ReportError, match="no room for what is measured"):
            in_file({"one": torch.ones(1000, 10, 10)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert list(tmp_path.iterdir()) == []
