"""Which piece comes next, what is tried again, and when a text is given up; no cluster needed."""

import random
from types import SimpleNamespace

import numpy as np
import pytest

from report.inputs.corpora import Corpus
from report.inputs.specs import ClusterSpec
from report.measurements.head_statistics import ROWS, HeadStatistics
from report.measurements.tally import Tally
from report.measuring.cluster.scheduling import Schedule
from report.measuring.pieces import Result, Task

TEXTS = 23


class Nothing:
    """Keeps no batch, but remembers which were to be kept."""

    def __init__(self):
        self.put_in = []

    def get(self, texts):
        return None

    whole = get

    def put_whole(self, corpus, tally):
        pass

    def put(self, texts, tally):
        self.put_in.append([index for index, _ in texts])


def schedule(models=1, size=4, retries=2):
    inputs = SimpleNamespace(corpus=Corpus("", tuple(f"text {n}" for n in range(TEXTS))))
    spec = ClusterSpec(texts=size, retries=retries)
    tasks = {n: Task(None, "passage", inputs, {}, {}, Nothing(), spec) for n in range(models)}
    return Schedule(tasks, retries)


def result(piece, failing=()):
    """What a worker gives: each text counts once, in a place of its own."""
    tally = Tally(HeadStatistics.empty(1, TEXTS, ["itself"]))
    for index, _ in piece.texts:
        if index in failing:
            tally.failed[index] = "it is bad"
        else:
            tally.statistics.sums["itself"][ROWS, 0, index] += 1
            tally.statistics.rows += 2
            tally.statistics.texts += 1
            tally.tokens += 3
    return Result("own" if piece.per_model else None, tally, {"model": {}})


def run(schedule, answer, workers=3, seed=0):
    """Give pieces to workers and take them back in any order; answer: called with an attempt."""
    rng, held = random.Random(seed), {}
    while schedule.open:
        for worker in range(workers):
            if worker not in held and (attempt := schedule.next(None, {})):
                held[worker] = attempt
        answer(held.pop(rng.choice(list(held))))


def counted(schedule, number=0):
    tally = schedule.gathered[number].tally
    counts = tally.statistics.sums["itself"][ROWS, 0]
    return np.flatnonzero(counts == 1).tolist(), tally.statistics.texts


@pytest.mark.parametrize("seed", range(8))
def test_however_often_workers_are_lost_every_text_counts_once(seed):
    one, rng = schedule(retries=2), random.Random(seed)

    def answer(attempt):
        if rng.random() < 0.4:
            assert one.lost(attempt, "its machine went away", blamed=False)
        elif rng.random() < 0.3 and not attempt.piece.per_model and attempt.tried < 2:
            assert one.lost(attempt, "it died")
        else:
            one.done(attempt, result(attempt.piece))

    run(one, answer, seed=seed)
    assert counted(one) == (list(range(TEXTS)), TEXTS)
    assert one.progress == (TEXTS + 1, TEXTS + 1)
    assert one.left == 0
    assert not one.gathered[0].failed


def test_the_texts_that_are_left_are_counted_without_what_is_once_a_model():
    one = schedule(models=2)
    assert one.left == 2 * TEXTS
    once, first = one.next(0, {}), one.next(0, {})
    assert once.piece.per_model
    one.done(once, result(once.piece))
    assert one.left == 2 * TEXTS
    one.done(first, result(first.piece))
    assert one.left == 2 * TEXTS - len(first.piece.texts)


def test_a_text_that_kills_is_found_and_the_others_count():
    one, deaths = schedule(size=8, retries=1), []

    def answer(attempt):
        if any(index == 13 for index, _ in attempt.piece.texts):
            deaths.append(len(attempt.piece.texts))
            assert one.lost(attempt, "the worker was lost")
        else:
            one.done(attempt, result(attempt.piece))

    run(one, answer)
    assert deaths == [8, 8, 4, 2, 1, 1]  # twice whole, then once a half, a single one twice again
    assert one.gathered[0].failed == {13: "the worker was lost"}
    assert counted(one) == ([n for n in range(TEXTS) if n != 13], TEXTS - 1)
    assert one.gathered[0].task.kept.put_in == [list(range(8)), list(range(16, TEXTS))]


def test_only_texts_that_failed_are_tried_again_and_may_do_better():
    one, tries = schedule(retries=2), {5: 0, 9: 0}

    def answer(attempt):
        indices = [index for index, _ in attempt.piece.texts]
        for index in tries:
            tries[index] += index in indices
        # text 5 is always bad, text 9 only the first time
        bad = {5} | ({9} if tries[9] < 2 else set())
        if attempt.tried:
            assert set(indices) <= {5, 9}
        one.done(attempt, result(attempt.piece, bad))

    run(one, answer)
    assert tries == {5: 3, 9: 2}
    assert one.gathered[0].failed == {5: "it is bad"}
    assert counted(one) == ([n for n in range(TEXTS) if n != 5], TEXTS - 1)
    assert [4, 5, 6, 7] not in one.gathered[0].task.kept.put_in
    assert [8, 9, 10, 11] in one.gathered[0].task.kept.put_in


def test_what_is_measured_once_is_tried_again_and_then_ends_the_run():
    one = schedule(retries=1)
    first = one.next(None, {})
    assert first.piece.per_model
    assert not first.piece.texts
    assert one.lost(first, "it died")
    again = next(each for each in iter(lambda: one.next(None, {}), None) if each.piece.per_model)
    assert not one.lost(again, "it died")


def test_a_model_that_cannot_be_loaded_is_no_fault_of_the_texts():
    one = schedule(retries=0)
    one.next(None, {})
    assert not one.lost(one.next(None, {}), "no such folder", divisible=False)


def test_nothing_comes_back_twice():
    one = schedule()
    attempt = one.next(None, {})
    one.done(attempt, result(attempt.piece))
    with pytest.raises(AssertionError, match="a piece came back twice"):
        one.done(attempt, result(attempt.piece))
    with pytest.raises(AssertionError, match="a piece came back twice"):
        one.lost(attempt, "late")


def test_a_worker_stays_with_its_model_while_there_is_work():
    one = schedule(models=2, size=4)
    held = [one.next(1, {}).number for _ in range(8)]
    assert held == [1] * 7 + [0]  # six batches and what is measured once
    assert one.next(1, {0: 1}).number == 0


def test_workers_without_a_model_spread_over_models():
    one = schedule(models=3)
    workers, given = {}, []
    for _ in range(6):
        number = one.next(None, workers).number
        workers[number] = workers.get(number, 0) + 1
        given.append(number)
    assert given == [0, 1, 2, 0, 1, 2]


def test_texts_are_read_only_when_their_turn_comes():
    read = []

    class Long(Corpus):
        def _texts(self):
            for index in range(1000):
                read.append(index)
                yield index, "a text"

    inputs = SimpleNamespace(corpus=Long("", ()))
    inputs.corpus.__dict__["scanned"] = (1000, "")
    one = Schedule({0: Task(None, "passage", inputs, {}, {}, Nothing(), ClusterSpec(texts=10))}, 2)
    for _ in range(3):
        one.next(None, {})
    assert len(read) <= 30
