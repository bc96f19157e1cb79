"""Complete the factors of a layer, while its model runs, with what splits its scores into terms.

Attention hands over queries and keys as they enter the score, rotated and with biases inside. Here
biases, queries and keys before rotation, and in layer 0 the parts of positions, are found out and
added to the `Factors`, by calls of the attention module with other input (`rotation`). The split
itself is arithmetic on factors: `terms` in `report/measurements/decomposition.py`.
"""

import inspect
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import torch

from report.errors import ReportError
from report.measurements.decomposition import score
from report.measurements.factors import Factors, Scores
from report.models.attention import rotation
from report.models.attention.positions import Embedded, position_part, through_norm
from report.models.attention.structure import LayerStructure, state_of

ANGLES = ("cos", "sin", "freqs_cis", "freqs_ci")
"""What rotary functions call the angles, [..., T, size]."""
POSITIONS = ("position_embeddings", "position_ids", *ANGLES)
"""What attention modules call the arguments that hold positions."""


class Completion:
    """A context manager that adds biases, and queries and keys before rotation, to `Factors`.

    parts: the layers of the whole model
    chosen: indices of the layers whose factors are completed
    wants_rotary_terms: whether rotated biases are filled in, too
    given: whether the family has a file in `own/`, whose factors are complete; then its biases are
        checked once, and nothing is filled in but `mixed`
    embedded: function without arguments -> `Embedded`, whether positions are in the embeddings
    """

    def __init__(
        self,
        parts: list[LayerStructure],
        chosen: Iterable[int],
        wants_rotary_terms: bool = False,
        given: bool = False,
        embedded: Callable[[], Embedded] = lambda: Embedded(False),
    ):
        self.parts = parts
        self.chosen = {layer: parts[layer] for layer in chosen}
        self.wants_rotary_terms = wants_rotary_terms
        self.given = given
        self.embedded = embedded
        self.first_hidden = None  # float [1, T, hidden_size], as it enters layer 0
        self.arguments = {}  # layer -> {name: value}, of its attention module's last call
        self.rotated = []  # pairs (rotated, not rotated), from the rotary functions
        self.asking = False  # whether `_ask` calls the module, not the model
        self.undo = ExitStack()

    def __enter__(self):
        with ExitStack() as undo:
            for layer, part in self.chosen.items():
                undo.callback(self._remember_arguments(layer, part.attention).remove)
            if 0 in self.chosen:
                undo.callback(self._remember_hidden(self.chosen[0].module).remove)
            kinds = {type(part.attention) for part in self.chosen.values()}
            for kind in kinds if not self.given else ():
                self._watch_rotary_functions(inspect.unwrap(kind.forward).__globals__, undo)
            self.undo = undo.pop_all()
        return self

    def __exit__(self, *_):
        self.undo.close()

    def completed(self, layer: int, factors: Factors | Scores) -> Factors | Scores:
        """The factors of a layer with biases and unrotated queries and keys filled in.

        returns: also the same factors, for a layer that is not chosen or of which only scores are
            known; scores alone, if the rotation of any layer so far cannot be taken out
        raises: ReportError for a layer that computes more than one attention, or whose rotation
            cannot be taken out
        """
        rotated, self.rotated = self.rotated, []
        if self.asking:  # queries and keys are here, so the call need not go on
            raise _CaughtError(factors, rotated)
        if layer not in self.chosen or isinstance(factors, Scores):
            return factors
        if layer not in self.arguments:
            raise ReportError(
                f"layer {layer} computes more than one attention, which is not measured; only "
                "models whose layers compute one are"
            )
        part = self.chosen[layer]
        factors = replace(factors, mixed=self.embedded().added)
        arguments = self.arguments.pop(layer)
        ask = partial(self._ask, part.attention, arguments)
        weights = state_of(part.attention.parameters())
        if part.learned is None or part.learned_from != weights:
            learn = rotation.given if self.given else rotation.learned
            part.learned, part.learned_from = learn(ask, factors, rotated), weights
        if self.given:
            return factors
        # One layer that cannot be split makes the scores of all the only comparable thing.
        if any(part.learned and part.learned.rotation == "unknown" for part in self.parts):
            return Scores(_unsplit(factors), factors.range())
        factors = self._split(layer, ask, factors, rotated)
        if layer == 0 and part.learned.rotation == "none" and self.embedded().modules:
            return self._with_positions(ask, factors, next(iter(arguments.values())))
        return factors

    def _with_positions(self, ask, factors, entering):
        """The factors of layer 0 with `query_place` and `key_place`, what positions put into them.

        entering: what the first layer's attention reads, float [1, T, hidden_size]
        returns: the same factors where that part is not known, or queries and keys not linear in it
        """
        hidden, learned = self.first_hidden, self.chosen[0].learned
        part = position_part(hidden)
        if part is not None:
            part = through_norm(part, hidden, entering, self.chosen[0].module)
        if part is None or learned.entangled:
            return factors
        of_positions, _ = ask(lambda _: part)
        query, key = (
            getattr(of_positions, name) - (0 if bias is None else bias[:, None])
            for name, bias in (("query", factors.query_bias), ("key", factors.key_bias))
        )
        if learned.place_difference is None:
            of_rest, _ = ask(lambda state: state - part)
            learned.place_difference = max(
                rotation.relative(of_rest.query + query, factors.query),
                rotation.relative(of_rest.key + key, factors.key),
            )
        if not learned.place_difference <= rotation.linear(query.dtype):
            return factors
        return replace(factors, query_place=query, key_place=key)

    def _split(self, layer, ask, factors, rotated):
        """The factors with biases and, where the layer rotates, unrotated queries and keys.

        rotated: pairs from the rotary functions in the model's own call
        """
        learned = self.chosen[layer].learned
        factors = replace(factors, query_bias=learned.query_bias, key_bias=learned.key_bias)
        if learned.rotation == "none":
            return factors
        unrotated = rotation.unrotated_beside(factors, rotated) or rotation.unrotated_again(ask)
        if unrotated is None:
            raise ReportError(
                f"layer {layer}: the rotation of its queries and keys cannot be taken out as for "
                "the first text; check the weights, and measure in float32"
            )
        factors = replace(factors, unrotated_query=unrotated[0], unrotated_key=unrotated[1])
        if not self.wants_rotary_terms or learned.query_bias is None or learned.key_bias is None:
            return factors
        return replace(factors, **rotation.rotated_biases(ask, factors))

    def _ask(self, module, arguments, change, at_first=False):
        """Call the attention module of a layer once more, as far as its queries and keys.

        arguments: those of its call in the model, by name; the first is the hidden state
        change: function of the hidden state, float [1, T, hidden_size] -> the one to call with
        at_first: whether every token is put at the position of token 0
        returns: (Factors, pairs of the rotary functions); None if no argument holds positions, at
            which `at_first` could put tokens
        raises: ReportError if the module computes no attention
        """
        hidden_name = next(iter(arguments))
        arguments = arguments | {hidden_name: change(arguments[hidden_name])}
        if at_first:
            positions = [name for name in POSITIONS if arguments.get(name) is not None]
            if not positions:
                return None
            arguments |= {name: rotation.first_row(arguments[name]) for name in positions}
        before, self.asking = self.rotated, True
        try:
            module.forward(**arguments)
        except _CaughtError as caught:
            return caught.args
        finally:
            self.rotated, self.asking = before, False
        raise ReportError(
            f"an attention module of type {type(module).__name__} did not compute its attention "
            "when it was called a second time"
        )

    def _remember_arguments(self, layer, attention):
        """A hook that stores the arguments of an attention module, by the names of its forward."""
        names = list(inspect.signature(type(attention).forward).parameters)[1:]

        def remember(_, args, kwargs):
            self.arguments[layer] = dict(zip(names, args, strict=False)) | kwargs

        return attention.register_forward_pre_hook(remember, with_kwargs=True)

    def _remember_hidden(self, module):
        """A hook that stores the hidden state that enters the first layer."""

        def remember(_, args, kwargs):
            self.first_hidden = args[0] if args else kwargs["hidden_states"]

        return module.register_forward_pre_hook(remember, with_kwargs=True)

    def _watch_rotary_functions(self, names, undo):
        """Replace the rotary functions among the globals of a module until `undo` is closed.

        names: name -> global of the file that defines the attention
        """
        for name, function in list(names.items()):
            if "rotary" in name and inspect.isfunction(function):
                signature = inspect.signature(function)
                if any(angle in signature.parameters for angle in ANGLES):
                    names[name] = self._watched(function, signature)
                    undo.callback(names.__setitem__, name, function)

    def _watched(self, function, signature):
        """A rotary function that also stores its results with the angles of token 0."""

        def watched(*args, **kwargs):
            rotated = function(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            for angle in ANGLES:
                if bound.arguments.get(angle) is not None:
                    bound.arguments[angle] = rotation.first_row(bound.arguments[angle])
            unrotated = function(*bound.args, **bound.kwargs)
            if isinstance(rotated, torch.Tensor):
                self.rotated.append((rotated, unrotated))
            else:
                self.rotated += zip(rotated, unrotated, strict=True)
            return rotated

        return watched


class _CaughtError(Exception):
    """Ends a call of `_ask` once queries and keys are computed; args: (Factors, pairs)."""


def _unsplit(factors):
    """The scores as they enter the softmax, float [heads, T, T]; ReportError with sinks."""
    if factors.sink is not None:
        raise ReportError(
            "this model has attention sinks, and positions inside its queries and keys that cannot "
            "be taken out, which is not measured"
        )
    scores = score(factors)
    cap = factors.softcap
    return scores if cap is None else cap * torch.tanh(scores / cap)
