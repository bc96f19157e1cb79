"""Datasets of every sort whose numbers do not fit together are refused in one sentence.

One table: sound data, a damage, and what is said of it.
"""

import json
from copy import deepcopy
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest

from report.datasets import store
from report.datasets.formats import (
    answers,
    attention,
    columnar,
    conditions,
    generated,
    rice,
    sweep,
)
from report.datasets.formats.columnar import Column
from report.datasets.formats.visible import Visible
from report.datasets.read.conditions import decoded_received, verify_texts
from report.errors import ReportError
from report.kinds.conditions.answers import ModelAnswers
from report.kinds.prediction.data import PredictionData
from report.kinds.prediction.data import verify as verify_prediction
from report.kinds.sweep.data import opened
from report.kinds.table.data import TableData
from report.kinds.table.data import verify as verify_table
from tests import factored, made_answers
from tests.datasets.measured import conditions as statistics
from tests.figures import hand_made, hand_sweep, hand_table
from tests.made_prediction import generated_study


def head(kind):
    """A file of cells of a kind of model, on its own."""
    like = hand_made.KINDS[kind]
    return lambda *_: (hand_made.one_head(np.random.default_rng(2), 0, 1, like), attention.decode)


of_group = cache(lambda family: factored.datasets(factored.measured(family), 0))


def of_keys(*_):
    """A file of queries, with its keys."""
    return deepcopy(of_group("qwen2")[0]), attention.decode


def of_table(name):
    """A file of a study of a table."""

    def made(folder, _):
        study = hand_table.study(folder / "0123456789ab")

        def read(data):
            store.write(study.path / name, data)
            verify_table(TableData(study.path))

        return json.loads((study.path / name).read_text("utf-8")), read

    return made


def of_sweep(folder, _):
    """The table of a checkpoint."""
    model = hand_sweep.study(folder).models[0]

    def read(data):
        data["tables"]["heads"]["rows"] = len(columns(data, "heads")["layer"]["values"])
        (model.path / sweep.FILE).write_text(store.dumps(data))
        opened([model.path]).models[0].habit("previous_token")

    return store.read(model.path / sweep.FILE), read


def of_answers(folder, _):
    path = made_answers.write(folder / "a")
    about = store.read(path / "manifest.json")["answers"]
    return json.loads((path / answers.FILE).read_text()), lambda data: answers.decode(data, about)


def answers_of_a_folder(folder, _):
    path = made_answers.write(folder / "a") / answers.FILE

    def read(data):
        path.write_text(data["text"])
        _ = ModelAnswers(path.parent).texts

    return {"text": path.read_text()}, read


def of_prediction(_, fixture):
    return PredictionData(fixture("prediction").path), verify_prediction


def of_sentences(folder, fixture):
    data = generated_study(folder / "ab9876543210", fixture("falcon_folder"), number=2)
    read = lambda data: generated.decode(data["table"], data["about"], 3, 4)  # noqa: E731
    return {"table": data._read(generated.FILE), "about": deepcopy(data.about)}, read


def of_columns(*_):
    return columnar.encode({"t": {"a": Column("d", "u", [1, 2])}}), columnar.decode


def of_texts(*_):
    """The tokens of a study of conditions, and what a head gives to their positions."""
    found = statistics(3)
    both = {
        "texts": conditions.encode_texts(found),
        "received": conditions.encode_received(0, 1, found),
    }

    def read(data):
        verify_texts(data["texts"])
        decoded_received(data["received"], data["texts"])

    return json.loads(json.dumps(both)), read


def of_ranges(*_):
    ranges = {"first": [0, 0], "last": [0, 1]}
    return ranges, lambda data: Visible.of(SimpleNamespace(**data), 2)


def columns(data, table):
    return data["tables"][table]["columns"]


def put(*path):
    """A damage: the last of these in the place that the others lead to."""

    def damage(data):
        for name in path[:-2]:
            data = data[name]
        data[path[-2]] = path[-1]

    return damage


def lose(*path):
    """A damage: the last entry of a list, or an entry of a dict, is gone."""

    def damage(data):
        for name in path[:-1]:
            data = data[name]
        data[path[-1]].pop() if isinstance(data[path[-1]], list) else data.pop(path[-1])

    return damage


def lose_a_token(data):
    data.sentences[1]._told["tokens"].pop()


def a_head_less(data):
    for column in columns(data, "heads").values():
        column["values"].pop()


def other_column(data):
    of_questions = columns(data, "questions")
    of_questions["other"] = of_questions.pop("right.none.0")


