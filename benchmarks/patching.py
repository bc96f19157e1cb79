"""What patching every head at every token costs: beside a plain forward pass, and beside one pass
with a hook for each.

    python benchmarks/patching.py           SmolLM2 with 135 million parameters, about a minute
    python benchmarks/patching.py --tiny    a random model, to try it

Two prompts of 20 tokens that part a number of tokens before their end; both directions. Times are
those of the processor, so ratios hold where the machine is not quiet; every way runs once in each
round, in turns. Given is the fastest run over the fastest plain pass, which computes the logits of
all tokens. Of the plain way some passes are timed, and counted for all. Prints Markdown.
"""

import argparse
import platform
import time

import torch
import transformers

from report import families
from report.effects.asked import Asked
from report.effects.passing import logits_of
from report.effects.patching import pair, patched
from report.models.attention.structure import structure
from report.models.load.load import load_model

TOKENS = 20
CHANGED = (3, 5, 10)
"""Tokens from the first difference on."""
HOOKED = 9
"""Passes with a hook that are timed."""


def two(changed, vocabulary):
    """Token ids of two texts that part so many tokens before their end."""
    numbers = torch.randint(1, vocabulary, (TOKENS,), generator=torch.Generator().manual_seed(5))
    clean = numbers.tolist()
    corrupted = [*clean]
    corrupted[TOKENS - changed] = clean[TOKENS - changed] - 1
    return clean, corrupted


def hooked(loaded, token_ids, contexts):
    """One pass with the context of a head at a token put in, as one would write it."""
    part = structure(loaded.model)[0]
    size = contexts.shape[-1] // part.heads

    def put(_, args):
        given = args[0].clone()
        given[0, -1, :size] = contexts[-1, :size]
        return (given, *args[1:])

    with part.output_projection.register_forward_pre_hook(put):
        return logits_of(loaded.model, token_ids)


def seconds(run):
    """Of the processor."""
    start = time.process_time()
    run()
    return time.process_time() - start


def measured(loaded, changed, rounds):
    """Fastest times: a plain pass, all patches, one hooked pass; and how many of these it takes."""
    vocabulary = loaded.model.get_output_embeddings().weight.shape[0]
    clean, corrupted = two(changed, vocabulary)
    last = logits_of(loaded.model, clean)[-1] - logits_of(loaded.model, corrupted)[-1]
    asked = Asked(-1, int(last.argmax()), int(last.argmin()))  # which the two runs answer otherwise
    of = pair(loaded, clean, corrupted, asked)
    ways = (
        lambda: logits_of(loaded.model, clean),
        lambda: patched(pair(loaded, clean, corrupted, asked)),
        lambda: [hooked(loaded, clean, of.corrupted.contexts[0]) for _ in range(HOOKED)],
    )
    taken = [[seconds(way) for way in ways] for _ in range(rounds)]
    plain, all_of_them, some = (min(each) for each in zip(*taken, strict=True))
    parts = structure(loaded.model)
    number = 2 * sum(part.heads for part in parts) * (changed + 1)
    return plain, all_of_them, some / HOOKED, number


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tiny", action="store_true", help="a random model")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args(arguments)
    loaded = families.loaded("llama") if args.tiny else load_model("smollm2-135m")
    print(
        f"{loaded.identity['name']}, {TOKENS} tokens; {platform.machine()}, "
        f"{torch.get_num_threads()} threads, torch {torch.__version__}, transformers "
        f"{transformers.__version__}\n"
    )
    print("| Tokens from the difference on | plain pass | all patches | one pass each |")
    print("|---:|---:|---:|---:|")
    for changed in CHANGED:
        plain, mine, hook, number = measured(loaded, changed, args.rounds)
        print(
            f"| {changed} | {1000 * plain:.0f} ms | {mine / plain:.1f} | "
            f"{number * hook / plain:,.0f} ({number:,} passes) |",
            flush=True,
        )


if __name__ == "__main__":
    main()
