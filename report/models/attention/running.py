"""Run texts through a model whose weights are in memory."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel

from report.errors import ReportError
from report.models.attention.capture import attached
from report.models.attention.modes import evaluating, implementation, run_base
from report.models.attention.probe import architecture
from report.models.attention.recorder import Recorder
from report.models.attention.structure import require_layers, structure


@dataclass(frozen=True)
class Run:
    """One text to run.

    token_ids: list of int, all of the text
    recorder: what its attention is handed to; None runs the untouched model
    alibi_factor: what ALiBi is multiplied by
    attention: the implementation in transformers that the untouched model takes; None for its own
    """

    token_ids: list[int]
    recorder: Recorder | None = None
    alibi_factor: float = 1
    attention: str | None = None

    def untouched(self, model: PreTrainedModel) -> AbstractContextManager:
        """The context in which a run without a recorder takes place."""
        return implementation(model, self.attention) if self.attention else nullcontext()


def run_whole(
    model: PreTrainedModel,
    runs: Iterable[Run],
    measured_layers: int,
    progress: Callable[..., None] | None = None,
    reading: Callable[[list[int]], AbstractContextManager] | None = None,
) -> list[torch.Tensor]:
    """Run texts one by one, without a language-model head, cache, dropout or gradients.

    model: with the weights of its first `measured_layers` layers in memory
    progress: called with (runs done, runs or None where their number is not known)
    reading: makes of the token ids of a text the context in which it runs
    returns: list of the output of the last measured layer's attention (after its output
        projection), float [T, hidden_size], one a run
    raises: ReportError if not every measured layer came through a recorder exactly once
    """
    require_layers(model, measured_layers)
    number = len(runs) if hasattr(runs, "__len__") else None
    outputs = []
    for run in runs:
        with reading(run.token_ids) if reading else nullcontext():
            outputs.append(_run(model, run, measured_layers))
        if progress:
            progress(len(outputs), number)
    return outputs


def counting(
    progress: Callable[..., None] | None, done: int, number: int
) -> Callable[..., None] | None:
    """Progress of some of `number` runs, of which `done` are over before; None for None."""
    return progress and (lambda runs, _: progress(done + runs, number))


def _run(model, run, measured_layers):
    if run.recorder is None:
        with run.untouched(model):
            return forward(model, run.token_ids, measured_layers)
    layers = range(measured_layers)
    with attached(model, run.recorder, layers, run.alibi_factor) as calls:
        output = forward(model, run.token_ids, measured_layers)
    require_all_called(model, calls, layers, len(run.token_ids))
    return output


def forward(model: PreTrainedModel, token_ids: list[int], measured_layers: int) -> torch.Tensor:
    """One forward pass over `token_ids` in evaluation mode; the last attention's output.

    The pass ends there: what comes after the last measured layer's attention is not computed.
    raises: ReportError if the last measured layer is not run
    """
    projection = structure(model)[measured_layers - 1].output_projection
    with evaluating(model):
        output = output_of(projection, lambda: run_base(model, token_ids))
    if output is None:
        raise ReportError(
            f"architecture {architecture(model)}: layer {measured_layers - 1} was not run; its "
            "layers do not run one after the other"
        )
    return output


def output_of(projection: nn.Module, run: Callable[[], Any]) -> torch.Tensor | None:
    """What a projection puts out the first time that `run` reaches it; `run` is left there.

    projection: module of the model that runs
    run: function without arguments
    returns: float [T, size]; None if `run` ended without reaching it
    """
    outputs = []

    def stop(_, __, output):
        outputs.append(output.reshape(-1, output.shape[-1]))
        raise _StopError

    # Registered after the hooks of `attached`, so a recorder hears of the projection first.
    try:
        with projection.register_forward_hook(stop):
            run()
    except _StopError:
        return outputs[0]
    return None


class _StopError(Exception):
    """Everything that is measured has been computed."""


def require_all_called(
    model: PreTrainedModel, calls: list[int], layers: Iterable[int], tokens: int
) -> None:
    """Stop unless measured attention was called for each of `layers` once, in order.

    tokens: of the text
    raises: ReportError naming the architecture
    """
    if list(calls) != list(layers):
        raise ReportError(
            f"architecture {architecture(model)}: over a text of {tokens} tokens, attention of "
            f"all tokens was computed in the layers {list(calls)}, not once in each of "
            f"{list(layers)}; what is block-sparse, chunked or computed otherwise for texts of "
            "this length is not measured: shorten the text"
        )


def require_all_tokens(model: PreTrainedModel, output: torch.Tensor, tokens: int) -> None:
    """Stop unless an attention's output, float [T, size], has a row for each token of the text.

    raises: ReportError naming the architecture
    """
    if len(output) != tokens:
        raise ReportError(
            f"architecture {architecture(model)}: of a text of {tokens} tokens its attention is "
            f"over {len(output)}; tokens that a model puts before a text by itself are not measured"
        )


def require_sound_end(model: PreTrainedModel, token_ids: list[int]) -> None:
    """Stop if what leaves the last layer of a whole model holds a number that is none: what comes
    after the last attention is used for predictions, and no recorder looks at it.

    raises: ReportError naming the architecture
    """
    with evaluating(model):
        output = run_base(model, token_ids)
    end = getattr(output, "last_hidden_state", None)
    if end is not None and not torch.isfinite(end).all():
        raise ReportError(
            f"architecture {architecture(model)}: after its last layer the hidden state is NaN or "
            "infinite; check the weights, and measure in float32"
        )


def require_sound_logits(logits: torch.Tensor) -> torch.Tensor:
    """The same logits [..., vocabulary]; a model may hide tokens by minus infinity.

    raises: ReportError if the largest of a token is NaN or infinite
    """
    if not torch.isfinite(logits.amax(-1)).all():
        raise ReportError(
            "the model's prediction of a token is NaN or infinite; check the weights, and measure "
            "in float32"
        )
    return logits


def require_one_attention(
    model: PreTrainedModel, plain: torch.Tensor, eager: torch.Tensor, limit: float
) -> None:
    """Stop where a model puts out something else with the eager attention of transformers.

    PaliGemma is causal with one and not with the other: its checkpoints were trained on a beginning
    that sees all of itself and an end that does not, and a text alone says of neither where it is.

    plain, eager: float [T, size], of an attention of the model as it was loaded, and as eager
    limit: the largest difference that rounding explains, relative to the largest of plain
    raises: ReportError naming the architecture
    """
    difference = float((plain - eager).abs().max() / plain.abs().max().clamp(min=1e-30))
    if not difference <= limit:
        raise ReportError(
            f"architecture {architecture(model)}: with the eager attention of transformers its "
            f"output is another one, by {difference:.3g} of the largest number, so which tokens a "
            "token sees is not known; choose another model"
        )
