"""What `python -m report models` prints: one line a model, from a real run on a tiny random one."""

import textwrap
from collections.abc import Iterator

import torch
from transformers.utils import logging

from report import families
from report.errors import ReportError
from report.families.verify import DTYPES, QUANTITIES, differences, limit
from report.models.attention.self_check import capabilities

WIDTH = 100
OVERVIEW = "{:25} {:11} {:37} {:5} {:9} {:5}"


def overview(family: str | None = None) -> Iterator[str]:
    """What is measured on each family, line by line as it is found out.

    family: of one family or variant only; None: all
    yields: lines of text of at most 100 characters
    raises: ReportError for an unknown family, or, at the end, if one could not be measured that has
        to be
    """
    variants = _variants(family)  # before the heading: a family may be unknown
    yield OVERVIEW.format(
        "model", "route", "terms of a score", "prob.", "updates", "4-way"
    ).rstrip()
    missing, failed = {}, []
    for name in variants:
        facts = _run(name, capabilities, failed)
        if isinstance(facts, str):
            yield from _not_measured(name, facts)
            continue
        named = facts["terms"]
        if "mixed" in named:  # in the first layer its parts, of which there is no room to tell
            named = ["content and position", *named[named.index("mixed") + 1 :]]
        terms = ", ".join(named).replace("_", " ")
        four_way, probable = (_yes(facts[key]) for key in ("rotary_terms", "probabilities"))
        updates = facts["updates"] or "no"
        yield OVERVIEW.format(name, facts["route"], terms, probable, updates, four_way).rstrip()
        for what, reason in facts["reasons"].items():
            missing.setdefault(what, {}).setdefault(reason, []).append(name)
    yield ""
    yield from _paragraph(
        "prob.: every head's probabilities. updates: what each head adds to the hidden state, as "
        'the output projection leaves it ("raw") or as a norm after it does ("effective", with the '
        "raw ones beside). 4-way: rotated scores split by the biases of query and key too, where "
        "there are both."
    )
    missing.pop("rotary_terms", None)
    for what, reasons in missing.items():
        for reason, names in reasons.items():
            yield from _paragraph(f"No {what} ({reason}): {', '.join(names)}.")
    _require_none(failed)


def parity(family: str | None = None) -> Iterator[str]:
    """How far measurements are from what transformers computes, line by line.

    family, yields: as `overview`
    raises: ReportError for an unknown family, or, at the end, naming all that is off by more than
        rounding explains or could not be measured
    """
    variants = _variants(family)
    yield f"{'model':25}" + "".join(f"{quantity:>8}" for quantity in QUANTITIES)
    failed, number = [], 0
    for name in variants:
        outcome = _run(name, _in_both, failed)
        if isinstance(outcome, str):
            yield from _not_measured(name, outcome)
            continue
        number += 1
        off = [
            f"{name}: {quantity} is off by {value:.1e} in {str(dtype).removeprefix('torch.')}"
            for dtype, values in outcome.items()
            for quantity, value in values.items()
            if not value <= limit(name, dtype)
        ]
        exact = outcome[torch.float64]
        cells = (f"{exact[each]:8.1e}" if each in exact else f"{'-':>8}" for each in QUANTITIES)
        yield f"{name:25}{''.join(cells)}{' <' if off else ''}"
        failed += off
    yield ""
    for quantity, meaning in QUANTITIES.items():
        yield from _paragraph(f"{quantity}: {meaning}.")
    yield from _paragraph(
        "Largest difference over all layers, heads and tokens, in float64, relative to the largest "
        "value where that is above 1; of probabilities, to the largest score. The same was "
        "compared in float32, in which models are measured. What rounding explains follows from "
        "the sizes of a model."
    )
    _require_none(failed)
    yield f"All {number} models are within rounding, in float64 and in float32."


def _in_both(loaded):
    """What is off in float64 and in float32: dict of dtype to dict of quantity to float."""
    return {dtype: differences(loaded.identity["name"], dtype=dtype) for dtype in DTYPES}


def _variants(family):
    """The names of the models to build; with a line of transformers' about each kept back."""
    logging.set_verbosity_error()
    if family is None:
        return [variant for each in families.names() for variant in families.variants(each)]
    known = families.variants(family.partition("/")[0])
    if "/" in family and family not in known:
        raise ReportError(f"unknown variant '{family}'; known: {', '.join(known)}")
    return [family] if "/" in family else known


def _run(name, measure, failed):
    """What `measure` returns for a model, or why it cannot be measured: str.

    failed: list, to which is added what should not have been so
    """
    expected = not families.read(name.partition("/")[0]).get("unsupported", False)
    try:
        result = measure(families.loaded(name))
    except ReportError as error:
        if expected:
            failed.append(f"{name} could not be measured: {error}")
        return str(error)
    if not expected:
        failed.append(f"{name} is measured, although its file says unsupported = true")
    return result


def _require_none(failed):
    if failed:
        raise ReportError("; ".join(failed))


def _not_measured(name, reason):
    return _paragraph(f"{name:25} not measured: {reason}", indent=26)


def _paragraph(text, indent=2):
    return textwrap.wrap(text, WIDTH, subsequent_indent=" " * indent, break_on_hyphens=False)


def _yes(value):
    return "yes" if value else "no"
