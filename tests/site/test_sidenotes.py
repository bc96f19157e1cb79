"""Notes in the margin of wide windows: each is seen, beside its sentence, and covers nothing."""

import pytest

pytestmark = pytest.mark.browser

SEEN = """() => {
    const box = (each) => each.getBoundingClientRect();
    const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1
        && a.top < b.bottom - 1 && b.top < a.bottom - 1;
    const notes = [...document.querySelectorAll('.sidenote')].filter((each) => box(each).width);
    const others = document.querySelectorAll('.md-nav--secondary, .md-content__inner '
        + ':is(p, li, h1, h2, h3, figure, table, pre, summary)');
    const covered = notes.flatMap((note) => [...others, ...notes]
        .filter((each) => each !== note && !note.contains(each) && meet(box(note), box(each)))
        .map((each) => `${note.textContent} on ${each.tagName} ${each.textContent}`.slice(0, 160)));
    const far = notes.map((note) => box(note).top - box(note.previousElementSibling).top);
    const left = Math.min(...notes.map((note) => box(note).left));
    return { notes: notes.length, covered, far, left };
}"""


@pytest.mark.parametrize(
    ("article", "least"), [("how-heads-form", 3), ("attention-focus-plots", 2)]
)
def test_notes_stand_in_the_margin_of_wide_windows_alone(visit, article, least):
    page = visit(f"articles/{article}/", viewport={"width": 1280, "height": 800})
    noted = page.locator(".footnote li").count()
    for width in (1240, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        seen = page.evaluate(SEEN)
        assert seen["notes"] == noted >= least
        assert seen["covered"] == []
        assert seen["left"] >= 0
        assert min(seen["far"]) > -10  # not above the reference
    page.set_viewport_size({"width": 1100, "height": 800})
    assert page.evaluate(SEEN)["notes"] == 0
