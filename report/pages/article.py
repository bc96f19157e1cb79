"""The figures of one article: which can be drawn, what their numbers are, and their HTML."""

import functools
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from markupsafe import Markup

from report.datasets.formats.renderings import RenderedTable
from report.errors import ReportError
from report.figures import Figure
from report.figures.build import defaults, vega
from report.figures.build.find import HEADS, figure_named, figure_names, figure_of, measure_of
from report.figures.build.per_model import per_model, reach
from report.figures.parts import choices, score_terms
from report.figures.parts.figure import Data
from report.kinds import folders
from report.pages import claims, sentences
from report.pages.bibliography import Citations
from report.pages.glossary import term
from report.pages.placed import PlacedFigure, controls_for, drawn, has_several, with_rows
from report.pages.stamps import Drawn
from report.pages.templates import HEAD, environment, head_name
from report.project import Project
from report.study.front_matter import FIGURE
from report.text import split_sentences

BYLINE_HERE = "<!-- byline -->"
"""Where the page has its byline, below all that; see `_article.md.j2`."""

ROOT = "../../"
"""From an article's address, `articles/<name>/`, to the root of the site."""

HEAD_PAGE = "head"
"""What no figure of an atlas is called; see `head_page.py`."""

FUNCTIONS = (
    *("figure", "ref", "passage", "table_text", "can_draw", "left_out"),
    *("term", "cite", "finding", "live", "cover"),
)
"""Methods of `ArticleFigures` that templates may call."""


