"""What the page of `explore` shows of a text: passage and figures, as an article has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from weakref import WeakValueDictionary

from report.datasets import store
from report.errors import ReportError
from report.figures.build import vega
from report.figures.build.find import HEADS
from report.figures.parts.figure import Data
from report.files import TEMPLATES
from report.inputs import corpora, rows
from report.inputs.passages import corpus
from report.kinds.pair import measure as pairs
from report.kinds.pair.live import LivePair
from report.kinds.passage.live import MAY_DIFFER, LivePassage, OfCorpus, same_but
from report.kinds.passage.measure import Inputs, parts, tokenized
from report.kinds.prediction.live import LivePrediction
from report.measures import OwnMeasure, known, named, own_files, own_measures
from report.measuring.forecast import require_room
from report.measuring.key import beside_files, files_of
from report.measuring.kind import Announce
from report.models.find import known as known_models
from report.notebook.measurement import Model
from report.pages.article import ArticleFigures
from report.pages.policy import policy
from report.pages.templates import environment, head_name
from report.project import Project
from report.text import count

NAME = "text-{}"
"""Of a text among all that were typed; {}: its number."""

SENTENCE = "The lamp on the hill was lit. Who lit the lamp on the hill?"
"""What the page opens with."""

LONGEST = 100_000
"""Characters of a text; no model at hand takes as many."""

EFFECTS, LENS = "effects", "lens"
"""What is measured of the next token besides: direct effects, or these and the logit lens, which
takes as long as a dozen forward passes."""

MOST = 12
"""Heads that another text changes, at most, in the table of these."""

MOST_TOKENS = 4096
"""Of a text: what is shown of it grows with the square of their number."""

CHOICES = 8
"""Likely next tokens of each text, of which a reader chooses what is asked of patched heads."""

NOWHERE = TEMPLATES / "none"
"""Where a project's own files would be, if there were one."""

SHEETS = ("page/site.css", "page/embed.css", "page/explore.css")


@dataclass(frozen=True)
class Question:
    """What a reader wants to see."""

    number: int
    text: str
    layer: int = 0
    head: int = 0
    measure: str = "first_token"
    """Of the figure of all heads."""
    token: int | None = None
    """The place of the token that the passage is shaded from."""
    other: str = ""
    """A text to compare it with; "" for none."""
    predict: str = ""
    """`EFFECTS`, `LENS`, or ""."""
    patch: tuple[int, int] | None = None
    """Ids of two tokens, of whose logits it is measured what heads carry between the two texts."""
    first: bool = False
    """Whether only the passage and its map are wanted, so that they are there soon."""


@dataclass(frozen=True)
class Answer:
    """What a page shows, and what it fetches then."""

    number: int
    html: str
    files: dict[str, Callable[[], dict]]
    """Address from the root of the page's folder -> what makes the dataset."""
    at_once: Mapping[str, dict] = field(default_factory=dict)
    """Those that the first figure is drawn of, where nothing more is wanted yet."""
    read: Sequence[LivePassage | LivePrediction | LivePair] = ()
    """What it shows, which other answers may share."""
    looking: Callable[[int, int | None], str] | None = None
    """Place of a token, and of its target -> as of `Explorer.looking`."""


@dataclass(frozen=True)
class Patching:
    """What a reader may have patched of two texts, and what was."""

    cost: str
    """A sentence about what it reads."""
    choices: Sequence[Sequence[tuple[int, str, bool]]]
    """Of each text likely next tokens: id, what it is, whether it is asked about."""
    lacks: str = ""
    """Why there is no figure of it, though a reader wanted one; or nothing to choose."""
    data: LivePair | None = None


