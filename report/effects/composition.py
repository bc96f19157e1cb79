"""How much of what a head writes each head of the layers above reads, by the weights alone.

    score = |OV of the writer . R| / (|OV of the writer| |R|)

in Frobenius norms; R is the reader's QK for its queries (Q), the same transposed for its keys (K),
and its OV for its values (V). QK = W_Q W_K^T and OV = W_V W_O act on rows. The gain of the norm
before an attention is part of what it reads with, and that of a norm after it part of what it
writes; a LayerNorm takes the mean away, so that is no part of what is read. Scales of norms, which
depend on the text, cancel, and so does any number that multiplies a layer. Queries and keys are of
one position: between two, a rotation would turn them. Biases are left out, since they do not depend
on what was written.

If a random rotation U turned what is written, the mean square of a score would be 1 / hidden size
for any two matrices: E |A U B|^2 = |A|^2 |B|^2 / d.
source: Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from report.effects.anatomy import anatomy
from report.effects.frozen import centre, shape_of
from report.effects.reads import at_once, projections, what_enters
from report.effects.replay import gives_tuples
from report.errors import ReportError
from report.measurements.precision import summed_by, tolerance
from report.measurements.updates import reduced
from report.models.attention.probe import architecture
from report.models.attention.self_check import checked
from report.models.attention.structure import structure

if TYPE_CHECKING:
    from report.models.load.load import LoadedModel

SEED = 20261120

NAMES = "q", "k", "v"
"""Inputs of a reader: queries, keys, values."""


@dataclass(frozen=True)
class Circuit:
    """Weights by which the heads of a layer read and write, float64, with the gains of norms.

    query, key: [heads, hidden_size, head_dim]; value: [heads, hidden_size, value_dim]
    output: [heads, value_dim, hidden_size]
    """

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    output: torch.Tensor


def composition(
    loaded: "LoadedModel", progress: Callable[[int], object] = lambda layers: None
) -> dict[str, np.ndarray]:
    """The composition scores, 0 to 1, of every two heads of a model.

    progress: called with the number of layers that are done
    returns: "q", "k" and "v" -> float32 [reader's layer, head, writer's layer, head]; NaN for a
        writer that is not in a lower layer, or a head whose weights are zero
    raises: ReportError as `circuits` does
    """
    parts = anatomy(loaded)
    layers, heads = len(parts.layers), parts.heads
    values = {name: np.full((layers, heads) * 2, np.nan, np.float32) for name in NAMES}
    writers: list[torch.Tensor] = []
    for layer, circuit in enumerate(circuits(loaded)):
        for name, reader in _readers(circuit).items():
            for below, writer in enumerate(writers):
                values[name][layer, :, below] = _scores(reader, writer)
        writers.append((reduced(circuit.value) @ circuit.output).float())  # |W A| = |OV A|
        progress(layer + 1)
    return values


def _readers(circuit):
    """Name -> float32 [heads, hidden_size, rank], for QK, its transpose and OV of each head: |A R|
    is the same for any A, in fewer columns."""
    pairs = (
        (circuit.query, circuit.key),
        (circuit.key, circuit.query),
        (circuit.value, circuit.output.mT),
    )
    readers = [(left @ reduced(right).mT).float() for left, right in pairs]
    return dict(zip(NAMES, readers, strict=True))


def _scores(reader, writer):
    """float32 [reader, writer]; NaN where either is zero.

    reader: [heads, hidden_size, rank]; writer: [heads, rank, hidden_size]
    """
    products = torch.einsum("wvd,rdk->rwvk", writer, reader).flatten(2).norm(dim=2)
    norms = reader.flatten(1).norm(dim=1)[:, None] * writer.flatten(1).norm(dim=1)
    return (products / norms).numpy()


def circuits(loaded: "LoadedModel") -> Iterator[Circuit]:
    """The circuit of each layer.

    raises: ReportError as `checked` and `anatomy` do; for a model whose attention shows scores
        alone, or whose queries, keys or values are not linear in what it reads
    """
    checked(loaded)  # here modules learn how they rotate, which the states below would not show
    parts = anatomy(loaded)
    gives_tuples(loaded.model)  # remembers what a run tells; below, none is possible
    for layer, each in enumerate(parts.layers):
        yield _circuit(loaded, layer, each.part, each.norm_after)


def _circuit(loaded, layer, part, norm_after):
    size = part.output_weight().shape[0]
    state = torch.eye(size, dtype=part.output_weight().dtype, device=loaded.model.device)
    norm = shape_of(lambda states: what_enters(loaded, layer, states), state[:2])
    rows = [projections(loaded, layer, chunk) for chunk in state.split(at_once(loaded))]
    query, key, value = (torch.cat(each, 1) for each in zip(*rows, strict=True))
    _require_linear(loaded, layer, (query, key, value))
    heads, gain = part.heads, norm.gain[0][:, None]
    inputs = [
        _by_head(centre((gain * each).mT, norm.centred).mT, heads) for each in (query, key, value)
    ]
    output = part.output_weight().double().unflatten(1, (heads, -1)).permute(1, 2, 0)
    if norm_after is not None:
        output = norm_after.gain * centre(output, norm_after.centred)
    return Circuit(*(each.cpu() for each in (*inputs, output)))


def _by_head(matrices, heads):
    """[heads, ...] of [key heads, ...], of which each is shared by as many heads."""
    return matrices.repeat_interleave(heads // len(matrices), 0)


def _require_linear(loaded, layer, weights):
    """ReportError if the queries, keys or values of a random state are not state @ weight."""
    generator = torch.Generator().manual_seed(SEED)
    dtype = structure(loaded.model)[layer].output_weight().dtype
    state = torch.randn(1, weights[0].shape[1], generator=generator).to(loaded.model.device, dtype)
    summed = summed_by([structure(loaded.model)[layer].module], 1)
    both = zip(weights, projections(loaded, layer, state), strict=True)
    for name, (weight, direct) in zip(("queries", "keys", "values"), both, strict=True):
        computed = state.double() @ weight
        size = float((state.double().abs() @ weight.abs()).max())
        off = float((computed - direct).abs().max())
        if not off <= tolerance(summed, size, dtype):
            raise ReportError(
                f"architecture {architecture(loaded.model)}, layer {layer}: its {name} are not "
                "linear in what it reads, as where a norm follows or they are clipped, so heads "
                "have no matrices whose composition could be measured"
            )