class ArticleFigures:
    """Collects the figures of one article while its template is rendered, and numbers them."""

    def __init__(
        self,
        name: str,
        project: Project,
        data: Data,
        cache: Drawn | None = None,
        pictures: bool = True,
    ):
        """name: of the article, as in addresses; project: the publication that it is in

        pictures: whether figures have still pictures, sentences for states that they do not open
            at, and pages of their own
        """
        self.name, self.project, self.pictures = name, project, pictures
        self.data, self.cache = data, cache or Drawn()
        self.figures_folder = project.figures
        self.citations = Citations(project.articles)
        self.placed: list[PlacedFigure] = []
        self.announced: list[str] | None = None
        """Names of all figures of the article; None while they are being counted."""
        self.conclusion = ""
        """What the article found, in a sentence or two; see `finding`."""
        self.cover_name = ""
        """The figure that stands for the article, if not that of its front matter; see `cover`."""
        self.opens: int | None = None
        """The token that its passage is shaded from as it opens; see `passage`."""
        self.failed: list[str] = []
        """Claims that do not hold, a sentence each."""
        self.explained: dict[str, int] = {}
        """Lines of captions -> number of the figure that said them first."""

    @property
    def functions(self) -> dict[str, Callable]:
        """What templates may call: dict of name to function."""
        named = {name: getattr(self, name) for name in FUNCTIONS}
        return named | {claims.FAILED: self.claim_fails}

    def model_named(self, data: Data = None) -> str:
        """What figures name a model by, "" if they have none. data: its own, if not the first"""
        if has_several(self.data):
            names = {id(each): name for name, each in self.data.by_name.items()}
            return names[id(data)] if data else next(iter(names.values()))
        return getattr(data or self.data, "address", "").strip("/")

    def can_draw(self, name: str, data: Data = None, measure: str | None = None) -> bool:
        """`{% if can_draw("attention_breakdown") %}`: whether this model has what it shows."""
        return not self.left_out(name, data, measure)

    def left_out(self, name: str, data: Data = None, measure: str | None = None) -> str:
        """`{{ left_out("attention_breakdown") }}`: why it cannot be drawn; "" if it can.

        data, measure: as for `figure`
        raises: ReportError if no figure has that name
        """
        data, name = data or self.data, figure_of(name, measure)
        return figure_for(name, data, self.figures_folder).left_out(data)

    def figure(
        self,
        name: str,
        key: str | None = None,
        data: Data = None,
        measure: str | None = None,
        **state: int | str,
    ) -> Markup | str:
        """`{{ figure("attention_map", layer=3) }}`: the figure, with its controls at a state.

        key: what the article calls it, if it places a figure more than once; default: its name
        data: what it is drawn of, if not the article's data
        measure: of `figure("heads", measure="entropy")`, which draws a measure of all heads; the
            figure is then called "heads-entropy". Of another figure, a control of this name
        state: where its controls stand; its page in the gallery lists them, with their values
        returns: its HTML; "" while figures are being counted
        raises: ReportError if no figure has that name, the key cannot be one, it is placed already,
            it cannot be drawn, or the state is out of reach
        """
        if name != HEADS and measure is not None:
            state["measure"] = measure
        name = figure_of(name, measure)
        key, data = key or name, data or self.data
        if not re.fullmatch(FIGURE, key):
            raise ReportError(
                f"figure key {key[:80]!r} is a part of addresses and of names of files; give one "
                "of letters, digits, hyphens and underscores."
            )
        if key == HEAD_PAGE and folders.one_head(self.data):
            raise ReportError(
                f"figure key {key!r} is the address of the page of one head; give another."
            )
        if any(placed.name == key for placed in self.placed):
            raise ReportError(
                f"figure {key!r} is placed twice; refer to it by ref({key!r}), or give it another "
                "key."
            )
        figure = figure_for(name, data, self.figures_folder)
        if reason := defaults.other_kind(figure, type(data)):
            raise ReportError(f"figure {name!r} cannot be placed here: {reason}")
        reason = figure.left_out(data)
        if reason:
            raise ReportError(
                f"figure {name!r} cannot be drawn of this model: {reason} Place it inside "
                f"{{% if can_draw({name!r}) %}}."
            )
        controls = choices.at_state(controls_for(figure, data, state), state)
        state = {control.param: control.value for control in controls}
        counting = self.announced is None
        panels, variants = ([], []) if counting else self._drawn(key, figure, data, controls)
        placed = PlacedFigure(key, len(self.placed) + 1, figure, state, data, panels, variants)
        self.placed.append(placed)
        if counting:
            return ""
        context = self._figure_context(placed, controls) | self._caption(placed)
        return self._html("_figure.html.j2", **context)

    def alone(self, placed: PlacedFigure, root: str = ROOT, pictures: bool = True) -> Markup:
        """The HTML of a figure for a page of its own, where no other can be joined to it.

        root: from the page's address to the root of the site; by default the page lies as deep as
            an article's: `embed/<name>/<figure>.html`
        pictures: whether still pictures show it at the state in which the article has it
        """
        figure, state = placed.figure, placed.state
        controls = choices.at_state(controls_for(figure, placed.data, state), state)
        context = self._figure_context(placed, controls, root) | {"linked": ""}
        if not pictures:
            context |= {"pictures": False, "embed": ""}
        return self._html("_figure.html.j2", **context)

    def makers(self, compiled: Callable[[dict], dict] = vega.vega) -> dict[str, Callable[[], dict]]:
        """The files that its figures are drawn of in a browser, but for datasets: address from the
        root of the site -> what makes the file.

        compiled: as `vega.vega`
        """
        folder, makers = f"figures/{self.name}", {}
        for placed in self.placed:
            for panel in [*placed.panels, *placed.variants]:
                makers[f"{folder}/{panel.name}.json"] = functools.partial(dict, panel.spec)
                for_vega = functools.partial(compiled, panel.spec)
                makers[f"{folder}/{panel.name}.vega.json"] = for_vega
                for name, make in placed.makers_of_rows(panel):
                    makers[f"{folder}/{defaults.ROWS}/{panel.name}/{name}"] = make
        return makers

    def ref(self, name: str) -> Markup | str:
        """`{{ ref("attention_map") }}`: a link "Figure 1", before or after the figure.

        raises: ReportError if the article has no such figure
        """
        if self.announced is None:
            return ""
        if name not in self.announced:
            raise ReportError(
                f"ref({name!r}): this article has no such figure; it has: "
                f"{', '.join(self.announced) or 'none'}."
            )
        number = self.announced.index(name) + 1
        return Markup('<a class="figure-ref" href="#fig-{0}">Figure {0}</a>').format(number)

    def term(self, key: str, text: str | None = None, of: Data = None) -> Markup:
        """`{{ term("head", "heads") }}`: a word whose meaning shows beside it, and in the glossary.

        text: what stands in the text, if not the term's name
        of: of the name of a head, as in `term("head-name", h.label, of=data.models[1])`: the data
            of its model, if that is not the article's first
        raises: ReportError if the glossary has no such term
        """
        entry = term(key)
        address = f"{ROOT}glossary/#{entry.anchor}"
        link = Markup('<a class="term" href="{}">{}</a>').format(address, text or entry.word)
        model = bool(text and HEAD.fullmatch(text)) and self.model_named(of)
        return head_name(link, model) if model else link

    def cite(self, *keys: str, text: str | None = None) -> Markup | str:
        """`{{ cite("xiao2023") }}`: "(Xiao et al., 2023)", a link into the list at the end.

        keys: of entries in `references.bib` beside the articles
        text: what stands in the text instead, for one work: `cite("xiao2023", text="Xiao")`
        raises: ReportError if there is no such entry, or it cannot be shown
        """
        return self.citations.cite(keys, text)

    def finding(
        self, picture: Markup | str = "", beside: Markup | str = "", *, caller: Callable[[], str]
    ) -> str:
        """`{% call finding(figure("attention_map")) %}…{% endcall %}`: what the article found, in a
        sentence or two, and the figure that shows it.

        The first sentence answers the article's question. It stands in bold above the figure, and
        on the home page; the others stand below. They are plain text.

        beside: what stands beside the figure, where there is room: `passage()` or a `table_text`

        raises: ReportError if it is called twice
        """
        if self.conclusion:
            raise ReportError("finding() is called twice; an article says once what it found.")
        answer = re.sub("[ \\n]+", " ", caller()).strip()
        # on other pages, names of heads are text
        self.conclusion = re.sub(r'<span class="head-name"[^>]*>(\w+)</span>', r"\1", answer)
        if picture and beside:
            picture = Markup('<div class="opening">\n{}\n{}\n</div>').format(picture, beside)
        return opening(answer, str(picture))

    def cover(self, name: str) -> str:
        """`{{ cover("attention_map") }}`: the figure that stands for the article.

        It is for articles whose numbers decide which that is; others name it in front matter.

        raises: ReportError if the article has no such figure
        """
        if self.announced and name not in self.announced:
            raise ReportError(
                f"cover({name!r}): this article has no such figure; it has: "
                f"{', '.join(self.announced)}."
            )
        self.cover_name = name
        return ""

    def claim_fails(self, *about: object) -> str:
        """What `{% claim %}` calls where the data do not bear out a sentence.

        about: as of `claims.failure`; returns: ""
        """
        if (sentence := claims.failure(*about)) not in self.failed:
            self.failed.append(sentence)
        return ""

    def live(self, text: str) -> Markup:
        """`{{ live("Move the sliders.") }}`: a text that is true only where figures can be used.

        It is left out on paper and without JavaScript, so the prose must be whole without it.
        """
        return Markup('<span class="live-only">{}</span>').format(text)

    def passage(self, opens: int | None = None) -> Markup:
        """`{{ passage() }}`: the tokens of the passage, each with index and id on hover.

        opens: the place of the token that the text is shaded from until a reader points at one
        raises: ReportError for a place that the passage has not
        """
        read = self.data.models[0] if has_several(self.data) else self.data
        self.opens = opens if self._can_shade() else None
        return self._text("_passage.html.j2", read, read.tokens, opens, passage=read.passage)

    def table_text(self, text: RenderedTable, opens: int | None = None) -> Markup:
        """`{{ table_text(data.first) }}`: a table as text, its tokens coloured by what they are.

        The first text of the data is whole, and heads shade it as they do a passage; others are
        folded.

        opens: the place of the token that the first text is shaded from, as in `passage`
        raises: ReportError for a place that the text has not
        """
        about = {
            "text": text,
            "first": text is self.data.first,
            "columns": self.data.about["columns"],
        }
        return self._text("_table_text.html.j2", self.data, text.tokens, opens, **about)

    def _text(self, template, data, tokens, opens, **about):
        if opens is not None and not 0 <= opens < len(tokens):
            raise ReportError(f"opens={opens}: the text has the tokens 0 to {len(tokens) - 1}.")
        shaded = self._can_shade()
        about |= {"shaded": shaded, "model": data.label if shaded else ""}
        return self._html(template, tokens=tokens, opens=opens, **about)

    def _can_shade(self):
        return any(map(self._shows_one_head, self.announced or ()))

    def _html(self, template, **context):
        return partial(template, self.project.root / "templates", **context)

    def _drawn(self, key, figure, data, controls):
        def draw():
            both = drawn(key, figure, data, controls)
            return [[with_rows(panel, data, self.name) for panel in panels] for panels in both]

        return self.cache.get(("panels", key, str(controls)), [figure, data], draw)

    def _figure_context(self, placed, controls, root=ROOT):
        data, figure = placed.data, placed.figure
        line, how = sentences.in_two(figure.caption(data))
        seen, also = sentences.in_two(figure.seen(data, **placed.state))
        params = {each.param for each in controls}
        if figure.one_model:
            controls = reach(figure.one_model, data, controls)
        return {
            "figure": placed,
            "controls": [each for each in controls if not choices.is_behind(each)],
            "behind": [each for each in controls if choices.is_behind(each)],
            "linked": self._linked(placed.name),
            "title": placed.title,
            "entitled": figure.title(data),
            "line": line,
            "how": how,
            "see": "",
            "use": figure.use(data),
            "opens_at": choices.said(each for each in controls if each.param in params),
            "seen": seen,
            "also": also,
            "sentences": sentences.address(placed) if self.pictures else "",
            "pictures": self.pictures,
            "columns": figure.columns(data),
            "finds": figure.finds(data),
            "texts": figure.texts,
            "files": f"{root}figures/{self.name}/",
            "datasets": f"{root}datasets/{self.name}/{data.address}",
            "embed": f"{root}embed/{self.name}/{placed.name}.html" if self.pictures else "",
        }

    def _caption(self, placed):
        """What is folded of a figure, with a reference where an earlier one says the same.

        What a point is, the first sentence, is said of every figure.
        """
        line, _ = sentences.in_two(placed.figure.caption(placed.data))
        folded = placed.figure.caption(placed.data).removeprefix(line).lstrip(" ")
        caption, read_in = self._not_yet_said(placed, folded)
        use, used_in = self._not_yet_said(placed, placed.figure.use(placed.data))
        links = [self._see("How to read it", read_in)] if read_in else []
        if not used_in <= read_in:
            links.append(self._see("How to use it", used_in))
        return {"how": " ".join(caption), "use": " ".join(use), "see": Markup(" ").join(links)}

    def _not_yet_said(self, placed, text):
        """The lines of a text that no earlier figure has, and the numbers of figures that have the
        other lines."""
        lines = [line for line in text.split("\n") if line]
        first = {line: self.explained.setdefault(line, placed.number) for line in lines}
        new = [line for line, number in first.items() if number == placed.number]
        return new, set(first.values()) - {placed.number}

    def _see(self, what, numbers):
        links = Markup(", ").join(self.ref(self.announced[n - 1]) for n in sorted(numbers))
        return Markup("{}: see {}.").format(what, links)

    def _linked(self, name):
        """Label of the switch that joins the sliders of figures; "" where this one joins none."""
        numbers = [i for i, other in enumerate(self.announced, 1) if self._shows_one_head(other)]
        if len(numbers) < 2 or not self._shows_one_head(name):
            return ""
        return f"Same layer and head in Figures {score_terms.listed(numbers)}"

    def _shows_one_head(self, name):
        # a key is no name of a figure: the figure is placed several times
        if name not in figure_names(self.figures_folder) and not measure_of(name):
            return False
        figure = figure_for(name, self.data, self.figures_folder)
        if figure.panels or defaults.other_kind(figure, type(self.data)):  # of data of its own
            return False
        fixed = {control.param: control.fixed for control in figure.controls(self.data)}
        # where there is one layer and one head, nothing can be joined
        return fixed.keys() >= {"layer", "head"} and not (fixed["layer"] and fixed["head"])


