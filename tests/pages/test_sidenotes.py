"""Notes stand beside their sentences too, once each, and nothing else of an article changes."""

import re

import pytest

from report.pages.render import with_sidenotes

ARTICLE = """\
<a href="#fig-1">Figure 1</a> shows rest.[^sink] It does so often.[^sink]

| Head | Share |
|---|---|
| 1[^table] | 2 |

In code, `[^sink]` is no note.

[^table]: In a table.

[^sink]: Xiao et al., *Efficient
Streaming Language Models* (2023).
[^long]: The first of two paragraphs.

    The second.

Another.[^long] And one more[^lost].
"""


def test_a_note_stands_after_its_first_reference_with_its_number_in_the_list():
    text = with_sidenotes(ARTICLE)
    assert re.findall(r"<small.*?</small>", text) == [
        '<small class="sidenote" data-search-exclude><span class="sidenote__number">2</span> '
        "Xiao et al., *Efficient Streaming Language Models* (2023).</small>"
    ]
    assert text.index("<small") == ARTICLE.index("[^sink]") + len("[^sink]")
    assert re.sub(r"<small.*?</small>", "", text) == ARTICLE


@pytest.mark.parametrize("text", ["", "No note.", "[^a]: Nobody refers to it.", "Lost.[^a]"])
def test_without_a_pair_nothing_changes(text):
    assert with_sidenotes(text) == text
