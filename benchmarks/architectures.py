"""Every causal, masked and encoder architecture of the installed transformers: measured right?

    python -m benchmarks.architectures                   those without an outcome, some minutes
    python -m benchmarks.architectures --only Llama Bert those whose class has such a beginning
    python -m benchmarks.architectures --fresh           all again

Of each a tiny random model is made (its config with small sizes), saved to a folder with a small
tokenizer, loaded as any checkpoint, whole and layer by layer, and measured on a long text, a short
one, and the long one again; a head is encoded as a dataset and decoded. Probabilities are compared
with those of a model that transformers has just loaded from the same folder, with eager attention.
A process of its own does that, with a limit of time for each; outcomes stay in
`.cache/architectures.json`. A run without --only writes the table of the documentation. All of it
stands in one file because it is one program.
"""

import argparse
import json
import re
import selectors
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
CACHE = ROOT / ".cache" / "architectures.json"
TABLE = ROOT / "site_src/docs/explanation/architectures.md"
SECONDS = 90
"""For one architecture, before its process is ended."""
LONG, SHORT = 84, 20
"""Tokens of the two texts. The long one is beyond every window and block of the tiny configs."""
MOST_PARAMETERS = 60_000_000
LAYERS = 4

SIZES = {
    r"(\w+_)?vocab_size(_\w+)?|num_embeddings|\w+_vocab": 350,
    r"(\w+_)?(num|n)_?\w*layers?\w*|depth|num_blocks|n_layer": LAYERS,
    r"(\w+_)?(max_position|max_seq_len|max_source_pos|max_target_pos)\w*": 256,
    r"n_positions|seq_length|n_ctx|max_length": 256,
    r"(\w+_)?(num|n)_(key_value|kv)_heads?|multi_query_group_num|num_query_groups": 2,
    r"(\w+_)?(num|n)_?\w*heads?|\w*attention_heads": 4,
    r"(\w+_)?(head_dim|head_size)|d_kv|d_head|kv_channels|dim_head": 16,
    r"(\w+_)?(hidden_size|d_model|n_embd|embed_dim|dim_model|embedding_size)(_\w+)?": 64,
    r"(\w+_)?(hidden_dim|emb_dim|d_embed|projection_dim|model_dim)(_\w+)?|dim|width": 64,
    r"linear_(key|value)_head_dim": 64,
    r"(\w+_)?(intermediate_size|ffn_dim|d_ff|n_inner|dim_ff|ffn_hidden_size)(_\w+)?": 96,
    r"(\w+_)?(d_inner|hidden_size_mlp|mlp_dim|ff_dim)|shared_expert_\w+size": 96,
    r"(\w+_)?lora_rank|rank|o_lora_rank": 16,
    r"(\w+_)?(n|num)_?\w*experts?|moe_num_experts": 4,
    r"(num_)?experts_per_tok\w*|top_k|moe_topk|moe_k|num_selected_experts": 2,
    r"rotary_dim": 8,
    r"n_group|topk_group|n_groups|num_groups": 1,
    r"sliding_window\w*|\w*window_size|local_attention|attention_window": 16,
    r"chunk_length|\w*chunk_size|block_size": 16,
    r"image_size|input_size": 32,
    r"num_mel_bins": 16,
}
"""Names of numbers in configs -> how large they are in a tiny one, where the default is larger."""
FEW = dict(list(SIZES.items())[:4])
"""Where the others do not fit together."""
MISSING = {"head_dim": 16, "num_key_value_heads": 4, "num_experts_per_tok": 2}
"""What some configs leave out by default, and their models need."""


def classes():
    """Names of transformers' classes -> what they are for, "causal", "masked" or "encoder"."""
    from transformers.models.auto import modeling_auto as auto

    found, seen = {}, set()
    for kind, mapping in (
        ("causal", auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES),
        ("masked", auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES),
        ("base", auto.MODEL_MAPPING_NAMES),
    ):
        for model_type, name in mapping.items():
            if kind == "base" and model_type in seen:
                continue
            seen.add(model_type)
            for one in name if isinstance(name, tuple | list) else [name]:
                found.setdefault(one, kind)
    return found


