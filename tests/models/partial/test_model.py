"""A model in part measures what the whole one does, bit for bit, and reads nothing else."""

import copy

import pytest
import torch
from safetensors.torch import load_file, save_file

from report import families
from report.errors import ReportError
from report.measurements import decomposition
from report.models.attention import rotation
from report.models.attention.running import Run
from report.models.find.weights import first_layers
from report.models.load.load import LoadedModel, load_model
from report.models.load.settings import TEXT_PART
from report.models.measure.passage import measure_corpus, measure_passage
from report.models.partial.model import open_partial
from report.models.partial.reader import open_checkpoint
from tests.models.checkpoints import require_same_measurements, save
from tests.models.recording import DenseRecorder

NUMBERS_ONLY = {
    "deepseek_v3/yarn-rope",
    "gpt2/scaled-by-layer",
    "llama/llama3-rope",
    "llama/yarn-rope",
    "mpt/clipped",
    "phi3/longrope",
}
"""Variants with the class, the tensors and the kinds of layers of their family's first: what is
read, and what layers are called with, is told by that one."""
PICTURES = "gemma3/multimodal"
"""It is measured by the class of its text part, in a test of its own."""
VARIANTS = [
    variant
    for family in families.names()
    if not families.read(family).get("unsupported")
    for variant in families.variants(family)
    if variant not in NUMBERS_ONLY | {PICTURES}
]
TEXTS = [[5, 17, 3, 60, 5, 44, 8, 71, 20, 9, 33], [80, 2, 80, 41], [7, 7, 30, 12, 64, 25, 1, 50]]


class Keeping(DenseRecorder):
    """Keeps what it is told of updates too."""

    def __init__(self):
        super().__init__()
        self.told = []

    def updates(self, layer, *tensors):
        """See `Recorder`."""
        self.told += [layer, *(tensor.clone() for tensor in tensors)]


def saved(name, folder, dtype=None, file_size="40KB", base=False):
    """A tiny model of the zoo, written in several files and loaded again."""
    model = families.tiny(name).to(dtype or torch.float32)
    (model.base_model if base else model).save_pretrained(folder, max_shard_size=file_size)
    return type(model).from_pretrained(folder, dtype=torch.float32)


def part_of(model, folder, **options):
    """The same model in part."""
    return open_partial(
        open_checkpoint(folder), type(model), copy.deepcopy(model.config), **options
    )


def loaded(model, layers, folder=None, partial=None):
    return LoadedModel(model, None, {"name": "tiny", "layers_measured": layers}, folder, partial)


def measured(model, partial=None, texts=TEXTS, layers=2):
    """Outputs of the last attention, and all that recorders were told, as one list of tensors."""
    recorders = [Keeping() for _ in texts]
    runs = [Run(text, recorder) for text, recorder in zip(texts, recorders, strict=True)]
    outputs = loaded(model, layers, partial=partial).run([*runs, Run(texts[0])])
    told = []
    for recorder in recorders:
        for factors in recorder.factors:
            told += [decomposition.score(factors), decomposition.probability(factors)]
            told += [term.values for term in decomposition.terms(factors)]
        told += [one for one in recorder.told if isinstance(one, torch.Tensor)]
    return outputs + told


def require_equal(found, expected):
    assert len(found) == len(expected) > 4
    for one, other in zip(found, expected, strict=True):
        assert one.dtype == other.dtype
        assert torch.equal(one.nan_to_num(), other.nan_to_num())


def shape_of(name):
    """What a checkpoint holds of a variant, and how its layers are told apart."""
    model = families.tiny(name)
    config = model.config.get_text_config(decoder=True)
    tensors = {**model.state_dict(), **dict(model.named_buffers())}
    shapes = {key: tensor.shape for key, tensor in tensors.items()}
    return type(model), shapes, getattr(config, "layer_types", None)


