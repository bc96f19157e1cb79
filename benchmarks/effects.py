"""What effects on a prediction cost: beside a plain forward pass, and beside one pass a head.

    python benchmarks/effects.py            SmolLM2 with 135 million parameters, about 2 minutes
    python benchmarks/effects.py --peers    and other tools beside it, see effect_peers.py
    python benchmarks/effects.py --device cuda
    python benchmarks/effects.py --tiny     a random model, to try it

Every way runs once in each round, in turns, so ratios hold where the machine is not quiet: given is
the fastest run over the fastest plain one, and in brackets the median of the rounds' ratios. The
plain pass computes the logits of all tokens, as the model does. Prints Markdown.
"""

import argparse
import platform
import statistics
import time

import effect_peers
import torch
import transformers

from report import families
from report.effects.ablation import ablation
from report.effects.anatomy import anatomy
from report.effects.asked import Asked
from report.effects.direct import direct_effects
from report.effects.origins import origins_of_heads
from report.effects.passing import logits_of
from report.effects.replacing import zeros
from report.effects.sentence import by_target, logit_lens
from report.effects.writes import writes_of_heads
from report.models.attention.structure import structure
from report.models.load.load import load_model

SENTENCE = "When Mary and John went to the store, John gave a drink to"
LENGTHS = (14, 170)
FLOOR = "plain forward, all logits"
GOALS = {"direct effects, last token": 1.3, "by target, last token": 1.3}
HOOKED = 27
"""Passes with a hook that are timed of a long text; as many take as long for any head."""


def ways(loaded, token_ids):
    """Name -> function without arguments."""
    last = [difference(token_ids)]
    every = [Asked(row, token) for row, token in enumerate(token_ids[1:])]
    layer = len(structure(loaded.model)) - 1
    return {
        FLOOR: lambda: logits_of(loaded.model, token_ids),
        "direct effects, last token": lambda: direct_effects(loaded, token_ids, last),
        "direct effects, every token": lambda: direct_effects(loaded, token_ids, every),
        "by target, last token": lambda: by_target(loaded, token_ids, last),
        "logit lens, last token": lambda: logit_lens(loaded, token_ids, [-1]),
        "what a head writes, all sources": lambda: writes_of_heads(loaded, token_ids, [(layer, 0)]),
        "origins of a head's scores, last layer": lambda: origins_of_heads(
            loaded, token_ids, layer, [0]
        ),
    }


def times(found, rounds):
    """Way -> seconds of every round, the plain pass first in each."""
    taken = {name: [] for name in found}
    for _ in range(rounds):
        for name, run in found.items():
            taken[name].append(seconds(run))
    return taken


def seconds(run):
    """How long a function takes, to the end of what it started on a GPU."""
    start = time.perf_counter()
    run()
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
    return time.perf_counter() - start


def ratio(mine, floor):
    """Fastest over fastest plain run, and the median ratio of the rounds, as text."""
    rounds = [one / other for one, other in zip(mine, floor, strict=True)]
    return f"{min(mine) / min(floor):.2f} ({statistics.median(rounds):.2f})"


def difference(token_ids):
    """What is asked: of the sentence, by how much " Mary" is above " John"."""
    return Asked(-1, token_ids[1], token_ids[3])


def by_hooks(loaded, token_ids, layers, loss=False):
    """The fall of a difference of logits, one plain forward pass a head: {(layer, head): float}.

    loss: whether every token's log probability is computed, too
    """
    asked, found = difference(token_ids), {}
    following = torch.as_tensor(token_ids[1:], device=loaded.model.device)[:, None]

    def read():
        logits = logits_of(loaded.model, token_ids)
        if loss:
            logits[:-1].gather(-1, following)[:, 0] - logits[:-1].logsumexp(-1)
        return float(logits[-1, asked.token] - logits[-1, asked.against])

    before = read()
    for layer in layers:
        part = structure(loaded.model)[layer]
        for head in range(part.heads):
            hook = part.output_projection.register_forward_pre_hook(_without(head, part.heads))
            found[layer, head] = before - read()
            hook.remove()
    return found


def _without(head, heads):
    def hook(_, args):
        context = args[0].clone()
        size = context.shape[-1] // heads
        context[..., head * size : (head + 1) * size] = 0
        return (context,)

    return hook