def figure_for(name: str, data: Data, folder: Path | None = None) -> Figure:
    """The figure of a name, with a switch between models where data have several.

    A figure that shows all models itself (`Figure.of_models`) has no such switch.

    folder: that of the publication's own figures, or None
    raises: ReportError if no figure has that name
    """
    figure = figure_named(name, folder)
    if has_several(data) and not figure.of_models:
        return per_model(figure)
    return figure


def no_cover(name: str, placed: Iterable[str]) -> ReportError:
    """The error of an article whose cover is none of its figures; placed: the names of these."""
    names = ", ".join(dict.fromkeys(placed))
    if not names:
        return ReportError("this article has no figure; place one: {{ figure('its_name') }}.")
    return ReportError(f"cover {name!r} is no figure of this article; it has: {names}.")


def partial(template: str, folder: Path, **context: object) -> Markup:
    """A partial, filled in; folder: of templates that come before those that ship."""
    # In one line: a blank line or an indent inside would end the raw HTML for some parsers.
    text = environment(folder).get_template(template).render(**context)
    return Markup(re.sub(r"\s*\n\s*", "", text))  # noqa: S704 (the template escaped it)


def opening(finding: str, picture: str) -> str:
    """The Markdown of a finding around its picture, each part a block of its own.

    finding: its sentences; the first one stands in bold above the picture, the others below
    picture: HTML of a figure; "" if the finding places none
    """
    answer, *others = split_sentences(finding) or [""]
    answer, numbers = f"<strong>{answer}</strong>", " ".join(others)
    if picture and numbers:
        blocks = [answer, picture, numbers]
    else:
        blocks = [f"{answer} {numbers}".strip(), picture]
    kinds = ("finding", "", "finding finding--more")
    paragraphs = [
        f'<p class="{kind}">{block}</p>' if kind else block
        for kind, block in zip(kinds, blocks, strict=False)
        if block
    ]
    return "\n\n".join([*paragraphs, BYLINE_HERE]) + "\n"
