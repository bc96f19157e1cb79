"""The pages about all articles: home page, archive, tags, models and glossary.

What all model cards say is said once on their page. The home page has a line of text: what one head
looks at from each of its words.
"""

import json
import re
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from report import files
from report.datasets import store
from report.datasets.read.study import StudyData
from report.kinds import folders
from report.kinds.passage.data import PassageData
from report.models.find import known
from report.pages import filters, head_page
from report.pages.glossary import glossary
from report.pages.page import Page
from report.pages.templates import environment

SECTIONS = ("Text", "Training", "Known limits", "Licence")
"""Sections that model cards may share; the others are about one model."""

HEADS = "models/heads.json"
"""What an atlas of the site says of the heads of its models, from the root of the site."""

HEADING = re.compile(r"^## (.*)\n", re.MULTILINE)


def split(cards: list[str]) -> tuple[str, list[str]]:
    """What model cards have in common, and what is left of every card.

    cards: Markdown with headings "## …"; fewer than two have nothing in common
    returns: (what is common in the same form, or ""; the rest of every card)
    """
    if len(cards) < 2:
        return "", list(cards)
    cut = [_sections(card) for card in cards]
    shared = {}
    for name in SECTIONS:
        parts = [_parts(sections.get(name, "")) for sections in cut]
        common = _common(parts)
        if not common:
            continue
        shared[name] = _joined(common)
        for sections, mine in zip(cut, parts, strict=True):
            sections[name] = _joined([part for part in mine if part not in common])
    return _markdown(shared), [_markdown(sections) for sections in cut]


def _common(parts):
    """The parts that all lists have, in the order of the first. A part that ends in a colon counts
    only if the part after it is common too."""
    common = [part for part in parts[0] if all(part in others for others in parts[1:])]
    return [
        part
        for part in common
        if not part.endswith(":")
        or all({*mine[mine.index(part) + 1 :][:1]} & {*common} for mine in parts)
    ]


def _sections(card):
    """The text before the first heading, under "", and that of each heading."""
    first, *others = HEADING.split(card)
    return {"": first, **dict(zip(others[::2], others[1::2], strict=True))}


def _parts(text):
    """Paragraphs, tables, blocks of code, and entries of lists one by one."""
    parts = []
    for block in re.split(r"\n\n+", text.strip()):
        parts += re.split(r"\n(?=- )", block) if block.startswith("- ") else [block]
    return [part for part in parts if part]


def _joined(parts):
    text = ""
    for part in parts:
        entries = part.startswith("- ") and text.rpartition("\n\n")[2].startswith("- ")
        text += ("\n" if entries else "\n\n" if text else "") + part
    return text


def _markdown(sections):
    texts = [
        f"## {name}\n\n{text.strip()}" if name else text.strip()
        for name, text in sections.items()
        if text.strip()
    ]
    return "\n\n".join(texts) + "\n" if texts else ""


PAGES = ("index", "archive", "tags", "models", "glossary")


def render_lists(pages: list[Page], datas: list, site_src: Path, feed: bool = False) -> None:
    """Write the home page, the archive, the tags, the models and the glossary.

    pages: newest first; datas: `PassageData` and the like, one a page
    feed: whether there is a feed to link to
    """
    tags = Counter(tag for page in pages for tag in page.tags)
    models = _models(
        (page, model.manifest["model"])
        for page, data in zip(pages, datas, strict=True)
        for model in data.models
    )
    context = {
        "shared_card": _take_out_shared(models),
        "LIMITS": LIMITS,
        "pages": pages,
        "line": line_of(pages, datas),
        "atlas": _atlas(pages, datas),
        "kinds": {data.kind for data in datas},
        "tags": sorted(tags.items()),
        "models": models,
        "glossary": glossary().values(),
        "feed": feed,
        "about": (site_src / "about.md").is_file(),
    }
    for name in PAGES:
        template = environment(site_src.parent / "templates").get_template(f"{name}.md.j2")
        # A folder's index, as articles are: only there do builders agree about links in HTML.
        folder = site_src if name == "index" else site_src / name
        files.write_text(folder / "index.md", template.render(**context))
    write_heads(pages, datas, site_src)


