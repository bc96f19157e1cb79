"""Articles that compare conditions: prompts as they are, and with one segment changed."""

from dataclasses import asdict, dataclass, replace
from itertools import chain

from report.datasets.write.conditions import write_conditions as write  # noqa: F401 (a kind has it)
from report.inputs import fillers
from report.inputs.conditions import FILLER, Segment, question_prompt
from report.inputs.prompts import prompts
from report.measuring import key as keys

TIMES = 55
"""How often a filler is repeated unless a study says otherwise."""
WORDS = 4000
"""Words of the vocabulary, at most, that random tokens are drawn from."""


@dataclass(frozen=True)
class Inputs:
    """What is read."""

    prompts: object
    """`Prompts`: name, title, source, licence, system, questions."""
    specs: tuple
    """Of `ConditionSpec`, see `report.inputs.specs`; the others are compared with the first."""


@dataclass(frozen=True)
class Measured:
    """What `write_conditions` turns into files."""

    conditions: list
    """Of `ConditionStatistics`, see report.measurements.conditions; in the order of the study."""


def inputs(wanted):
    """The prompts and their conditions; ReportError if the prompts cannot be read."""
    return Inputs(prompts(wanted.prompts), tuple(wanted.conditions))


def parts(inputs, before=None):
    """What the datasets depend on."""
    return {
        "prompts": keys.hashed(asdict(inputs.prompts)),
        "conditions": [spec.model_dump(exclude_defaults=True) for spec in inputs.specs],
    }


def words(inputs):
    """Options of a command: none, the article names its prompts and conditions itself."""
    return []


def measure(loaded, inputs, progress, announce):
    """Run a model over every question of the prompts under every condition.

    returns: (`Measured`, dict of the manifest's prompts)
    """
    from report.models.load.memory import enough_memory
    from report.models.measure.conditions import measure_conditions
    from report.models.partial.model import announce_bytes
    from report.models.text.segments import segmented

    found = conditions(loaded, inputs)
    texts = [segmented(loaded, each.segments).token_ids for prompt in found for each in prompt]
    announce_bytes(loaded, [*chain.from_iterable(texts)], announce)
    with enough_memory(f"measuring prompts of {max(map(len, texts))} tokens"):
        statistics = measure_conditions(loaded, found, lambda *n: progress("Measuring", *n))
    read = inputs.prompts
    facts = {key: getattr(read, key) for key in ("name", "title", "source", "licence", "system")}
    counts = {"texts": len(found), "tokens": sum(map(len, texts))}
    return Measured(statistics), {
        "token_ids_sha256": keys.hashed([list(ids) for ids in texts]),
        "prompts": facts | {"question": read.questions[0]} | counts,
    }


def conditions(loaded, inputs):
    """Every question under every condition: list of lists of `Condition`.

    The new segments are made for the first question and are the same in all of them.
    raises: ReportError if one of a wanted number of tokens cannot be found
    """
    plain = [question_prompt(inputs.prompts.system, each) for each in inputs.prompts.questions]
    new = _new_texts(loaded, plain[0], inputs.specs)
    return [
        [_changed(prompt, spec, new.get(spec.name)) for spec in inputs.specs] for prompt in plain
    ]


def _changed(prompt, spec, text):
    """The `Condition` of a prompt; text: of its new segment, if it has one."""
    said = {"name": spec.name, "label": spec.label or spec.name}
    if spec.before:
        return prompt.inserted(Segment(FILLER, text), spec.before, **said)
    if spec.replace:
        return prompt.replaced(Segment(spec.replace, text), **said)
    if spec.remove:
        return prompt.without(spec.remove, **said)
    return replace(prompt, **said)


def _new_texts(loaded, prompt, specs):
    """dict of condition name to the text of its new segment."""
    made = [spec for spec in specs if spec.before or spec.replace]
    found, lengths = {}, {}
    for spec in sorted(made, key=lambda spec: spec.like is not None):  # like others: after them
        count = _counting(loaded, prompt, spec)
        text = _text(loaded, spec, count, lengths.get(spec.like, spec.tokens))
        found[spec.name] = text if spec.kind == "text" else f"{text}\n"
        lengths[spec.name] = count(text)
    return found


def _counting(loaded, prompt, spec):
    """A function from a text to the tokens that it has as the new segment of a prompt."""
    from report.models.text.segments import segmented

    # of what is only tried, none is too long
    unlimited = replace(loaded, identity=loaded.identity | {"context": None})

    def count(text):
        line = text if spec.kind == "text" else f"{text}\n"
        changed = _changed(prompt, spec, line)
        return len(segmented(unlimited, changed.segments).span(spec.replace or FILLER))

    return count


def _text(loaded, spec, count, tokens):
    """The text of a new segment, without the end of its line.

    tokens: how many it has to have, or None
    """
    from report.models.text.segments import ordinary_tokens

    if spec.kind == "text":
        return spec.text
    if spec.kind == "sentence":
        return fillers.sentence(count, tokens, spec.seed)
    if spec.kind == "random tokens":
        drawn = ordinary_tokens(loaded.tokenizer, WORDS, spec.seed)
        return fillers.random_words(count, tokens, drawn, spec.seed)
    string = spec.text or "/"
    if tokens:
        return fillers.repeated_tokens(count, tokens, string)
    return fillers.repeated_apart(count, string, spec.times or TIMES)