class Explorer:
    """A model that stays loaded, and the project around it."""

    def __init__(
        self,
        model: Model,
        project: Project | None,
        chat: bool = False,
        compiled: Callable[[dict], dict] = vega.vega,
    ):
        """project: whose measures are taken, too, and whose datasets have the model's corpus
        compiled: as `vega.vega`

        raises: ReportError for a measure of the project that cannot be read
        """
        self.model, self.project, self.chat, self.compiled = model, project, chat, compiled
        self.root = project.root if project else NOWHERE
        self.measures: tuple[OwnMeasure, ...] | None = None
        self.corpus: OfCorpus | None = None
        self._files: dict | None = None  # of the model, once datasets may be of it
        self._there = WeakValueDictionary()  # what answers show that are still there
        self._read_measures()

    def _read_measures(self):
        """Those of the project, which its author may change meanwhile."""
        measures = own_measures(own_files(self.root / "measures"))
        if measures != self.measures:
            self.measures = measures
            self._there.clear()
            self.corpus = self._corpus()

    @property
    def own_folders(self) -> list[Path]:
        """Where what its author wrote lies."""
        return [self.root / name for name in ("measures", "figures", "templates")]

    @property
    def name(self) -> str:
        """Of the model."""
        return self.model.loaded.identity["name"]

    @property
    def shape(self) -> str:
        """What the model is, where its name says little; how many layers are measured, and how many
        heads each has."""
        about = self.model.loaded.identity
        preset, layers = known_models.preset_of(about), count(about["layers_measured"], "layer")
        what = f"{preset.title}, " if preset else ""
        return f"{what}{layers} of {count(about['num_attention_heads'], 'head')}"

    @property
    def titles(self) -> dict[str, str]:
        """Name -> title of each measure that there is now."""
        return {name: each.title for name, each in sorted(known(self.measures).items())}

    def page(self, together: Mapping[str, Explorer] | None = None) -> str:
        """The HTML of the page, before anything is measured.

        together: name -> what a reader may choose, this one first; None: this one alone
        """
        return self._filled(
            "explore.html.j2",
            policy=policy(),
            sheets=SHEETS,
            models={name: each.shape for name, each in (together or {self.name: self}).items()},
            measures=self.titles,
            text=SENTENCE,
        )

    def answer(
        self, question: Question, progress: Callable[..., None], announce: Announce
    ) -> Answer:
        """Measure a text, and draw it.

        progress: called after each layer; what it raises ends the measuring
        announce: called with sentences about the text or the model
        raises: ReportError if the text cannot be measured, in one sentence
        """
        self._read_measures()
        name = NAME.format(question.number)
        texts = {name: question.text}
        if question.other.strip():
            texts[f"{name}-other"] = question.other
        for text in texts.values():
            self.require_short(text)
        if question.first:
            texts = {name: question.text}
        # a comparison is of all measures; a figure is of one
        wanted = None if question.other.strip() else {named(question.measure, known(self.measures))}
        read = [self._passage(*each, wanted, announce, progress) for each in texts.items()]
        data, effects, lacks = read[0], [], []
        if question.predict and not question.first:
            for each, text in zip(read, texts.values(), strict=True):
                measured, reason = self._effects(question.predict, each, text, progress)
                effects.append(measured)
                lacks.append(reason)
        article = ArticleFigures(name, Project(self.root), data, pictures=False)
        patching = self._patching(question, data, progress, announce) if read[1:] else None
        pair = patching and patching.data
        content = _content(question, read, effects, article, pair) | {"lacks": [*lacks, "", ""]}
        content["patching"] = patching
        content["changes"] = _changes(*read, known(self.measures), article) if read[1:] else []
        html = self._filled("explored.html.j2", **content)
        for placed in article.placed:
            for panel in [*placed.panels, *placed.variants]:
                # heads of all texts are those of one model, wherever their datasets lie
                panel.spec["usermeta"]["report"]["model"] = self.name
        files = article.makers(self.compiled)
        views = [*read, *filter(None, [*effects, pair])]
        for each in views:
            files |= each.makers(f"datasets/{name}")
        now = {each: files[each]() for each in _at_once(article)} if question.first else {}
        return Answer(question.number, html, files, now, views, partial(self.looking, data))

    def _passage(self, place, text, wanted, announce, progress):
        """A text that is measured, now or for an answer that is still there."""
        self.model.require_checked(announce)
        about = self.model.loaded, self._inputs(text), lambda _: None, progress, self.corpus
        data = self._reused(text, place, lambda: LivePassage(*about, wanted))
        data.add(wanted, progress)
        for sentence in data.remarks:
            announce(sentence)
        return data

    def _reused(self, key, place, measure):
        """What an answer shows that is still there; or measured now."""
        before = self._there.get(key)
        data = measure() if before is None else copy(before)
        data.path = Path(place)
        self._there[key] = data
        return data

    def _effects(self, predict, data, text, progress):
        """What heads do to the next tokens of a text, None where that is not to be had; and why it
        is not."""
        try:
            read, lens = self._inputs(text).passage.text, predict == LENS
            about = self.model.loaded, data, read, lens, progress
            key = text, predict
            return self._reused(key, data.path.name, lambda: LivePrediction(*about)), ""
        except ReportError as error:
            progress()  # so an end that it asked for is none of a text without effects
            return None, str(error)

    def _patching(self, question, data, progress, announce) -> Patching | None:
        """What a reader may have patched of two texts; None where there is nothing to."""
        loaded = self.model.loaded
        texts = [tokenized(loaded, self._inputs(text)) for text in (question.text, question.other)]
        if texts[0].token_ids == texts[1].token_ids:
            return None
        try:
            start = pairs.require_fitting(loaded, texts, ("text", "other text"))
        except ReportError as error:
            announce(f"Heads cannot be patched between the texts: {error}.")
            return None
        try:
            pairs.require_short(len(texts[0].token_ids))
        except ReportError as error:
            return Patching("", [], str(error))
        choices = [pairs.likeliest(loaded, text, CHOICES) for text in texts]
        first = next(iter(choices[0]))
        answers = question.patch or (first, next(item for item in choices[1] if item != first))
        chosen = [
            [(token, text, token == item) for token, text in each.items()]
            for each, item in zip(choices, answers, strict=True)
        ]
        cost = pairs.cost(loaded, len(texts[0].token_ids), [start], resumes=True, paths=False)
        if question.patch is None:
            return Patching(cost, chosen)
        try:
            means = [text.text for text in corpus()[: pairs.MEANS_OF]]
            replaced = pairs.replacements(loaded, means)
            about = loaded, data, texts, answers, replaced, progress
            key = question.text, question.other, answers
            return Patching(
                cost, chosen, data=self._reused(key, data.path.name, lambda: LivePair(*about))
            )
        except ReportError as error:
            progress()  # so an end that it asked for is none of these texts
            return Patching(cost, chosen, str(error))

    def looking(self, data: LivePassage, token: int, target: int | None) -> str:
        """The heads that give most from a token of a text that is measured, as HTML.

        target: place of the token that it is given to; None: of each head the other token that gets
            most, but the first one
        raises: ReportError if the text has no such tokens
        """
        if not all(0 <= place < data.length for place in (token, target or 0)):
            raise ReportError(f"the text has the tokens 0 to {data.length - 1}.")
        heads = data.looking(token, target)[:MOST]
        return self._filled(
            "looking.html.j2",
            token=token,
            target=target,
            tokens=data.tokens,
            last=max(int(data.visible(layer, 0).last[token]) for layer in range(data.layers)),
            heads=[each for each in heads if each[3] > 0],
            model=self.name,
        )

    def require_short(self, text: str) -> None:
        """raises: ReportError if a text is too long to be shown"""
        self._inputs(text)
        start = text.lstrip()[: 2 * MOST_TOKENS]
        tokens, about = self.tokens(start), "more than "
        if tokens <= 2 * MOST_TOKENS:  # else to count all may take ten seconds
            tokens, about = self.tokens(text), ""
        if tokens > MOST_TOKENS:
            raise ReportError(
                f"the text has {about}{tokens:,} tokens, and at most {MOST_TOKENS:,} are shown "
                "here; shorten it, or write an article about it."
            )
        require_room(tokens)

    def tokens(self, text: str) -> int:
        """How many tokens a text has; ReportError as `answer`."""
        return len(tokenized(self.model.loaded, self._inputs(text)).token_ids)

    def _inputs(self, text):
        if not text.strip():
            raise ReportError("there is no text; type a sentence.")
        if len(text) > LONGEST:
            raise ReportError(
                f"the text has {len(text):,} characters, and at most {LONGEST:,} are measured; "
                "shorten it."
            )
        texts = corpora.shipped(corpus())
        return Inputs(rows.own_text(text), texts, "", self.chat, measures=self.measures)

    def _filled(self, template, **context):
        return environment(self.root / "templates").get_template(template).render(**context)

    def _corpus(self):
        """What this model's heads do over the texts that ship, by datasets of an article of the
        project; None if there are none. Frozen ones count whatever code measured them."""
        if self.project is None:
            return None
        later = MAY_DIFFER | {"model"}
        for folder, may_differ in (
            (self.project.site_src / "datasets", later),
            (self.project.frozen, later | {"code", "libraries"}),
        ):
            if there := OfCorpus.below(folder, partial(self._fits, may_differ=may_differ)):
                return there
        return None

    def _fits(self, before, may_differ):
        """Whether datasets are of this model, what takes long to know last."""
        source, settings = self.model.source, self.model.settings
        if before.get("model_name") != source.title:
            return False
        inputs = replace(self._inputs(SENTENCE), chat=False)
        now = beside_files(source, "passage", parts(inputs), settings)
        if not same_but(may_differ, now, before):
            return False
        self._files = self._files or files_of(source, settings["layers"])
        return before["model"] == self._files