def _atlas(pages, datas):
    """Of the article that tells most heads apart: its page, its models, the number of its first
    figure that finds heads, and questions for that; None if there is none."""
    largest = None
    for page, data in zip(pages, datas, strict=True):
        name, heads, questions = folders.questions(data)
        if name in page.figures and questions and (largest is None or heads > largest[0]):
            models = [model.name for model in data.models]
            largest = heads, page, models, page.figures[name][0], questions
    return largest and largest[1:]


def write_heads(pages: list[Page], datas: list, site_src: Path) -> None:
    """Write where articles find what an atlas of the site says of the heads of their models.

    pages, datas: as of `render_lists`
    """
    atlases, models = [], {}
    for page, data in zip(pages, datas, strict=True):
        addressed = head_page.models(data) if folders.one_head(data) else ()
        known_heads = folders.heads_known(data)
        for (name, _, label), (model, lines) in zip(addressed, known_heads, strict=True):
            models.setdefault(_checksum(model), len(atlases))
            at = f"embed/{page.name}/{head_page.FILE}#{head_page.anchor('{layer}', '{head}', name)}"
            about = {"article": page.name, "model": name, "label": label, "at": at}
            atlases.append(about | {"lines": lines, "named": {}})
    articles = {
        page.name: {
            name: models[_checksum(model)]
            for model, name in zip(data.models, _called(data), strict=True)
            if _checksum(model) in models
        }
        for page, data in zip(pages, datas, strict=True)
    }
    content = {
        "atlases": atlases,
        "articles": {name: each for name, each in articles.items() if each},
        "titles": {page.name: page.title for page in pages if articles[page.name]},
    }
    for article, of_models in content["articles"].items():
        _add_named(atlases, article, of_models, site_src)
    files.write_text(site_src / HEADS, json.dumps(content, ensure_ascii=False))


def _add_named(atlases, article, of_models, site_src):
    """Note at the atlases of its models that an article speaks of a head."""
    text = (site_src / f"articles/{article}/index.md").read_text("utf-8")
    for model, name, layer, head in dict.fromkeys(NAMED.findall(text)):
        lines = atlases[of_models[model]]["lines"] if model in of_models else []
        if int(layer) < len(lines) and int(head) < len(lines[0]):
            atlases[of_models[model]]["named"].setdefault(name, []).append(article)


NAMED = re.compile(
    r'<span class="head-name" data-model="([^"]*)">(?:<a [^>]*>)?(L(\d{1,3})H(\d{1,3}))<'
)
"""The name of a head in a text: its model, the name, the layer and the head."""


def _checksum(model):
    return json.dumps(model.manifest["model"].get("weights_sha256") or model.manifest["key"])


def _called(data):
    """What the page of an article calls its models, as marks of its heads do."""
    return getattr(data, "names", None) or [model.path.name for model in data.models]


def remove_departed(names: list[str], site_src: Path) -> None:
    """Remove pages, figures and datasets of articles that are no longer there.

    names: the articles that are, as in `Page.name`
    raises: ReportError for what the program did not write
    """
    gone = [
        path
        for part in ("articles", "embed", "figures", "datasets")
        for path in (site_src / part).glob("*")
        if path.name not in names
    ]
    measured = [path for path in gone if path.parent.name == "datasets" and path.is_dir()]
    for path in (each for folder in measured for each in folder.iterdir()):
        if path.is_dir():
            store.require_datasets(path)
        else:
            files.require_ours(path)
    for path in gone:
        if path in measured:
            shutil.rmtree(path)
        else:
            files.remove(path)


def _models(measured):
    """What the page of models lists: dict of anchor to name, models and revisions.

    measured: pairs of a page and an identity of its manifests. Articles link to a name, which
        several checkpoints may share.
    """
    models = {}
    for page, model in measured:
        name, revision = model["name"].partition("@")[::2]
        same_name = models.setdefault(
            filters.model_slug(name), {"name": name, "models": {}, "revisions": {}}
        )
        numbered = same_name["revisions" if revision else "models"]
        numbers = model["weights_sha256"], model.get("adapter", {}).get("sha256")
        pages = numbered.get(numbers, {}).get("pages", [])
        more = {"card": _card(model), "preset": known.preset_of(model), "pages": [*pages, page]}
        missed = " ".join(MISSED.findall(more["card"] or ""))
        more["missed"] = [limit for limit in LIMITS if limit in missed]
        numbered[numbers] = model | more
    return models


