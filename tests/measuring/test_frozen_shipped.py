"""The datasets that the repository itself has frozen: used as they are, small, and committed."""

import re
import subprocess
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch

from report.datasets import store
from report.datasets.formats.answers import LOG_STEP
from report.datasets.formats.composition import STEPS
from report.datasets.formats.generated import STEP
from report.datasets.read.study import open_study
from report.datasets.whole import require_measured
from report.effects.composition import composition
from report.effects.copying import TOP, copying
from report.effects.successor import succession
from report.errors import ReportError
from report.inputs import corpora
from report.inputs.generated import sentences
from report.kinds.atlas.composition import Composition
from report.kinds.atlas.copying import Copying
from report.kinds.atlas.findings import Findings
from report.kinds.atlas.measure_copying import MANY_KINDS, WORDS
from report.kinds.atlas.successor import Successor
from report.kinds.conditions import measure_answers as answers
from report.kinds.conditions.answers import ModelAnswers
from report.kinds.prediction import measure_generated as generated
from report.kinds.prediction.generated import GeneratedData
from report.measurements.precision import summed_by, tolerance
from report.measuring.frozen import kind_of
from report.measuring.plan import known_plans, plans
from report.measuring.run import read
from report.models.find.names import alternatives, find, is_here
from report.models.load.load import load_model
from report.models.measure.repetition import repetition
from report.models.text.frequent import frequent_words
from report.models.text.ordered import ordered_lists
from report.project import project
from report.study.front_matter import APART
from report.study.study import Study, read_study
from tests.commands import ROOT
from tests.effects.test_composition import llama
from tests.effects.test_successor import llama as effective

WHERE = project(ROOT)
PLACES = (0, 101, 299)
"""Questions that are asked again; the fillers are made for the first of all."""
MOST = 5_600_000
"""Bytes of all of them; a third is the texts that the heads of an atlas are shown with, and the
words that each writes for what it reads; a third is what all heads of a model give from sentence to
sentence, and to facts in a long text."""


@dataclass(frozen=True)
class Frozen:
    """The frozen datasets of a kind of an article."""

    name: str
    kind: str

    @property
    def study(self) -> Study:
        whole = read_study(WHERE.articles / f"{self.name}.md.j2")
        return next(one for one in (whole, *whole.parts) if one.front_matter.kind == self.kind)

    @property
    def folders(self):
        there = sorted((WHERE.frozen / self.name).iterdir())
        return [folder for folder in there if kind_of(folder) == self.kind]


ALL = sorted({(folder.parent.name, kind_of(folder)) for folder in WHERE.frozen.glob("*/*/")})
MEASURED = [Frozen(*each) for each in ALL if each[1] not in APART]
ANSWERS = [Frozen(*each) for each in ALL if each[1] == "answers"]
GENERATED = [Frozen(*each) for each in ALL if each[1] == "generated"]
COMPOSITIONS = [Frozen(*each) for each in ALL if each[1] == "composition"]
SUCCESSORS = [Frozen(*each) for each in ALL if each[1] == "successor"]
COPIES = [Frozen(*each) for each in ALL if each[1] == "copying"]


def each(frozen):
    return pytest.mark.parametrize("frozen", frozen, ids=lambda one: one.name)


def test_the_article_about_a_training_is_frozen():
    """Its checkpoints are no part of the repository."""
    assert "how-heads-form" in [one.name for one in MEASURED]


@each(MEASURED)
@pytest.mark.parametrize("force", [False, True])
def test_they_are_used_without_the_checkpoints(frozen, force):
    """Whatever has become of the code that measured them; of models that are here, weights and
    settings must be those that were measured."""
    study = frozen.study
    chosen = plans(study, WHERE, read(study), force=force, ask=False)
    wanted = study.front_matter.all_models
    assert len(chosen) == len(wanted)
    for plan, model in zip(chosen, wanted, strict=True):
        here = any(map(is_here, alternatives(model)))
        assert plan.state == ("measure" if force and here else "frozen"), plan


@each([*MEASURED, *ANSWERS, *GENERATED])
def test_no_article_is_older_than_what_it_shows(frozen):
    day = f"{frozen.study.front_matter.date}"
    assert max(store.read_manifest(folder)["date"] for folder in frozen.folders) <= day


@each([*MEASURED, *ANSWERS, *GENERATED, *COMPOSITIONS, *SUCCESSORS, *COPIES])
def test_every_folder_is_what_was_measured_and_one_of_the_article_s_models(frozen):
    for folder in frozen.folders:
        require_measured(folder)
    models = len(frozen.study.front_matter.all_models)
    assert len(frozen.folders) == models or frozen.kind in APART
    assert len(frozen.folders) <= models


