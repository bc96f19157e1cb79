"""A publication in which everything that is not the builder's own code is hostile: tokens, texts,
names. Each text would leave a mark on the page if it ran, or ask another host."""

import re

import yaml
from tokenizers import AddedToken

from tests.commands import copy_project
from tests.small import write_corpus
from tests.tiny_falcon import byte_level_tokenizer, random_falcon

RAN = "document.documentElement.dataset.ran"

LONG = "long" * 2500
"""A token of 10,000 characters."""

RIGHT = "\u202e"
"""Turns round what follows it, unless something keeps it in."""

TOKENS = [
    f'</script><img src=x onerror="{RAN}=1">',
    f"<script>{RAN}=2</script>",
    "<!--",
    "-->",
    "]]>",
    "&lt;b&gt;&amp;amp;",
    "{{ 7*7 }}",
    "{% for x in y %}",
    "{# gone #}",
    "[a](javascript:alert(1))",
    "![a](https://elsewhere.invalid/x.png)",
    "<https://elsewhere.invalid/auto>",
    "| a | b |",
    "\n---\ntitle: x\n---\n",
    "# heading",
    "`code`",
    "{: #id .class onclick=alert(1) }",
    "???+ note",
    '"',
    "'",
    "\\",
    "\\u003cb\\u003e",
    "\0",
    "\u2028",
    "\u2029",
    "\ufeff",
    f"{RIGHT}turned",
    "\u2067שלום",
    "👩\u200d👩",
    "e\u0301\u0301",
    "=HYPERLINK(1)",
    "@SUM(1)",
    ' role="x" aria-label="y" url(#clip1) 1.23456',
    "datum['x'] + ' \" +",
    "__proto__",
    "constructor",
    "undefined",
    LONG,
]
"""Entries of a vocabulary."""

PASSAGE = "The " + " lamp ".join(TOKENS) + " was lit."

IMAGE = f"<img src=x onerror={RAN}=3>"

NAME = f"x\"'{IMAGE}&amp;{{{{ 7*7 }}}}[a](b)|`{IMAGE}{RIGHT}c"
"""Of a model; no slash, as it is a folder's."""

TITLE = (
    f"Title </title></script><img src=x onerror={RAN}=4> {{{{ 7*7 }}}} {{% raw %}} [a](b) | ]]> "
    f'<!-- "q" \\u003c \\" \0 \ud800 --- {RIGHT}turned'
)
AUTHOR = f'Ann "<b>Bo</b>" {{x}} \\ & \u2028 {RIGHT}turned'
SUMMARY = f"Summary <script>{RAN}=5</script> {{{{ 7*7 }}}} ![a](https://elsewhere.invalid/s.png) \\"
TAG = f"tag <i>&amp;</i> {{{{ 7*7 }}}} \" ' , ] # {RIGHT}turned"
LABEL = (
    f"label </svg><script>{RAN}=6</script> {{{{ 7*7 }}}} ' + alert(1) + "
    f"' \" \\ \ud800 {RIGHT}turned"
)

BODY = """
{{ passage() }}

{{ ref("attention_map") }} is of {{ model.name | text }}.

{{ figure("attention_map") }}

{{ figure("bias_vs_position") }}

{{ figure("alignment_vs_magnitude") }}

{{ figure("attending_to_first_token") }}
"""

SEVERAL = """
{{ passage() }}

{{ figure("attention_map") }}

{{ figure("first_token_by_model") }}
"""

CONDITIONS = """
{% set compared = {"none": "without", "filler": "with"} %}
{{ figure("filler_lines", data=find.panels([(0, 0, 0)], compared)) }}

{{ figure("filler_effect", data=find.panels([(0, 0, 0)], compared)) }}
"""

PROMPTS = {"title": TITLE, "source": SUMMARY, "licence": "<b>CC0</b>", "language": "en"}


def model(folder, seed=7):
    """A tiny random model whose vocabulary has all of `TOKENS`; returns its folder."""
    tokenizer = byte_level_tokenizer()
    tokenizer.add_tokens([AddedToken(each, normalized=False) for each in TOKENS])
    size = {"vocab_size": len(tokenizer), "num_hidden_layers": 2}
    random_falcon(seed, **size).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def article(body, **front):
    """The text of an article with hostile front matter."""
    front = {
        "title": TITLE,
        "date": "@",
        "author": AUTHOR,
        "summary": SUMMARY,
        "tags": [TAG, "plain"],
        **front,
    }
    written = yaml.safe_dump(front, allow_unicode=False, sort_keys=False)
    return f"---\n{re.sub('@', '2026-11-20', written.replace(repr('@'), '@'), count=1)}---\n{body}"


def project(folder):
    """A publication of three such articles; returns its folder."""
    made = copy_project(folder / "project", articles=False)
    one = model(folder / NAME)
    other = model(folder / f"other {NAME}", seed=8)
    (made / "passage.txt").write_text(PASSAGE, "utf-8")
    header = yaml.safe_dump(PROMPTS | {"system": TOKENS[0] + TOKENS[6]}, allow_unicode=False)
    questions = "\n\n".join(f"How many {TOKENS[n]} {TOKENS[n + 6]} are {n}?" for n in range(2))
    (made / "prompts.md").write_text(f"---\n{header}---\n{questions}\n", "utf-8")
    conditions = [
        {"name": "none", "label": f"Nothing {LABEL}"},
        {"name": "filler", "label": LABEL, "before": "question", "text": TOKENS[1], "times": 4},
    ]
    read = {"passage": "passage.txt", "corpus": "corpus.txt"}
    write_corpus(made)
    articles = {
        "hostile": article(BODY, model=str(one), **read),
        "several": article(SEVERAL, models=[str(one), str(other)], **read),
        "conditions": article(
            CONDITIONS,
            model=str(one),
            prompts="prompts.md",
            conditions=conditions,
            cover="filler_effect",
        ),
    }
    for name, text in articles.items():
        path = made / "templates" / "articles" / f"{name}.md.j2"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return made