def small(config_class, sizes, missing):
    """The keys of the smallest config of a class that keeps what is special about it."""
    default = config_class()
    stated, values = default.to_dict(), {}
    parts = getattr(config_class, "sub_configs", None) or {}
    ignored = getattr(config_class, "ignore_keys_at_rope_validation", ())
    for name, value in stated.items():
        if name in parts:
            if getattr(default, name, None) is not None:
                values[name] = small(type(getattr(default, name)), sizes, missing)
        elif name.endswith("token_id") and type(value) is int and value > 2:
            values[name] = 2
        elif type(value) is int:
            size = next((size for rule, size in sizes.items() if re.fullmatch(rule, name)), value)
            heads = stated.get("num_attention_heads"), stated.get("n_heads")
            size = 4 if size == 2 and "heads" in name and value in heads else size
            values |= {name: size} if size < value else {}
        elif value is None and name in missing:
            values[name] = missing[name]
        elif name == "attention_types":  # GPT-Neo's, a list of kinds and how often they come
            values[name] = [[["global", "local"], LAYERS // 2]]
        elif isinstance(value, dict) and "original_max_position_embeddings" in value:
            values[name] = value | {"original_max_position_embeddings": 128}
        elif name == "rope_parameters" and "mrope_section" in ignored:
            half = int(16 * value.get("partial_rotary_factor", 1.0)) // 2
            values[name] = value | {"mrope_section": [half // 4, half // 4, half - half // 4 * 2]}
    return values


def save_tiny(name, folder):
    """Save a tiny random model of a class of transformers, and a tokenizer.

    raises: what the last of several ways to choose sizes raised
    """
    import torch
    import transformers

    from report.families import randomise
    from tests.models.tiny_tokenizers import byte_level

    cls = getattr(transformers, name)
    for sizes, missing in ((SIZES, MISSING), (SIZES, {}), (FEW, MISSING), (FEW, {})):
        try:
            config = cls.config_class(**small(cls.config_class, sizes, missing))
            if hasattr(config, "is_decoder") and re.search("CausalLM|LMHead", name):
                config.is_decoder = True
            with torch.device("meta"):
                number = sum(one.numel() for one in cls._from_config(config).parameters())
            if number > MOST_PARAMETERS:
                raise ValueError(f"{number:,} parameters, its config is not made small")
            model = cls._from_config(config).float().eval()
            break
        except Exception as error:  # whatever a class raises over sizes that do not fit together
            reason = error
    else:
        raise reason
    randomise(model, 2.0, torch.Generator().manual_seed(0))
    model.save_pretrained(folder)
    byte_level().save_pretrained(folder)


def outcome(name):
    """What comes of one architecture: dict of "what" and "why"."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        try:
            save_tiny(name, folder)
        except Exception as error:
            return {"what": "not made", "why": _said(error)}
        return _measured(name, folder)


def _measured(name, folder):
    from report.datasets.formats import attention
    from report.datasets.write.attention import attention_datasets
    from report.errors import ReportError
    from report.models.load.load import load_model
    from report.models.measure.passage import measure_passage

    rng = np.random.default_rng(0)
    try:
        loaded = load_model(folder, announce=lambda _: None)
        ids = rng.integers(10, 250, min(LONG, loaded.identity["context"] or LONG)).tolist()
        texts = ids, ids[:SHORT], ids
        found = [measure_passage(loaded, text) for text in texts]
        for layer in range(len(found[0].factors)):
            for head in range(found[0].largest_targets.shape[1]):
                attention_datasets(found[0], layer, head)
        shard, *of_keys = (data for data, _ in attention_datasets(found[0], 0, 0))
        decoded = attention.decode(shard | {"keys": of_keys[0]} if of_keys else shard).probability
        off = np.abs(decoded - found[0].probability(0, 0)).max()
    except ReportError as error:
        return {"what": "refused", "why": str(error).replace(str(folder), "model")}
    except BaseException as error:
        return {"what": "failed", "why": _said(error), "trace": traceback.format_exc()}
    route = loaded.checked["capabilities"]["route"]
    terms = ", ".join(loaded.checked["capabilities"]["terms"])
    result = {"what": "measured", "route": route, "terms": terms, "decoded": float(off)}
    try:
        again = load_model(folder, announce=lambda _: None, layer_by_layer=True)
        parts = measure_passage(again, ids)
        result["layers"] = float(max(_apart(parts, found[0])))
    except ReportError as error:
        result["layers"] = str(error).replace(str(folder), "model")
    except BaseException as error:
        return {"what": "failed", "why": _said(error), "trace": traceback.format_exc()}
    try:
        result["eager"] = _eager(name, folder, texts, found)
    except BaseException as error:
        result["eager"] = _said(error)
    return result


def _apart(one, other):
    for layer in range(len(one.factors)):
        for head in range(one.largest_targets.shape[1]):
            yield np.abs(one.probability(layer, head) - other.probability(layer, head)).max()


def _eager(name, folder, texts, found):
    """Largest difference of a probability from a fresh eager model; or why there is none."""
    import torch
    import transformers

    cls = getattr(transformers, name)
    largest = 0.0
    for token_ids, measured in zip(texts, found, strict=True):
        model = cls.from_pretrained(folder, attn_implementation="eager").eval()
        with torch.no_grad():
            out = model(input_ids=torch.tensor([token_ids]), output_attentions=True)
        given = getattr(out, "attentions", None)
        given = [one for one in given or () if one is not None]
        if len(given) != len(measured.factors):
            return f"eager gives {len(given)} of {len(measured.factors)} layers"
        for layer, of_layer in enumerate(given):
            for head, expected in enumerate(of_layer[0].double().numpy()):
                probability = measured.probability(layer, head)
                if measured.factors[layer].sink is not None and expected.sum(1).min() > 0.999:
                    probability = probability / probability.sum(1, keepdims=True)  # without sinks
                largest = max(largest, float(np.abs(probability - expected).max()))
    return largest


def _said(error):
    lines = " ".join(line.strip() for line in str(error).splitlines())
    return f"{type(error).__name__}: {lines[:300]}"


def work():
    """Read names, one a line, and print an outcome of each as JSON."""
    import os
    import warnings

    import torch
    from transformers.utils import logging

    warnings.simplefilter("ignore")
    logging.set_verbosity(logging.CRITICAL)
    torch.set_num_threads(1)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        begun = time.monotonic()
        result = outcome(line.strip()) | {"seconds": round(time.monotonic() - begun, 1)}
        print(json.dumps(result), file=answers, flush=True)


def outcomes(names):
    """Yield (name, outcome) of each name; a process that ends, or takes too long, is begun anew."""
    process = None
    for name in names:
        if process is None:
            process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.architectures", "--worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=ROOT,
                text=True,
            )
        process.stdin.write(name + "\n")
        process.stdin.flush()
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            line = process.stdout.readline() if ready.select(SECONDS) else ""
        if not line:
            process.kill()
            process.wait()
            yield (
                name,
                {"what": "failed", "why": f"no answer within {SECONDS} s: {process.returncode}"},
            )
            process = None
            continue
        yield name, json.loads(line)
    if process is not None:
        process.stdin.close()
        process.wait()


PAGE = """---
title: Architectures
description: Which classes of transformers are measured, and why others are refused.
search: {{boost: 0.1}}
---

# Architectures

Every causal, masked and encoder class of transformers {version} was made with small sizes and
random weights, saved, and measured like any checkpoint. `make architectures` in
[a copy of the program](../how-to/install.md#in-a-copy-of-the-program) does it and writes this page:
a text of {long} tokens, one of {short}, and the first again, each compared with a freshly
loaded model whose attention is eager.

| | classes |
| --- | ---: |
{counts}

{sections}
"""
KINDS = {
    "equal": "Measured, equal to eager",
    "otherwise": "Measured, and eager differs or gives nothing",
    "refused": "Refused, in one sentence",
    "failed": "Failed",
    "not made": "Not tried",
}
BY_KIND = {
    "equal": "No probability differs by more than {limit:.0e}, which rounding explains.",
    "otherwise": "Compared with the untouched model's own output by the self-check.",
    "refused": "What the sentence says of the class is left out.",
    "failed": "",
    "not made": "No small model of these could be made from the defaults of their config.",
}


def limit() -> float:
    """The largest difference of a probability from eager attention that rounding explains."""
    from report.measurements.precision import tolerance

    return tolerance(10_000, 10)  # terms summed in four tiny layers, and the size of scores


def page(known):
    """The page of the documentation, from the outcomes of all classes."""
    import transformers

    groups = {kind: {} for kind in KINDS}
    for name, result in sorted(known.items()):
        eager = result.get("eager")
        kind = result["what"]
        if kind == "measured":
            kind = "equal" if isinstance(eager, float) and eager <= limit() else "otherwise"
        why = "" if kind == "equal" else _short(result.get("why", eager), name)
        groups[kind].setdefault(why, []).append(name)
    numbers = {kind: sum(map(len, reasons.values())) for kind, reasons in groups.items()}
    counts = "\n".join(f"| {KINDS[kind]} | {number} |" for kind, number in numbers.items())
    sections = []
    for kind, reasons in groups.items():
        if not reasons:
            continue
        lines = [f"## {KINDS[kind]}", "", BY_KIND[kind].format(limit=limit()), ""]
        if kind == "equal":
            lines.append(", ".join(reasons[""]) + ".")
        else:
            lines += ["| why | classes |", "| --- | --- |"]
            lines += [f"| {why} | {', '.join(names)} |" for why, names in sorted(reasons.items())]
        sections.append("\n".join(lines))
    return PAGE.format(
        version=transformers.__version__,
        long=LONG,
        short=SHORT,
        counts=counts,
        sections="\n\n".join(sections),
    )


def _short(why, name):
    """A reason without the names of a class, so that classes of one reason stand together."""
    if isinstance(why, float):
        return f"a probability differs by {why:.2g}"
    why = re.sub(r"^(architecture '[^']*' \(\w+\)|model 'model')( is not supported)?:? ?", "", why)
    why = why.replace(f"{name}.forward()", "its forward").replace(name, "its class")
    why = re.sub(
        r"\. The model is unchanged.*|; measured are.*|it is not supported, please.*", "", why
    )
    why = re.sub(r"[|`<>*_\[\]\\]", lambda found: "\\" + found[0], why)
    return why[:200].strip(" ;:")


def main():
    """Try the architectures that are asked for, and say what came of each."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--what", help="only those whose last outcome was this")
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.worker:
        return work()
    known = json.loads(CACHE.read_text("utf-8")) if CACHE.is_file() else {}
    names = list(classes())
    if asked.only:
        names = [name for name in names if name.startswith(tuple(asked.only))]
    elif asked.what:
        names = [name for name in names if known.get(name, {}).get("what") == asked.what]
    elif not asked.fresh:
        names = [name for name in names if name not in known]
    CACHE.parent.mkdir(exist_ok=True)
    for name, result in outcomes(names):
        known[name] = result
        CACHE.write_text(json.dumps(known, indent=1), "utf-8")
        told = {key: value for key, value in result.items() if key not in ("what", "trace")}
        print(f"{name}: {result['what']} {told}", flush=True)
    if not asked.only and not asked.what:
        TABLE.write_text(page({name: known[name] for name in classes()}), "utf-8")
    return None


if __name__ == "__main__":
    main()