@each([*ANSWERS, *GENERATED, *COMPOSITIONS, *SUCCESSORS, *COPIES])
def test_what_is_measured_apart_is_of_models_of_the_article(frozen):
    study = frozen.study
    found = [plan for plan in known_plans(study, WHERE, read(study)) if plan.state == "frozen"]
    assert sorted(plan.folder for plan in found) == frozen.folders


@each(ANSWERS)
def test_frozen_answers_are_of_enough_questions_and_lengths(frozen):
    for folder in frozen.folders:
        data = ModelAnswers(folder)
        assert len(data.texts) >= 300
        assert max(data.lengths) >= 110
        assert len(data.conditions) == 4
        assert data.attended is not None
        assert sum(facts["bytes"] for facts in data.manifest["files"].values()) < 200_000


@each(ANSWERS)
def test_a_part_of_the_frozen_answers_repeated_by_a_plain_loop_gives_the_same(frozen):
    """Three questions under three conditions, each alone, through the model's own forward pass."""
    for folder in frozen.folders:
        name = store.read(folder / "manifest.json")["model"]["name"]
        if not is_here(name):
            # where a person left it out, its numbers cannot be repeated
            pytest.skip(f"{name}, whose answers are frozen, is not installed (REAL=no)")
        data, loaded = ModelAnswers(folder), load_model(find(name))
        whole = answers.inputs(frozen.study.front_matter)
        few = replace(
            whole,
            questions=[whole.questions[place] for place in PLACES],
            answers=whole.answers.model_copy(update={"lengths": [10]}),
        )
        prompts = answers.asked_of(loaded, few, answers.chat_of(loaded, few))
        loaded.model.eval()
        for cell in [("none", 0), *((name, 10) for name in data.conditions)][::2]:
            logs, rights = data.values("log_probability", *cell), data.values("right", *cell)
            for place, prompt in zip(PLACES, prompts[cell], strict=True):
                log, size, lead = by_hand(loaded.model, prompt)
                summed = summed_by([loaded.model], len(prompt.token_ids))
                rounding = tolerance(summed, size, torch.float32)
                of_answer = 2 * len(prompt.answer) * rounding  # a logit, and the sum of all
                assert logs[place] == pytest.approx(log, abs=LOG_STEP / 2 + of_answer)
                if abs(lead) > 2 * rounding:  # else another machine may prefer another token
                    assert rights[place] == (lead > 0)


REPEATED = 16
"""Sentences that are measured again."""


@each(COMPOSITIONS)
def test_frozen_scores_are_those_of_whole_matrices_of_the_weights(frozen):
    """Of some pairs, those that read most among them; the weights by their names in Llama."""
    for folder in frozen.folders:
        data = Composition(folder)
        name = data.manifest["model"]["name"]
        if not is_here(name):
            # where a person left it out, its numbers cannot be repeated
            pytest.skip(f"{name}, whose heads are compared, is not installed (REAL=no)")
        loaded, step = load_model(find(name)), data.baseline / STEPS
        if data.reason:
            with pytest.raises(ReportError, match=re.escape(data.reason)):
                composition(loaded)
            continue
        if loaded.model.config.model_type != "llama":
            for by, values in composition(loaded).items():
                np.testing.assert_allclose(data.scores[by], values, atol=0.51 * step)
            continue
        layers = loaded.model.model.layers
        for by, scores in data.scores.items():
            *first, last = np.argsort(-np.nan_to_num(scores), axis=None)[[0, 1, 2, 3, 20000]]
            for place in (*first, last):
                *reader, below, other = map(int, np.unravel_index(place, scores.shape))
                writer = llama_head(layers[below], other)[2:]
                query, key, value, output = llama_head(layers[reader[0]], reader[1])
                read = {"q": query @ key.T, "k": key @ query.T, "v": value @ output}[by]
                written = writer[0] @ writer[1]
                expected = ((written @ read).norm() / written.norm() / read.norm()).item()
                assert scores[*reader, below, other] == pytest.approx(expected, abs=0.51 * step)


