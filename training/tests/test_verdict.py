"""A model is accepted when, and only when, all four numbers are within their limits."""

import copy

import pytest

from report.errors import ReportError
from training.acceptance import LIMITS
from training.verdict import remarks, require_accepted, verdict_table, verdicts


def best(value):
    return {"value": value, "layer": 2, "head": 5}


GOOD = {
    "weights_sha256": "0" * 64,
    "limits": LIMITS,
    "corpus": {"texts": 2, "tokens": 20, "first_token": best(0.5), "previous_token": best(0.8)},
    "induction": {"length": 64, "sequences": 8, **best(0.3)},
    "prompts": {"prompts": 32, "tokens": 320, "loss": 1.25},
    "held_out": {
        "file": "a.txt",
        "tokens": 100,
        "windows": 2,
        "validation_loss": 4.999,
        "trigram_loss": 5.5,
        "first_token": best(0.5),
        "previous_token": best(0.8),
    },
}


def changed(*path, to):
    result = copy.deepcopy(GOOD)
    part = result
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = to
    return result


def test_numbers_at_their_limits_are_accepted():
    assert [row["accepted"] for row in verdicts(GOOD)] == [True] * 4
    require_accepted(GOOD)  # else it would raise


SHORT = {
    ("held_out", "validation_loss"): (5.0, r"validation loss.* is 5\.000"),
    ("held_out", "first_token", "value"): (0.499, r"first token.* is 0\.499 \(L2H5\)"),
    ("held_out", "previous_token", "value"): (0.799, r"previous token.* is 0\.799"),
    ("induction", "value"): (0.299, r"induction.* is 0\.299.* wanted >= 0\.300"),
}


@pytest.mark.parametrize("path", SHORT)
def test_a_number_just_short_of_its_limit_is_refused(path):
    value, message = SHORT[path]
    result = changed(*path, to=value)
    assert [row["accepted"] for row in verdicts(result)].count(False) == 1
    with pytest.raises(ReportError, match=f"not accepted: .*{message}"):
        require_accepted(result)


def test_without_the_held_out_book_the_corpus_counts_and_the_loss_is_missed():
    result = changed("held_out", to=None)
    assert [row["accepted"] for row in verdicts(result)] == [True, True, True]
    with pytest.raises(ReportError, match="never been measured; give the folder of books"):
        require_accepted(result)
    result["corpus"]["first_token"]["value"] = 0.1
    with pytest.raises(ReportError, match=r"first token, corpus is 0\.100"):
        require_accepted(result)


def test_the_table_shows_every_number_and_its_verdict():
    header, *lines = verdict_table(changed("induction", "value", to=0.1)).splitlines()
    assert header.split() == ["number", "measured", "wanted", "accepted"]
    assert [line.split()[-1] for line in lines] == ["yes", "yes", "yes", "NO"]
    assert "4.999" in lines[0]
    assert "< 5.000 (trigram 5.500)" in lines[0]
    assert "0.500 (L2H5)" in lines[1]
    assert len({line.index(">=") for line in lines[1:]}) == 1


def test_the_corpus_and_what_was_only_recorded_are_told_beside_the_table():
    result = changed("corpus", "first_token", "value", to=0.75)
    corpus, prompts, recorded = remarks(result, books_read=False)
    assert "corpus that ships: first token 0.750 (L2H5), previous token 0.800 (L2H5)." in corpus
    assert prompts == "Loss on generated prompts with word problems: 1.250 nats per token."
    assert "as recorded; --texts measures them" in recorded
    assert remarks(result, books_read=True) == [corpus, prompts]
    assert remarks(changed("held_out", to=None), books_read=False) == [prompts]