@pytest.mark.parametrize("name", sorted(NUMBERS_ONLY))
def test_a_variant_left_out_below_differs_from_its_family_in_numbers_only(name):
    assert shape_of(name) == shape_of(families.variants(name.partition("/")[0])[0])


@pytest.mark.parametrize("name", VARIANTS)
def test_every_family_in_part_is_the_whole_bit_for_bit(name, tmp_path):
    model = saved(name, tmp_path)
    expected = measured(model)
    partial = part_of(model, tmp_path, layers=2, layer_by_layer=True)
    require_equal(measured(partial.model, partial), expected)
    partial.layer_by_layer = False  # which it is opened with in the next test
    require_equal(measured(partial.model, partial), expected)
    # What is fetched from the hub for these layers, by names alone, is enough.
    needed = [partial.stored.get(name) for name in (partial.table, *partial.names)]
    fetched = first_layers(partial.checkpoint.files, 2)
    assert {name for stored in needed if stored for name in stored.names} <= set(fetched)


@pytest.mark.parametrize(
    ("name", "layers", "layer_by_layer"),
    [
        ("gemma3/text", 1, True),
        ("falcon/alibi", 3, False),
        ("gpt2/default", 1, False),
        ("mixtral", 3, True),
    ],
)
def test_one_layer_and_all_layers(name, layers, layer_by_layer, tmp_path):
    model = saved(name, tmp_path)
    partial = part_of(model, tmp_path, layers=layers, layer_by_layer=layer_by_layer)
    found = measured(partial.model, partial, layers=layers)
    require_equal(found, measured(model, layers=layers))


@pytest.mark.parametrize("layer_by_layer", [False, True])
def test_bfloat16_on_disk_is_float32_in_memory(layer_by_layer, tmp_path):
    model = saved("llama/default", tmp_path, dtype=torch.bfloat16)
    partial = part_of(model, tmp_path, layers=2, layer_by_layer=layer_by_layer)
    require_equal(measured(partial.model, partial), measured(model))


def test_weights_can_be_bfloat16_in_memory_too(tmp_path):
    model = type(saved("llama/default", tmp_path)).from_pretrained(tmp_path, dtype=torch.bfloat16)
    partial = part_of(model, tmp_path, layers=2, dtype=torch.bfloat16)
    require_equal(measured(partial.model, partial), measured(model))


def test_what_is_never_rounded_is_not_rounded(monkeypatch, tmp_path):
    model = saved("llama/default", tmp_path)
    monkeypatch.setattr(type(model), "_keep_in_fp32_modules_strict", ["input_layernorm"])
    empty = part_of(model, tmp_path, dtype=torch.bfloat16).model
    for name, parameter in empty.named_parameters():
        assert (parameter.dtype == torch.float32) == ("input_layernorm" in name)


@pytest.mark.parametrize("name", ["gpt2/default", "bert/encoder"])
def test_a_checkpoint_saved_without_a_head(name, tmp_path):
    model = saved(name, tmp_path, base=True)
    partial = part_of(model, tmp_path, layers=2)
    require_equal(measured(partial.model, partial), measured(model))


def test_an_embedding_that_is_stored_as_the_head_it_shares(tmp_path):
    saved("gpt2/default", tmp_path, file_size="1GB")
    path = tmp_path / "model.safetensors"
    tensors = load_file(path)
    tensors["lm_head.weight"] = tensors.pop("transformer.wte.weight")
    save_file(tensors, path, metadata={"format": "pt"})
    model = type(families.tiny("gpt2/default")).from_pretrained(tmp_path)
    partial = part_of(model, tmp_path, layers=2)
    require_equal(measured(partial.model, partial), measured(model))


