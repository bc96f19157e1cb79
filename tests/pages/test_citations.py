"""Literature: what `references.bib` says, where an article cites it, and what is told before."""

import re
from types import SimpleNamespace

import pytest

from report.errors import ReportError
from report.pages.bibliography import KEY, Citations, read_bibliography, uncited
from report.pages.prose import check_prose
from report.pages.render import _references
from report.study.study import read_study
from tests.commands import ROOT
from tests.documents import blocks

pytestmark = pytest.mark.promise("bibliography")

LIBRARY = r"""% a comment
@string{tct = "Transformer Circuits Thread"}

@Article{xiao2023,
  Author  = {Xiao, Guangxuan and van der Berg, Anna and M{\"u}ller, J{\'o}zef and others},
  title   = "Efficient {S}treaming {\'E}tudes: 100% of $\alpha$ -- \emph{and} more",
  journal = tct # " 2",
  volume = 7, number = {2}, pages = {10--12},
  doi = {https://doi.org/10.1000/a_(b)<c>},
}
@misc{qwen:2024/a, author = {{Qwen Team}}, title = {What Is {It}?}, year = 2024,
  eprint = {2401.00001v2}, archivePrefix = {arXiv}}
@misc{su-2021a, author = {Su, Jianlin and Lu, Yu}, title = {Second}, year = {2021}}
@misc{su-2021b, author = {Su, Jianlin and Lu, Yu}, title = {First}, date = {2021-04-20},
  url = {\url{https://example.org/~su?a=1\&b=%20}}}
@inproceedings{plain, title = {A title that has no author at all}, journal={arXiv preprint
  arXiv:1906.04341}}
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "references.bib").write_text(LIBRARY, "utf-8")
    return tmp_path


def test_an_entry_is_read_as_plain_text(folder):
    work = read_bibliography(folder).work("xiao2023")
    assert work.title == "Efficient Streaming Études: 100% of α – and more"
    assert [name.short for name in work.authors] == ["Xiao", "van der Berg", "Müller"]
    assert work.everybody == "Guangxuan Xiao, Anna van der Berg, Józef Müller and others"
    assert work.by == "Xiao et al."
    assert work.venue == "Transformer Circuits Thread 2 7(2), 10–12"
    assert work.address == "https://doi.org/10.1000/a_(b)%3Cc%3E"
    assert work.year == "n.d."


MANY = " and ".join(f"Name{n}, Ann" for n in range(12))


@pytest.mark.parametrize(
    ("key", "by", "venue", "address"),
    [
        ("qwen:2024/a", "Qwen Team", "arXiv 2401.00001v2", "https://arxiv.org/abs/2401.00001v2"),
        ("su-2021a", "Su and Lu", "", ""),
        ("su-2021b", "Su and Lu", "", "https://example.org/~su?a=1&b=%20"),
        ("plain", "“A title that has …”", "arXiv preprint arXiv:1906.04341", "1906.04341"),
        ("many", "Name0 et al.", "", ""),
    ],
)
def test_who_where_and_which_address(folder, key, by, venue, address):
    with (folder / "references.bib").open("a") as file:
        file.write(f"@misc{{many, title={{T}}, author={{{MANY}}}}}")
    work = read_bibliography(folder).work(key)
    assert (work.by, work.venue) == (by, venue)
    assert work.address in (address, f"https://arxiv.org/abs/{address}")
    assert key != "many" or work.everybody.endswith("Ann Name6, Ann Name7 and 4 others")


def cited(folder, *calls):
    """What calls of `cite` give, in one article; and its list."""
    counting, article = Citations(folder), Citations(folder)
    assert {counting.cite(*call) for call in calls} == {""}
    article.announced = counting.keys
    study = SimpleNamespace(template=folder / "a" / "b" / "a.md.j2")
    shown = [str(article.cite(*call)) for call in calls]
    return shown, str(_references(study, SimpleNamespace(citations=article)))


def test_works_are_linked_and_listed_once_by_author_and_year(folder):
    shown, listed = cited(
        folder, (["su-2021a"],), (["xiao2023", "su-2021b"],), (["xiao2023"], "Xiao")
    )
    links = [re.findall('href="#([^"]*)">([^<]*)</a>', each) for each in shown]
    # the one called First comes first
    assert links == [
        [("ref:su-2021a", "Su and Lu, 2021b")],
        [("ref:xiao2023", "Xiao et al&#46;, n&#46;d&#46;"), ("ref:su-2021b", "Su and Lu, 2021a")],
        [("ref:xiao2023", "Xiao")],
    ]
    assert [each[:1] + each[-1:] for each in shown] == ["()", "()", "<>"]
    assert re.findall('<li id="([^"]*)">', listed) == [
        "ref:su-2021b",
        "ref:su-2021a",
        "ref:xiao2023",
    ]
    assert "\n" not in listed
    assert "2021b. <em>Second</em>.</li>" in listed


HOSTILE = "<script>alert(1)</script>*_[x](javascript:y)"


def test_nothing_in_an_entry_is_markup(tmp_path):
    entry = f"@misc{{a, author={{{HOSTILE}}}, title={{{HOSTILE}}}, publisher={{{HOSTILE}}}}}"
    (tmp_path / "references.bib").write_text(entry)
    (shown,), listed = cited(tmp_path, (["a"],))
    assert "<script" not in shown + listed
    assert not set("*_[") & set(re.sub("<[^>]*>", "", shown))  # it stands in Markdown


REFUSED = {
    "a script": ("url={javascript:alert(1)}", "url of 'a' 'javascript:alert(1)' is no address"),
    "a password": ("url={https://me:pw@example.org/}", "is no address of a web page"),
    "a quote": ('url={https://example.org/"onclick=x}', "is no address of a web page"),
    "a space": ("url={https://example.org/ x}", "is no address of a web page"),
    "a DOI": ("doi={11.1/x}", "doi of 'a' '11.1/x' is no DOI"),
    "a preprint": ("eprint={23.1}", "eprint of 'a' '23.1' is no number of arXiv"),
    "braces": ("publisher={" + "{" * 900 + "}" * 900 + "}", "cannot be read as LaTeX"),
    "length": ("publisher={" + "x" * 20_001 + "}", "has more than 20,000 characters"),
    "no text": ("publisher=a # b c", "is no text; put it in braces"),
}


@pytest.mark.parametrize(("field", "said"), REFUSED.values(), ids=REFUSED)
def test_a_field_that_cannot_be_shown_is_told_with_its_line(tmp_path, field, said):
    (tmp_path / "references.bib").write_text(
        f"@misc{{b, title={{B}}}}\n@misc{{a, title={{T}},\n{field}}}"
    )
    bibliography = read_bibliography(tmp_path)
    assert bibliography.work("b").title == "B"  # others can be cited all the same
    with pytest.raises(ReportError, match=re.escape(said)) as error:
        bibliography.work("a")
    assert "references.bib, line 3: " in str(error.value)


BROKEN = {
    "twice": ("@misc{a, title={x}}\n@misc{a, title={y}}", "line 2: there is an entry 'a' already"),
    "a field twice": ("@misc{a, title={x}, title={y}}", "line 1: the field 'title' comes twice"),
    "a brace": ("\n@misc{a, title = {x\n@misc{b, title={y}}", "line 2: this entry is not BibTeX"),
    "a key": ("@misc{a\u00e4<b>, title={x}}", "line 1: the key 'aä<b>' is a part of addresses"),
}


@pytest.mark.parametrize(("text", "said"), BROKEN.values(), ids=BROKEN)
def test_a_file_that_is_not_bibtex_is_told_with_its_line(tmp_path, text, said, capfd):
    (tmp_path / "references.bib").write_text(text, "utf-8")
    with pytest.raises(ReportError, match=re.escape(said)):
        read_bibliography(tmp_path)
    assert capfd.readouterr() == ("", "")


def test_bytes_that_are_no_text_and_links_are_refused(tmp_path):
    path = tmp_path / "references.bib"
    path.write_bytes(b"@misc{a, title={\xff}}")
    with pytest.raises(ReportError, match="cannot be read as UTF-8"):
        read_bibliography(tmp_path)
    path.unlink()
    path.symlink_to("/etc/hostname")
    with pytest.raises(ReportError, match="is a link"):
        read_bibliography(tmp_path)


FRONT = "---\ntitle: T\ndate: 2026-01-02\nauthor: A\nsummary: S\ncover: update_magnitude\n---\n"
PLACED = '{{ figure("update_magnitude") }}\n'
WRONG = {
    "unknown": ('{{ cite("xiao2024") }}', "line 9: cite('xiao2024'): references.bib has no such "),
    "a near key": ('{{ cite("xiao2024") }}', "did you mean 'xiao2023'"),
    "where nothing is shown": ('{% if 0 %}{{ cite("b") }}{% endif %}', "no such entry"),
    "in a macro": ('{% macro m() %}{{ cite("b") }}{% endmacro %}', "no such entry"),
    "no key": ("{{ cite() }}", "cite() wants keys of references.bib in quotes"),
    "a number": ("{{ cite(2023) }}", "cite() wants keys of references.bib in quotes"),
    "words for two": ('{{ cite("xiao2023", "plain", text="x") }}', "`text` stands for one work"),
    "an option": ('{{ cite("xiao2023", page=3) }}', "unexpected keyword argument 'page'"),
}


def checked(folder, body):
    path = folder / "a.md.j2"
    path.write_text(FRONT + PLACED + body)
    check_prose(read_study(path))


@pytest.mark.parametrize(("body", "said"), WRONG.values(), ids=WRONG)
def test_a_citation_that_cannot_be_is_told_before_a_model_runs(folder, body, said):
    with pytest.raises(ReportError, match=re.escape(said)) as error:
        checked(folder, body)
    assert "a.md.j2, line 9: " in str(error.value)


def test_keys_may_be_computed_and_a_missing_file_is_named(folder):
    checked(folder, '{% set key = "xiao2023" %}{{ cite(key) }}')
    (folder / "references.bib").unlink()
    checked(folder, "{{ cite(*study.tags) }}")
    with pytest.raises(ReportError, match=r"there is no .*references\.bib; write one"):
        checked(folder, '{{ cite("xiao2023") }}')


def test_what_no_article_names_is_uncited(folder):
    (folder / "a.md.j2").write_text("{{ cite(\"xiao2023\", 'plain') }}")
    (folder / "a").mkdir()
    (folder / "a" / "part.md.j2").write_text('{% if 0 %}{{ cite("su-2021a") }}{% endif %}')
    assert uncited(folder) == ["qwen:2024/a", "su-2021b"]


def test_the_articles_that_ship_cite_all_their_works():
    articles = ROOT / "templates" / "articles"
    works = [read_bibliography(articles).work(key) for key in read_bibliography(articles).keys]
    assert len(works) >= 7
    assert uncited(articles) == []
    for work in works:
        assert work.authors
        assert re.fullmatch(r"20\d\d", work.year)
        assert work.address.startswith("https://")
        assert KEY.fullmatch(work.key)


def test_the_example_of_the_documentation_can_be_cited(tmp_path):
    (example,) = blocks("how-to/articles", "bibtex")
    (tmp_path / "references.bib").write_text(example)
    (prose,) = (block for block in blocks("how-to/articles", "jinja") if "cite(" in block)
    checked(tmp_path, prose)
    assert read_bibliography(tmp_path).work("xiao2023").by == "Xiao et al."