def print_ablation(loaded, token_ids):
    """A row of the table: ablating all heads, beside one plain forward pass a head."""
    parts = structure(loaded.model)
    heads = parts[0].heads
    asked, replaced = [difference(token_ids)], zeros(loaded)
    found = ablation(loaded, token_ids, asked, replaced).drop[0]  # which is timed below
    mine = seconds(lambda: ablation(loaded, token_ids, asked, replaced))
    losses = seconds(lambda: ablation(loaded, token_ids, asked, replaced, loss=True))
    few = len(parts) if len(token_ids) < 20 else min(len(parts), max(1, HOOKED // heads))
    layers = range(0, len(parts), len(parts) // few)[:few]
    theirs = []
    for loss in (False, True):
        start = time.perf_counter()
        slow = by_hooks(loaded, token_ids, layers, loss)
        theirs.append((time.perf_counter() - start) * found.size / (len(slow) + 1))
    off = max(abs(drop - found[place]) for place, drop in slow.items())
    print(
        f"| {len(token_ids)} | {mine:.1f} s | {theirs[0]:.1f} s | {theirs[0] / mine:.1f} x | "
        f"{losses:.1f} s | {theirs[1]:.1f} s | {theirs[1] / losses:.1f} x | "
        f"{off:.1e} of {abs(found).max():.1f} |",
        flush=True,
    )


def print_peers(loaded, token_ids, rounds):
    """A row a tool: its direct effects of all heads and its passes with one head ablated, beside
    ours and a plain pass; and how far its numbers are from ours."""
    asked = difference(token_ids)
    ours = direct_effects(loaded, token_ids, [asked]).heads[0]
    drops = by_hooks(loaded, token_ids, [0])
    before = direct_effects(loaded, token_ids, [asked]).logit[0]
    for peer in effect_peers.peers(loaded):
        own = token_ids, asked.token, asked.against
        theirs = peer.direct(*own).cpu().double().numpy()
        off = abs(theirs - ours).max()
        other = abs(before - peer.ablated(*own, 0, 1) - drops[0, 1])
        found = {
            FLOOR: lambda: logits_of(loaded.model, token_ids),
            "direct": lambda peer=peer, own=own: peer.direct(*own),
            "ablated": lambda peer=peer, own=own: peer.ablated(*own, 0, 1),
        }
        taken = times(found, rounds)
        cells = [ratio(taken[name], taken[FLOOR]) for name in ("direct", "ablated")]
        print(f"| {peer.name} | {len(token_ids)} | {cells[0]} | {off:.1e} | {cells[1]} | "
              f"{other:.1e} |", flush=True)  # fmt: skip


def texts(loaded, lengths):
    """Token ids of each length: the sentence, again and again."""
    ids = [3, 5, 7, 11, 13] if loaded.tokenizer is None else loaded.tokenizer(SENTENCE)["input_ids"]
    return [(ids * (length // len(ids) + 1))[:length] for length in lengths]


def main(arguments=None):
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tiny", action="store_true", help="a random model, to try it")
    parser.add_argument("--peers", action="store_true", help="other tools, if installed")
    parser.add_argument("--device", default="cpu", help="cpu (default) or cuda")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--lengths", type=int, nargs="+", default=LENGTHS)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    model = "smollm2-135m"
    loaded = families.loaded("llama") if options.tiny else load_model(model, device=options.device)
    once = seconds(lambda: anatomy(loaded))
    where = (
        torch.cuda.get_device_name() if options.device != "cpu" else f"{options.threads} threads"
    )
    print(
        f"{loaded.identity['name']}, {where}; Python "
        f"{platform.python_version()}, torch {torch.__version__}, transformers "
        f"{transformers.__version__}. Once a model: {once:.2f} s.\n"
    )
    columns = []
    for token_ids in texts(loaded, options.lengths):
        taken = times(ways(loaded, token_ids), options.rounds)
        floor = taken.pop(FLOOR)
        columns.append([f"{min(floor):.3f} s", *(ratio(one, floor) for one in taken.values())])
    print("| | " + " | ".join(f"T = {length}" for length in options.lengths) + " | goal |")
    print("| --- " * (len(options.lengths) + 2) + "|")
    for name, *cells in zip([FLOOR, *taken], *columns, strict=True):
        goal = f"<= {GOALS[name]}" if name in GOALS else ""
        print(f"| {name} | " + " | ".join(cells) + f" | {goal} |")
    print("\n| T | a difference | a pass a head | | all losses | a pass a head | | off at most |")
    print("| --- " * 8 + "|")
    for token_ids in texts(loaded, options.lengths):
        print_ablation(loaded, token_ids)
    print("\nGoal: at least 2 x, with equal numbers.")
    if options.peers:
        for tool in effect_peers.missing():
            print(f"\n{tool} is not installed here.")
        print("\n| | T | direct effects of all heads | off | a pass without a head | off |")
        print("| --- " * 6 + "|")
        for token_ids in texts(loaded, options.lengths):
            print_peers(loaded, token_ids, options.rounds)


if __name__ == "__main__":
    main()