def _content(
    question: Question,
    read: list[LivePassage],
    effects: list[LivePrediction | None],
    article: ArticleFigures,
    pair: LivePair | None = None,
) -> dict:
    """What the template of an answer takes.

    read: the text, and the other one if there is one; effects: of each, or of none
    """
    data = read[0]
    layer, head = min(question.layer, data.layers - 1), min(question.head, data.heads - 1)
    place = {"layer": layer, "head": head}
    token = question.token if (question.token or 0) < data.length else None
    calls: list[tuple[Data, str, dict]] = []
    for number, each in enumerate(read):
        calls += [
            (each, "attention_map", place),
            (each, HEADS, {"measure": question.measure, "view": "map"}),
            (each, "attention_breakdown", place),
        ]
        if predicted := effects[number] if effects else None:
            back = {"back": 0 if token is None else max(each.length - 2 - token, 0)}
            calls += [
                (predicted, "effects_by_head", back),
                (predicted, "effect_by_target", place),
                (predicted, "logit_lens", back),
            ]
    if pair:
        calls.append((pair, "patched_heads", {}))
    able = [call for call in calls if not _reason(article, *call)]
    article.announced = [_key(read, *call) for call in able]
    figures: dict[str, list] = {"figures": [], "next": [], "other": [], "patched": []}
    for each, name, state in able[: 1 if question.first else None]:
        drawn = article.figure(name, key=_key(read, each, name, state), data=each, **state)
        place = "next" if each in effects else "figures"
        place = "other" if _is_other(read, each) else place
        figures["patched" if each is pair else place].append(drawn)
    reasons = [reason for call in calls if call[0] is data and (reason := _reason(article, *call))]
    passage = article.passage(opens=token)
    return figures | {"passage": passage, "reasons": reasons, "first": question.first}