MISSED = re.compile(r"^\| ([^|]+?) \| [^|]* \| [^|]* \| no \|$", re.MULTILINE)
"""Rows of the table of a model card about limits that were not reached."""

LIMITS = ("loss", "first token", "previous token", "induction")
"""What those rows name."""


def _take_out_shared(models):
    """Leave each model card with what it alone says; returns what all of them say."""
    with_card = [
        model
        for same_name in models.values()
        for model in same_name["models"].values()
        if model["card"]
    ]
    shared, rests = split([model["card"] for model in with_card])
    for model, card in zip(with_card, rests, strict=True):
        model["card"] = _below(card)
    return _below(shared)


def _card(model):
    """The model card of an embedded model as a part of a page, or None if it has none.

    model: a manifest's identity; the card must be about these very weights
    """
    cards = {path.parent.name: path for path in known.EMBEDDED.glob("*/README.md")}
    card = cards.get(model.get("own_name", model["name"]))  # a name from a manifest makes no path
    if card is None:
        return None
    judged = json.loads((card.parent / "acceptance.json").read_text("utf-8"))["weights_sha256"]
    body = card.read_text("utf-8").split("\n---\n", 1)[-1]
    if judged != model["weights_sha256"] or "adapter" in model:
        return None
    return re.sub(r"\A\s*# .*\n", "", body)


def _below(card):
    """A card with headings so low that a table of contents, of what is not folded, has none."""
    return re.sub(r"^#", "####", card, flags=re.MULTILINE)


AROUND = 12
"""Tokens on each side of the opening one, at most; fewer where its sentence begins or ends."""

WHOLE = 28
"""A target within as many tokens is shown with all from the first one."""

LEAST = 0.02
"""A share of attention that is shaded."""


@dataclass(frozen=True)
class Word:
    """A token of the line."""

    index: int
    """Its place in the text."""
    text: str
    """Without the spaces around it."""
    spaced: bool
    """Whether a space stands before it."""
    looks: dict[int, float]
    """Tokens of the line that it looks at -> share of its attention, largest first."""
    skips: bool
    """Whether tokens are left out before it."""


@dataclass(frozen=True)
class Line:
    """Two pieces of a passage, in one of which a head looks at the other."""

    page: Page
    model: str
    layer: int
    head: int
    opens: int
    """The token that the line is shaded from until a reader points at another."""
    words: list[Word]


def line_of(pages: Sequence[Page], datas: Sequence[StudyData]) -> Line | None:
    """The line of the first article that shades its passage from a token by one head; None if none
    does, or if its tokens are no whole characters. datas: one a page"""
    for page, (data, *_) in zip(pages, (each.models for each in datas), strict=True):
        opens, at = page.opens, page.head
        if opens is None or at is None or at[0] >= data.layers or at[1] >= data.heads:
            continue
        words = _words(data, at, opens)
        if not any(data.tokens[word.index].part for word in words):
            return Line(page, data.label, *at, opens, words)
    return None


def _sentence(tokens, at):
    """The places around a token, in its sentence as far as that is near."""
    ends = [n for n, token in enumerate(tokens) if token.text.strip()[-1:] in {*".!?"}]
    first = max((n + 1 for n in ends if n < at), default=0)
    last = min((n for n in ends if n >= at), default=len(tokens) - 1)
    return range(max(first, at - AROUND), min(last, at + AROUND) + 1)


def _words(data: PassageData, at, opens):
    probability = data.attention(*at).probability
    target = int(probability[opens].argmax())
    pieces = [_sentence(data.tokens, each) for each in sorted({target, opens})]
    if target < WHOLE:
        pieces.append(range(target))
    places = sorted({place for piece in pieces for place in piece})
    return [
        Word(
            index,
            " ".join(data.tokens[index].text.split()),
            data.tokens[index].text[:1].isspace(),
            {
                there: float(probability[index, there])
                for there in sorted(places, key=lambda each: -probability[index, each])
                if probability[index, there] >= LEAST
            },
            index > before + 1,
        )
        for before, index in pairwise([-1, *places])
    ]