@pytest.mark.parametrize("layer_by_layer", [False, True])
def test_the_text_part_of_a_model_that_takes_pictures(layer_by_layer, tmp_path):
    whole = saved("gemma3/multimodal", tmp_path)
    _, renamed = TEXT_PART[type(whole).__name__]
    expected_class = families.tiny("gemma3/text").__class__
    model = expected_class.from_pretrained(
        tmp_path, config=copy.deepcopy(whole.config.text_config), key_mapping=renamed
    )
    partial = part_of(
        model, tmp_path, layers=3, layer_by_layer=layer_by_layer, renamed=dict(renamed)
    )
    require_equal(measured(partial.model, partial, layers=3), measured(model, layers=3))


def test_only_what_was_planned_is_read_and_other_files_may_be_absent(tmp_path):
    model = saved("llama/default", tmp_path, dtype=torch.bfloat16, file_size="20KB")
    expected = measured(model, texts=TEXTS[:1])
    partial = part_of(model, tmp_path, layers=2)
    sizes = {name: tensor.numel() * 2 for name, tensor in model.state_dict().items()}
    rows = len(set(TEXTS[0])) * model.config.hidden_size * 2
    attention = {name for name in sizes if "layers.1.self_attn." in name}
    wanted = {name for name in sizes if "layers.0." in name} | attention
    wanted |= {name for name in sizes if "layers.1." in name and "norm" in name}
    planned = partial.planned(TEXTS[0])
    assert planned == {
        "tensors": len(wanted) + 1,
        "bytes": sum(sizes[name] for name in wanted) + rows,
        "of": sum(sizes.values()),
    }
    files = partial.checkpoint.files
    needed = {files[name] for name in wanted | {"model.embed_tokens.weight"}}
    absent = set(files.values()) - needed
    assert absent
    for file in absent:
        (tmp_path / file).unlink()
    require_equal(measured(partial.model, partial, texts=TEXTS[:1]), expected)
    # The text ran twice, with a recorder and without.
    assert partial.checkpoint.bytes_read == planned["bytes"] + rows


def test_weights_are_in_memory_while_they_are_needed_only(tmp_path):
    model = saved("llama/default", tmp_path)
    partial = part_of(model, tmp_path, layer_by_layer=True)
    seen = []

    class Looking(Keeping):
        def attention(self, layer, factors, value):
            real = [n for n, one in partial.model.named_parameters() if not one.is_meta]
            seen.append((layer, {name.split(".")[2] for name in real}))
            return super().attention(layer, factors, value)

    runs = [Run(text, Looking()) for text in TEXTS]
    loaded(partial.model, 3, partial=partial).run(runs)
    # Layer by layer, and of each layer text by text.
    assert seen == [(layer, {str(layer)}) for layer in (0, 1, 2) for _ in TEXTS]
    assert all(one.is_meta for one in partial.model.parameters())


def test_a_model_runs_again_and_again(tmp_path):
    model = saved("gpt2/default", tmp_path)
    for layer_by_layer in (False, True):
        partial = part_of(model, tmp_path, layers=2, layer_by_layer=layer_by_layer)
        for texts in (TEXTS, TEXTS[1:]):
            found = measured(partial.model, partial, texts=texts)
            require_equal(found, measured(model, texts=texts))


def test_progress_counts_texts(tmp_path):
    model = saved("llama/default", tmp_path)
    for layer_by_layer, expected in ((False, [1, 2, 3]), (True, [1, 2, 3])):
        partial = part_of(model, tmp_path, layer_by_layer=layer_by_layer)
        told = []
        runs = [Run(text) for text in TEXTS]
        loaded(partial.model, 3, partial=partial).run(runs, lambda *n, t=told: t.append(n))
        assert told == [(done, 3) for done in expected]


@pytest.mark.parametrize("layer_by_layer", [False, True])
def test_a_part_that_was_not_read_cannot_be_used(layer_by_layer, tmp_path):
    model = saved("llama/default", tmp_path)
    partial = part_of(model, tmp_path, layers=2, layer_by_layer=layer_by_layer)
    measured(partial.model, partial)
    ids = torch.tensor([TEXTS[0]])
    with pytest.raises(ReportError, match=r"embed_tokens.weight' is needed but not in memory"):
        partial.model(input_ids=ids)
    layer = 0 if layer_by_layer else 1  # of layer 1, the attention is in memory
    with (
        partial.rows(TEXTS[0]),
        pytest.raises(ReportError, match=rf"'model.layers.{layer}.*' is needed but not in memory"),
    ):
        partial.model(input_ids=ids)