def _reason(article, data, figure, state):
    """Why a figure cannot be drawn; "" if it can."""
    return article.left_out(figure, data, state.get("measure"))


def _key(read, data, figure, state):
    key = f"{figure}-{state['measure']}" if figure == HEADS else figure
    return f"other_{key}" if _is_other(read, data) else key


def _is_other(read, data):
    """Whether something is of the other text: passage and effects of a text have one place."""
    return data.path != read[0].path


def _changes(data, other, measures, article):
    """The heads that another text changes most, with the measure and its values."""
    table = data.differences(other)
    most = []
    for layer, head, measure, value, changed, by in zip(*table.values(), strict=True):
        if len(most) < MOST and abs(by) > 0:  # it is NaN where a measure is of one text only
            about = measures[measure]
            label = head_name(f"L{layer}H{head}", article.model_named())
            values = [about.as_text(each) for each in (value, changed)]
            if len({*values}) > 1:
                most.append({"head": label, "measure": about.title, "numbers": values})
    return most


def _at_once(article: ArticleFigures) -> list[str]:
    """Addresses of the files that the first figure is drawn of, those that others name first."""
    if not article.placed:
        return []
    placed = article.placed[0]
    panel, folder = placed.panels[0], f"datasets/{article.name}/{placed.data.address}"
    keys = placed.data._read(panel.dataset).get("keys")
    names = [*([keys] if keys else []), panel.dataset, "passage.json"]
    drawn = f"figures/{article.name}/{panel.name}.vega.json"
    return [drawn, *(folder + name for name in names)]


def content_of(made: dict) -> bytes:
    """A dataset as it is sent."""
    return store.dumps(made).encode()
