"""What several model cards say is said once, and nothing is lost."""

import re
from collections import Counter

from report.models.find.known import embedded_models
from report.pages import lists
from tests.commands import ROOT

ONE = """One model.

## Architecture

The same words.

## Text

Books:

- A
- B

Prompts as well.

## Training

As follows:

    one

## Licence

MIT.
"""
OTHER = ONE.replace("One", "Another").replace("    one", "    other").replace("- B", "- C")


def test_what_is_the_same_is_said_once():
    shared, (one, other) = lists.split([ONE, OTHER])
    assert shared == "## Text\n\nBooks:\n\n- A\n\nPrompts as well.\n\n## Licence\n\nMIT.\n"
    assert one == (
        "One model.\n\n## Architecture\n\nThe same words.\n\n## Text\n\n- B\n\n"
        "## Training\n\nAs follows:\n\n    one\n"
    )
    assert other.endswith("As follows:\n\n    other\n")
    assert "- C" in other


def test_one_card_shares_nothing():
    assert lists.split([ONE]) == ("", [ONE])
    assert lists.split([]) == ("", [])


def test_nothing_of_the_cards_that_ship_is_lost_and_the_books_are_listed_once():
    cards = [
        (ROOT / "report" / "embedded" / name / "README.md").read_text("utf-8")
        for name in embedded_models()
    ]
    cards = [re.split(r"\n---\n", card, maxsplit=1)[1] for card in cards]
    shared, own = lists.split(cards)
    for part in re.split(r"^## ", "\n".join([shared, *own]), flags=re.MULTILINE):
        assert part.count("```") % 2 == 0  # no command is cut in two
    for card, mine in zip(cards, own, strict=True):
        lost = Counter(card.split()) - Counter(shared.split()) - Counter(mine.split())
        assert not lost
    assert "Aesop" in shared
    assert not any("Aesop" in card for card in own)
    assert sum(map(len, own)) + len(shared) < 0.85 * sum(map(len, cards))