def test_a_token_that_is_not_in_the_text_is_an_error(tmp_path):
    model = saved("llama/default", tmp_path)
    partial = part_of(model, tmp_path, layers=1)
    with partial.rows([4, 5, 6]), pytest.raises(ReportError, match="not in the text"):
        partial.model(input_ids=torch.tensor([[4, 9]]))


@pytest.mark.parametrize("layer_by_layer", [False, True])
def test_a_wrapper_whose_first_part_reads_pictures_is_refused(layer_by_layer, tmp_path):
    model = saved("gemma3/multimodal", tmp_path)
    partial = part_of(model, tmp_path, layers=2, layer_by_layer=layer_by_layer)
    with pytest.raises(ReportError, match=r"has other parts before .* load the whole model"):
        measured(partial.model, partial)


def test_nothing_is_left_when_a_run_fails(tmp_path):
    model = saved("llama/default", tmp_path)
    partial = part_of(model, tmp_path, layer_by_layer=True)

    class Failing(Keeping):
        def attention(self, layer, factors, value):
            if layer == 1:
                raise RuntimeError("no more")
            return super().attention(layer, factors, value)

    before = [dict(vars(module)) for module in partial.model.modules()]
    hooks = [len(module._forward_pre_hooks) for module in partial.model.modules()]
    with pytest.raises(ReportError, match="no more"):
        loaded(partial.model, 3, partial=partial).run([Run(TEXTS[0], Failing())])
    assert all(one.is_meta for one in partial.model.parameters())
    assert [set(vars(module)) for module in partial.model.modules()] == [set(one) for one in before]
    assert [len(module._forward_pre_hooks) for module in partial.model.modules()] == hooks
    require_equal(measured(partial.model, partial, layers=3), measured(model, layers=3))


PASSAGE = [3, 71, 8, 3, 44, 60, 2, 15, 71, 8, 33, 52]
CORPUS = [[9, 5, 9, 71, 30], [44, 60, 2, 15]]


@pytest.fixture(scope="module", params=["gemma3/multimodal", "bert/encoder"])
def folder(request, tmp_path_factory):
    return save(families.tiny(request.param), tmp_path_factory.mktemp("model"))


@pytest.mark.parametrize("options", [{"layers": 2}, {"layer_by_layer": True}])
def test_a_model_in_part_is_measured_as_the_whole(folder, options):
    whole, part = load_model(folder), load_model(folder, **options)
    assert whole.partial is None
    assert part.partial.layer_by_layer == options.get("layer_by_layer", False)
    count = part.measured_layers
    assert count == options.get("layers", 3)
    require_same_measurements(part, whole, PASSAGE)
    sums = measure_corpus(part, CORPUS), measure_corpus(whole, CORPUS)
    of_part, of_whole = (each.sums for each in sums)
    assert of_part
    for name, values in of_part.items():
        assert (values == of_whole[name][:, :count]).all(), name
    assert part.checked["layers_called"] == count
    names = set(whole.identity) - {"layers_measured"}
    assert {name: part.identity[name] for name in names} == {
        name: whole.identity[name] for name in names
    }


@pytest.mark.parametrize("options", [{"layers": 2}, {"layer_by_layer": True}])
def test_weights_that_are_read_again_are_not_asked_about_again(folder, options, monkeypatch):
    part, asked, learned = load_model(folder, **options), [], rotation.learned
    monkeypatch.setattr(rotation, "learned", lambda *args: asked.append(1) or learned(*args))
    measure_passage(part, PASSAGE)
    measure_passage(part, PASSAGE)
    assert len(asked) == part.measured_layers
