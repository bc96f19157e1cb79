"""Queries and keys without rotation, and the biases inside them, of any attention module.

No module is known by its family; it is asked. Given one hidden state for every token, its queries
and keys are all alike, unless it rotates them. Given zeros, they are the biases. Given the angles
of token 0 for every token, they are not rotated (its angle is 0; a factor that belongs to the
rotation, as yarn's, stays). That question costs a projection, so it is asked once, to see whether
the cheap way is right: to let the family's own `apply_rotary...` function rotate the queries and
keys that it is given anyway a second time, by the angles of token 0.
"""

import inspect
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from functools import partial

import torch

from report.errors import ReportError
from report.measurements.decomposition import Scores, score

ANGLES = ("cos", "sin", "freqs_cis", "freqs_ci")
"""How rotary functions name what they rotate by, [..., T, size]."""
POSITIONS = ("position_embeddings", "position_ids", *ANGLES)
"""How attention modules name what tells them the positions of the tokens."""
LINEAR = 1e-3
"""Projections further from linear than this, relatively, have a norm after them."""


@dataclass(frozen=True)
class Learned:
    """What an attention module puts into its queries and keys.

    query_bias, key_bias: float [heads or key_heads, head_dim], not rotated; None where there is
        none, or where it cannot be told from the rest (a norm comes after it)
    rotation: "none"; "beside" (the rotary function is called once more); "again" (the module is
        called once more); "unknown" (positions are inside, and neither takes them out)
    entangled: whether there are biases that cannot be told from the rest
    bias_difference: how far from linear the projections are beyond the biases, relative to the
        largest query or key; None where no bias was found
    """

    query_bias: torch.Tensor | None
    key_bias: torch.Tensor | None
    rotation: str
    entangled: bool
    bias_difference: float | None