@each(SUCCESSORS)
def test_frozen_successors_are_those_of_products_of_the_weights(frozen):
    """Of the heads with the highest scores, and one more; the weights by their names in Llama. Of
    other models all are repeated."""
    for folder in frozen.folders:
        data = Successor(folder)
        name = data.manifest["model"]["name"]
        if not is_here(name):
            # where a person left it out, its numbers cannot be repeated
            pytest.skip(f"{name}, whose heads are tried on lists, is not installed (REAL=no)")
        loaded = load_model(find(name))
        lists = ordered_lists(loaded)
        assert data.about["lists"] == {each.name: len(each.token_ids) for each in lists}
        if loaded.model.config.model_type != "llama":
            again = succession(loaded, lists)
            require_scores(data, "successor", np.stack([again.right, again.by_chance]))
            continue
        model = loaded.model.model
        scores = data.of_heads("successor", "successor", "corpus")
        controls = data.of_heads("successor", "successor", "control")
        for place in np.argsort(-np.nan_to_num(scores), axis=None)[[0, 1, 2, 100]]:
            layer, head = divmod(int(place), data.heads)
            *_, value, output = llama_head(model.layers[layer], head)
            right = others = 0
            for each in lists:
                ids = list(each.token_ids)
                with torch.no_grad():
                    states = effective(loaded.model, ids).double()
                    towards = model.embed_tokens.weight[ids].double() * model.norm.weight.double()
                best = (states @ value @ output @ towards.T).argmax(1).tolist()
                right += sum(best[now] == then for now, then in each.steps)
                others += sum(best[now] != now for now, _ in each.steps) / (len(ids) - 1)
            steps = data.about["steps"]
            assert scores[layer, head] == pytest.approx(right / steps, abs=6e-5)
            assert controls[layer, head] == pytest.approx(others / steps, abs=6e-5)


@each(COPIES)
def test_frozen_copies_are_those_of_products_of_the_weights(frozen):
    """Of the heads that copy or suppress most, and one more; the weights by their names in Llama.
    Of other models all are repeated."""
    for folder in frozen.folders:
        data = Copying(folder)
        name = data.manifest["model"]["name"]
        if not is_here(name):
            # where a person left it out, its numbers cannot be repeated
            pytest.skip(f"{name}, whose heads are tried on words, is not installed (REAL=no)")
        loaded = load_model(find(name))
        texts = [text for _, text in corpora.specified(MANY_KINDS)]
        ids = frequent_words(loaded, texts, WORDS)
        assert data.about == {"words": len(ids), "tokens": TOP}
        if loaded.model.config.model_type != "llama":
            again = copying(loaded, ids)
            require_scores(data, "copying", again.copies)
            require_scores(data, "suppression", again.suppresses)
            continue
        model = loaded.model.model
        with torch.no_grad():
            states = (model.embed_tokens.weight[ids] + effective(loaded.model, ids)).double()
            towards = model.embed_tokens.weight.double() * model.norm.weight.double()
        for measure, largest in (("copying", True), ("suppression", False)):
            scores, controls = (
                data.of_heads(measure, measure, source) for source in ("corpus", "control")
            )
            known = np.flatnonzero(~np.isnan(scores))
            for place in known[np.argsort(-scores.ravel()[known])[[0, 1, 100]]]:
                layer, head = divmod(int(place), data.heads)
                *_, value, output = llama_head(model.layers[layer], head)
                logits = states @ value @ output @ towards.T
                top = logits.topk(TOP, -1, largest=largest).indices.tolist()
                own = sum(token in here for token, here in zip(ids, top, strict=True))
                others = sum(token in here for token in ids for here in top) - own
                pairs = len(ids) * (len(ids) - 1)
                # one word whose own token is as high as another may be counted otherwise
                assert scores[layer, head] == pytest.approx(own / len(ids), abs=1.1 / len(ids))
                assert controls[layer, head] == pytest.approx(others / pairs, abs=9 / pairs)
                for each in data.readings(layer, head):
                    here = logits[ids.index(each.word)]
                    unit = (here - here.mean()) / here.std(correction=0)
                    np.testing.assert_allclose(each.gained_by, unit[each.gained], atol=0.051)
                    np.testing.assert_allclose(each.lost_by, unit[each.lost], atol=0.051)
                    best = unit.topk(TOP).values
                    np.testing.assert_allclose(each.gained_by, best, atol=0.051)


def require_scores(data, measure, repeated):
    """That scores and controls are those repeated, float64 [2, steps or words, layers, heads]."""
    for source, values in zip(("corpus", "control"), repeated.mean(1), strict=True):
        once = 1.1 / repeated.shape[1]  # of a word, rounding may decide otherwise
        found = data.of_heads(measure, measure, source)
        np.testing.assert_allclose(found, values, atol=once + 6e-5)
        assert (np.isnan(values) | (abs(found - values) < 6e-5)).mean() > 0.9