FILLED = ("texts", "conditions", 1)
TOKENS = ("renderings", 0, "tokens")
NO_FIT = "its numbers do not fit together"
OUTSIDE = {"id": 3, "text": "x", "role": "value", "row": 3, "column": 0}
OTHER = {"id": 3, "text": "x", "role": "delimiter"}


DAMAGES = [
    (head("encoder"), lose("visible"), f"^layer 0 head 1: {NO_FIT}"),
    (head("encoder"), put("visible", "last", 3, 24), "token 3 sees targets 0 to 24"),
    (head("rotary"), lose("marker_count"), "layer 0 head 1: .*marker_count has 23 values"),
    (head("alibi_bias"), lose("terms", "bias", "values"), "term 'bias' has 23 values, not 24"),
    (head("alibi_bias"), lose("terms", "content", "near", "middles"), NO_FIT),
    (head("alibi_bias"), put("terms", "content", "step", 1e9), "term 'content' has a value beyond"),
    (of_keys, put("keys", "keys/0/0.json"), NO_FIT),
    (of_keys, put("queries", "middles", [3]), NO_FIT),
    (of_keys, put("queries", "bias", [0.5]), NO_FIT),
    (of_keys, put("targets", rice.write(np.full((1, 605), 41))), "a largest target is no token"),
    (
        of_table("renderings.json"),
        put(*TOKENS, 9, OUTSIDE),
        "^rendering 'csv': token 9 is a value of row 3, column 0, in a table of 3 rows and 2",
    ),
    (
        of_table("renderings.json"),
        put(*TOKENS, 9, OTHER),
        "^rendering 'csv' has other tokens than the passage$",
    ),
    (of_sweep, lose("tables", "heads", "columns", "induction"), f"{NO_FIT} .'induction'"),
    (of_sweep, a_head_less, NO_FIT),
    (of_answers, other_column, "table 'questions' has other columns than it should"),
    (answers_of_a_folder, put("text", "{}"), "is not the file that was measured"),
    (of_prediction, lose_a_token, r"text 1 has \d+ tokens"),
    (of_sentences, put("about", "sentences", 3), "table 'sentences' has 2 values, not 3"),
    (
        of_sentences,
        put("about", "ablated", {"zero": 2, "resample": 2}),
        "table 'heads' has other columns than it should: 'mean'",
    ),
    (
        of_columns,
        lose("tables", "t", "columns", "a", "values"),
        "table 't': column 'a' has 1 value",
    ),
    (of_texts, put(*FILLED, "name", "none"), "two conditions have one name: none"),
    (of_texts, lose(*FILLED, "positions"), "positions are not 9 from -1 to 10"),
    (of_texts, put(*FILLED, "positions", 8, 99), "positions are not 9 from -1 to"),
    (of_texts, put(*FILLED, "segments", 2, "last", 9), "'question' is not within"),
    (of_texts, put(*FILLED, "added", "note"), "no segment is called 'note'"),
    (of_texts, put(*FILLED, "counts", 10, 3), "counts must begin at .* prompts, 3"),
    (of_texts, put(*FILLED, "tokens", [*"abcdefghijkl"]), "12 tokens, 11 positions"),
    (of_texts, lose("received", "conditions", "none", "all"), "head 1, 'none': has mean, last"),
    (
        of_texts,
        lose("received", "conditions", "filler", "last", "standard_error"),
        "head 1, 'filler', last: not 11 values, and as many errors",
    ),
    (of_texts, lose("received", "conditions", "filler"), "has conditions none"),
    (of_ranges, put("last", [0, 2]), "token 1 sees targets 0 to 2, not a range within 0 to 1"),
    (of_ranges, lambda data: data.update(first=[0, 1], last=[0, 0]), "token 1 sees targets 1 to 0"),
    (of_ranges, put("first", [-1, 0]), "token 0 sees targets -1 to 0"),
    (of_ranges, put("first", [0]), "visible targets of 1 and 2 tokens, not of 2"),
]


@pytest.mark.parametrize(("sound", "damage", "said"), DAMAGES, ids=[said for *_, said in DAMAGES])
def test_what_does_not_fit_is_refused_in_one_sentence(tmp_path, request, sound, damage, said):
    data, read = sound(tmp_path, request.getfixturevalue)
    damage(data)
    with pytest.raises(ReportError, match=said) as refused:
        read(data)
    assert "\n" not in str(refused.value)


SOUND = (of_keys, of_table("renderings.json"), of_sweep, of_answers, of_prediction)
SOUND += (of_sentences, of_columns, of_texts, of_ranges, *map(head, hand_made.KINDS))


@pytest.mark.parametrize("sound", SOUND)
def test_what_is_written_is_sound(tmp_path, request, sound):
    data, read = sound(tmp_path, request.getfixturevalue)
    read(data)