class Splitter:
    """Fills in what `Factors` splits a score by; a context manager around forward passes.

    parts: list of LayerStructure, of the whole model
    chosen: indices of the layers whose factors are filled in
    wants_rotary_terms: whether rotated biases are, too
    given: whether a forward of ours has filled in everything: then it is checked only, once
    """

    def __init__(self, parts, chosen, wants_rotary_terms=False, given=False):
        self.parts = parts
        self.chosen = {layer: parts[layer] for layer in chosen}
        self.wants_rotary_terms = wants_rotary_terms
        self.given = given
        self.arguments = {}  # of the attention module that runs, by layer and name
        self.rotated = []  # pairs (rotated, not rotated), from the rotary functions
        self.asking = False
        self.undo = ExitStack()

    def __enter__(self):
        with ExitStack() as undo:
            for layer, part in self.chosen.items():
                undo.callback(self._remember_arguments(layer, part.attention).remove)
            for kind in {type(part.attention) for part in self.chosen.values()}:
                self._watch_rotary_functions(inspect.unwrap(kind.forward).__globals__, undo)
            self.undo = undo.pop_all()
        return self

    def __exit__(self, *_):
        self.undo.close()

    def completed(self, layer, factors):
        """The factors of a layer with biases and unrotated queries and keys filled in."""
        rotated, self.rotated = self.rotated, []
        if self.asking:
            raise _CaughtError(factors, rotated)
        if layer not in self.chosen or isinstance(factors, Scores):
            return factors
        if layer not in self.arguments:
            raise ReportError(
                f"layer {layer} computes more than one attention, which is not measured; only "
                "models whose layers compute one are"
            )
        ask = partial(self._ask, self.chosen[layer].attention, self.arguments.pop(layer))
        learned = self.chosen[layer].learned
        if learned is None:
            learned = _given(ask, factors) if self.given else _learned(ask, factors, rotated)
            self.chosen[layer].learned = learned
        if self.given:
            return factors
        # One layer that cannot be split makes the scores of all the only comparable thing.
        if any(part.learned and part.learned.rotation == "unknown" for part in self.parts):
            return Scores(_scores(factors), factors.range())
        factors = replace(factors, query_bias=learned.query_bias, key_bias=learned.key_bias)
        if learned.rotation == "none":
            return factors
        query, key = _beside(factors, rotated) or _again(ask)
        factors = replace(factors, unrotated_query=query, unrotated_key=key)
        if not self.wants_rotary_terms or learned.query_bias is None or learned.key_bias is None:
            return factors
        return replace(factors, **_rotated_biases(ask, factors))

    def _ask(self, module, arguments, change, at_first=False):
        """Factors and rotated pairs of `module` for another hidden state.

        change: what is done to the hidden state, float [1, T, hidden_size]
        at_first: every token at the position of token 0
        returns: (Factors, pairs); None if `at_first` is not possible
        """
        hidden = next(iter(arguments))  # its name
        arguments = arguments | {hidden: change(arguments[hidden])}
        if at_first:
            positions = [name for name in POSITIONS if arguments.get(name) is not None]
            if not positions:
                return None
            arguments |= {name: _first_row(arguments[name]) for name in positions}
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
        names = list(inspect.signature(type(attention).forward).parameters)[1:]

        def remember(_, args, kwargs):
            self.arguments[layer] = dict(zip(names, args, strict=False)) | kwargs

        return attention.register_forward_pre_hook(remember, with_kwargs=True)

    def _watch_rotary_functions(self, names, undo):
        for name, function in list(names.items()):
            if "rotary" in name and inspect.isfunction(function):
                signature = inspect.signature(function)
                if any(angle in signature.parameters for angle in ANGLES):
                    names[name] = self._watched(function, signature)
                    undo.callback(names.__setitem__, name, function)

    def _watched(self, function, signature):
        def watched(*args, **kwargs):
            rotated = function(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            for angle in ANGLES:
                if bound.arguments.get(angle) is not None:
                    bound.arguments[angle] = _first_row(bound.arguments[angle])
            unrotated = function(*bound.args, **bound.kwargs)
            if isinstance(rotated, torch.Tensor):
                self.rotated.append((rotated, unrotated))
            else:
                self.rotated += zip(rotated, unrotated, strict=True)
            return rotated

        return watched


class _CaughtError(Exception):
    """A module that was asked has computed its queries and keys: the Factors, the pairs."""


def _learned(ask, factors, rotated):
    """What the answers of a module say about it."""
    zero, twice = ask(torch.zeros_like)[0], ask(lambda hidden: 2 * hidden)[0]
    found, differences, entangled = [], [], False
    for name in ("query", "key"):
        # of token 0, which is never rotated; each [heads, head_dim]
        once, double, bias = (getattr(one, name)[:, 0] for one in (factors, twice, zero))
        difference = _relative(double - once, once - bias)
        if not bias.any():
            found.append(None)
        elif difference <= LINEAR:
            found.append(bias.detach().clone())
            differences.append(difference)
        else:
            found.append(None)
            entangled = True
    rotation = _rotation(ask, factors, rotated)
    return Learned(*found, rotation, entangled, max(differences, default=None))


def _given(ask, factors):
    """The same of a forward of ours, whose factors hold everything: its biases are compared."""
    zero, _ = ask(torch.zeros_like)
    pairs = (zero.query[:, 0], factors.query_bias), (zero.key[:, 0], factors.key_bias)
    differences = [
        _relative(true, torch.zeros_like(true) if bias is None else bias, floor=1.0)
        for true, bias in pairs
    ]
    return Learned(factors.query_bias, factors.key_bias, "given", False, max(differences))


def _rotated_biases(ask, factors):
    """The biases as every token rotates them, from zeros: of one token, if the module is content
    to rotate that by the angles of all; else of all tokens, which takes a projection of them."""
    one = None
    with suppress(RuntimeError):
        one, _ = ask(lambda hidden: torch.zeros_like(hidden[:, :1]))
    if one is None or (one.query.shape, one.key.shape) != (factors.query.shape, factors.key.shape):
        one, _ = ask(torch.zeros_like)
    return {"rotated_query_bias": one.query, "rotated_key_bias": one.key}


def _rotation(ask, factors, rotated):
    def alike(hidden):
        return hidden[:, :1].expand_as(hidden)

    same, same_rotated = ask(alike)
    if _rows_alike(same.query, same.key):
        return "none"
    again = _again(ask, alike)
    again_right = again is not None and _rows_alike(*again)
    beside = _beside(same, same_rotated)
    beside_right = beside is not None and _rows_alike(*beside)
    if beside_right and again_right:
        beside_right = all(map(_close, _beside(factors, rotated), _again(ask)))
    return "beside" if beside_right else "again" if again_right else "unknown"


def _scores(factors):
    """What enters the softmax, float [heads, T, T]."""
    if factors.sink is not None:
        raise ReportError(
            "this model has attention sinks, and positions inside its queries and keys that cannot "
            "be taken out, which is not measured"
        )
    scores = score(factors)
    cap = factors.softcap
    return scores if cap is None else cap * torch.tanh(scores / cap)


def _again(ask, change=lambda hidden: hidden):
    """Query and key with every token at the position of token 0; None if that is not possible."""
    answer = ask(change, at_first=True)
    return answer and (answer[0].query, answer[0].key)


def _beside(factors, rotated):
    """Unrotated query and key, from what the rotary functions gave for it; None if not found."""
    query, key = (_placed(full, rotated) for full in (factors.query, factors.key))
    return None if query is None or key is None else (query, key)


def _placed(full, rotated):
    """`full` [heads, T, head_dim] with its rotated part, all or first or last dimensions, undone.

    rotated: pairs of tensors [1, heads or 1, T, size], or [1, T, heads or 1, size]
    """
    for pair in rotated:
        for turned, straight in (pair, [one.transpose(1, 2) for one in pair]):
            turned, straight = turned[0], straight[0]
            size = turned.shape[-1]
            if turned.shape[1] != full.shape[1] or turned.shape[0] not in (1, full.shape[0]):
                continue
            turned, straight = (one.expand(full.shape[0], -1, -1) for one in (turned, straight))
            if size == full.shape[-1]:
                if torch.equal(full, turned):
                    return straight
            elif torch.equal(full[..., :size], turned):
                return torch.cat([straight, full[..., size:]], -1)
            elif torch.equal(full[..., -size:], turned):
                return torch.cat([full[..., :-size], straight], -1)
    return None


def _first_row(value):
    """Angles [..., T, size] or positions [..., T] of token 0, for every token."""
    if isinstance(value, tuple | list):
        return type(value)(map(_first_row, value))
    return value[..., :1, :] if value.is_floating_point() or value.is_complex() else 0 * value


def _rows_alike(*values):
    return all(_close(one, one[:, :1].expand_as(one)) for one in values)


def _close(one, other):
    return _relative(one, other) <= max(1e-5, 4 * torch.finfo(one.dtype).eps)


def _relative(one, other, floor=0.0):
    """Largest difference, as a fraction of the largest value of both."""
    largest = max(float(one.abs().max()), float(other.abs().max()), floor)
    return float((one - other).abs().max()) / largest if largest > 0 else 0.0