def test_heads_of_the_model_that_ships_are_what_they_were():
    """In its frozen atlas: repeated, those that find repeats; and what is left of them and of the
    one that looks back on controls."""
    [frozen] = [one for one in MEASURED if one.name == "the-same-heads-three-times"]
    each = [Findings(open_study([folder])) for folder in frozen.folders]
    [of] = [one for one in each if one.data.name == "falcon-8x8"]
    assert of.strongest("to_previous_token").label == "L3H0"
    finders = of.at_least("induction", 0.5)
    assert finders[0].label == "L5H5"
    again = repetition(load_model(find("falcon-8x8")))
    for source, values in (("corpus", again.induction), ("control", again.unrepeated)):
        np.testing.assert_allclose(of.values("induction", source), values.mean(0), atol=2e-4)
    assert of.value("to_previous_token", of.head(3, 0), "control") > 0.75
    for head in finders:
        assert of.value("induction", head, "control") < 0.02
        shuffled = of.value("prefix_matching", head, "control")
        assert shuffled < 0.75 * of.value("prefix_matching", head)


def llama_head(layer, head):
    """W_Q, W_K, W_V [d, r] and W_O [r, d] of a head."""
    with torch.no_grad():
        return [*llama(layer, layer.self_attn.config.num_attention_heads)][head]


@each(GENERATED)
def test_frozen_sentences_are_enough_and_few_bytes(frozen):
    for folder in frozen.folders:
        data = GeneratedData(folder)
        assert data.number >= 200
        assert data.ablations == ["zero", "mean", "resample"]
        assert min(map(data.ablated, data.ablations)) >= 2
        assert sum(facts["bytes"] for facts in data.manifest["files"].values()) < 200_000


@each(GENERATED)
def test_a_part_of_the_frozen_sentences_repeated_by_a_plain_loop_gives_the_same(frozen):
    """Logits of some sentences; and of the head without which most is lost, what is lost of those
    that were ablated, through the model's own forward pass.

    Of all of them the mean is that of the dataset; of a part it is as near as a part of the whole
    lies, by four standard errors without replacement.
    """
    for folder in frozen.folders:
        data = GeneratedData(folder)
        name = data.manifest["model"]["name"]
        if not is_here(name):
            # where a person left it out, its numbers cannot be repeated
            pytest.skip(f"{name}, whose sentences are frozen, is not installed (REAL=no)")
        loaded = load_model(find(name), device="cpu")
        loaded.model.eval()
        about = data.about
        made = sentences(data.number, about["seed"], about["words"])
        assert data.texts == [one.text for one in made]
        texts = generated.texts_of(loaded, made)
        most = summed_by([loaded.model], max(len(text.token_ids) for text in texts))
        layer, head = divmod(int(data.mean("zero").argmax()), data.heads)
        drops, whole_number = [], data.ablated("zero")
        for place, text in enumerate(texts[: min(REPEATED, whole_number)]):
            whole, size = led_by(loaded.model, text)
            rounding = STEP / 2 + 2 * tolerance(most, size, torch.float32)
            assert data.logit[place] == pytest.approx(whole, abs=rounding)
            drops.append(whole - led_by(loaded.model, text, loaded.structure[layer], head)[0])
        lost, error = data.mean("zero")[layer, head], data.error("zero")[layer, head]
        spread = error * whole_number**0.5
        near = 4 * spread * (1 / len(drops) - 1 / whole_number) ** 0.5
        assert lost == pytest.approx(np.mean(drops), abs=2 * rounding + near)
        if len(drops) == whole_number:
            assert spread == pytest.approx(np.std(drops, ddof=1), abs=8 * rounding)


def led_by(model, text, part=None, head=None):
    """By how much the right name leads, and the size of the largest logit; without a head if one
    is given, whose context is set to zero."""

    def without(_, args):
        context = args[0].clone()
        context.unflatten(-1, (part.heads, -1))[..., head, :] = 0
        return (context,)

    hook = part and part.output_projection.register_forward_pre_hook(without)
    with torch.no_grad():
        row = model(torch.tensor([list(text.token_ids)])).logits[0, -1].double()
    if hook:
        hook.remove()
    return float(row[text.asked.token] - row[text.asked.against]), float(row.abs().max())


def by_hand(model, prompt):
    """Of the answer of a prompt, read alone: its log probability, the size of the largest logit,
    and by how much its tokens lead all others, at the place where they do so least."""
    with torch.no_grad():
        rows = model(torch.tensor([prompt.token_ids])).logits[0].double()
    log, leads = 0.0, []
    for place in prompt.answer:
        row, token = rows[place - 1], prompt.token_ids[place]
        log += float(row.log_softmax(-1)[token])
        others = torch.cat([row[:token], row[token + 1 :]])
        leads.append(float(row[token] - others.max()))
    return log, float(rows.abs().max()), min(leads)


def test_they_are_small_and_all_committed():
    files = [path for path in (ROOT / "frozen").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < MOST
    listed = subprocess.run(
        ["git", "ls-files", "frozen"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert set(listed.stdout.split()) == {path.relative_to(ROOT).as_posix() for path in files}
