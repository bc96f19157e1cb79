"""Files of literature that are damaged or made to harm: a sentence, or text that is no markup."""

import re
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from report.pages.bibliography import Citations, read_bibliography
from report.pages.render import _references
from tests.fuzz.profile import examples
from tests.fuzz.refusals import tried

pytestmark = pytest.mark.promise("bibliography")

PIECES = st.sampled_from(
    [
        *("{", "}", '"', "\\", "#", "@", ",", "=", "%", "$", "~", "&", "--", "\n", " and "),
        *("others", r"\"o", r"\'{\i}", r"\url{", r"\input{/etc/passwd}"),
        *(r"\newcommand{\x}{\x\x}\x", r"\verb|", "<b>", "<script>", "</a>", "&lt;"),
        *("](javascript:x)", "javascript:", "https://a.b/", "10.1000/", "\0", "\u202e", "\u2028"),
        *("\ufeff", "Müller, Jörg", "{van} der Berg, A., Jr, B., C"),
    ]
)
VALUES = st.lists(PIECES | st.text(max_size=6), max_size=6).map("".join)
FIELDS = ("title", "author", "year", "journal", "url", "doi", "eprint", "pages", "date")
ENTRIES = st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=6)


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags = []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))


def shown(text):
    """The list of an article that cites all entries of a file, and what stands in its prose."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "references.bib").write_text(text, "utf-8", newline="")
        article = Citations(folder)
        article.announced = read_bibliography(folder).keys
        if not article.announced:
            return "", ""
        study = SimpleNamespace(template=folder / "a" / "b" / "a.md.j2")
        words = str(article.cite(article.announced))
        return words, str(_references(study, SimpleNamespace(citations=article)))


@examples(60)
@given(ENTRIES.map(lambda entry: [f"{name} = {{{value}}}" for name, value in entry.items()]))
@example(["title = {" + "{" * 5000 + "}" * 5000 + "}"])
@example(["title = {a}", "author = {" + " and ".join(["{"] * 50) + "}"])
@example(["title = {\u202eabc}", "url = {https://a.b/?x=\u202e}"])
@example(["title = a # b # # c"])
def test_an_entry_becomes_text_or_is_refused(fields):
    found, _ = tried(shown, f"@misc{{key, {', '.join(fields or ['title = {T}'])}}}")
    if found is None:
        return
    words, listed = found
    reader = _Reader()
    reader.feed(words + listed)
    reader.close()
    assert {tag for tag, _ in reader.tags} <= {"a", "ul", "li", "em"}
    for _, attributes in reader.tags:
        assert attributes.keys() <= {"class", "href", "id"}
        assert re.match(r"https?://[\w.-]+|#ref:", attributes.get("href", "#ref:"))
    assert not re.search(r"[*_`\[\]]", re.sub("<[^>]*>", "", words))


@examples(40)
@given(st.lists(PIECES | st.sampled_from(["@misc{a, title={x}}", "@string{a = b}"])).map("".join))
def test_any_file_is_read_or_refused(text):
    tried(shown, text)
