"""What a model card says about an architecture, read from config.json and the weights' names."""

from typing import Any

Shapes = dict[str, list[int]]
"""The shape of each tensor, by its name."""

LIKE = {
    "falcon": ("tiiuae/falcon-rw-1b", 32),
    "qwen2": ("Qwen/Qwen2.5-Math-7B", 28),
    "gemma3_text": ("google/gemma-3-4b-it", 8),
}
"""`model_type` of a config -> a large model of that architecture, and its heads in a layer."""

PROJECTIONS = {"q_proj": "queries", "k_proj": "keys", "v_proj": "values", "o_proj": "outputs"}
LAYERS = {"sliding_attention": "sliding", "full_attention": "global"}
"""`layer_types` of a config -> what the card calls them."""


def like(config: dict[str, Any]) -> str:
    """The large model whose architecture it is, str."""
    return LIKE[config["model_type"]][0]


def same_heads(config: dict[str, Any]) -> bool:
    """Whether it has as many heads in a layer as that large model, bool."""
    return LIKE[config["model_type"]][1] == config["num_attention_heads"]


def tags(config: dict[str, Any]) -> list[str]:
    """Tags of the card's front matter, list of str: the family and how positions are told."""
    return [config["model_type"].removesuffix("_text"), "alibi" if has_alibi(config) else "rope"]


def rows(config: dict[str, Any], shapes: Shapes) -> list[tuple[str, str]]:
    """The rows of the card's table about the architecture, list of (name, text).

    config: config.json as a dict; shapes: name of each tensor -> its shape
    """
    facts = [
        ("class", f"`{config['architectures'][0]}`, {order(config)}, {biases(shapes)}"),
        ("norms", norms(config, shapes)),
        ("position", position(config)),
        ("layers x heads", heads(config)),
        ("hidden size", widths(config)),
    ]
    return facts + ([("windows", windows(config))] if windows(config) else [])


def has_alibi(config: dict[str, Any]) -> bool:
    """Whether positions come from ALiBi, bool; else they come from RoPE."""
    return bool(config.get("alibi"))


def order(config: dict[str, Any]) -> str:
    """How a layer is put together."""
    return (
        "attention and MLP in parallel"
        if config.get("parallel_attn")
        else "attention, then MLP (not in parallel)"
    )


def biases(shapes: Shapes) -> str:
    """Which linear maps of the layers add a bias, told by the tensors there are."""
    linear = [name for name, shape in shapes.items() if len(shape) == 2 and is_in_a_layer(name)]
    biased = [name for name in linear if name.removesuffix("weight") + "bias" in shapes]
    if len(biased) in (0, len(linear)):
        return "biases everywhere" if biased else "no biases"
    names = {name.split(".")[-2] for name in biased}
    known = [word for name, word in PROJECTIONS.items() if name in names]
    return f"biases on {joined(known + sorted(names - PROJECTIONS.keys()))} only"


def is_in_a_layer(name: str) -> bool:
    """Whether a tensor belongs to a layer: one part of its name is a number, bool."""
    return any(part.isdecimal() for part in name.split("."))


def norms(config: dict[str, Any], shapes: Shapes) -> str:
    """Where a layer norms, and how."""
    has = {part for name in shapes for part in name.split(".")}
    kind = "RMS norms" if "rms_norm_eps" in config else "layer norms"
    around = "pre_feedforward_layernorm" in has
    where = "before and after" if around else "before"
    also = "; one on every head's queries and keys" if "q_norm" in has else ""
    return f"{kind} {where} attention, {where} the MLP, and at the end{also}"


def position(config: dict[str, Any]) -> str:
    """How a head knows where a token is."""
    if has_alibi(config):
        return "ALiBi"
    rope = config["rope_parameters"]
    if "rope_theta" in rope:
        return f"RoPE, base {rope['rope_theta']:,.0f}"
    bases = {word: f"{rope[kind]['rope_theta']:,.0f}" for kind, word in LAYERS.items()}
    if len({*bases.values()}) == 1:
        return f"RoPE, base {min(bases.values())} in all layers"
    return f"RoPE, base {joined(f'{base} in {word} layers' for word, base in bases.items())}"


def heads(config: dict[str, Any]) -> str:
    """How many layers and heads there are, and what the heads of a layer share."""
    layers, count = config["num_hidden_layers"], config["num_attention_heads"]
    groups = config.get("num_key_value_heads") or config["num_kv_heads"]
    if groups == count:
        return f"{layers} x {count}, each head with its own queries, keys and values"
    return (
        f"{layers} x {count}, each head with its own queries; every {count // groups} heads share "
        f"keys and values ({groups} in a layer)"
    )


def widths(config: dict[str, Any]) -> str:
    """The sizes of hidden state, head and MLP."""
    hidden = config["hidden_size"]
    head = config.get("head_dim") or hidden // config["num_attention_heads"]
    inner = config.get("intermediate_size") or config["ffn_hidden_size"]
    gate = config.get("hidden_act") or config.get("hidden_activation")
    return f"{hidden} ({head} a head), MLP {inner}{f', gated ({gate})' if gate else ''}"


def windows(config: dict[str, Any]) -> str:
    """Which layers see how far back; "" where all of them see everything before."""
    kinds = config.get("layer_types") or []
    sliding, rest = (
        [str(i) for i, kind in enumerate(kinds) if kind == wanted] for wanted in LAYERS
    )
    if not sliding:
        return ""
    seen = f"the current token and the {config['sliding_window'] - 1} before it"
    return f"{layers(sliding)} see {seen}" + (f", {layers(rest)} everything" if rest else "")


def layers(numbers: list[str]) -> str:
    """ "layer 5", "layers 0 and 1"."""
    return f"layer{'s' * (len(numbers) > 1)} {joined(numbers)}"


def joined(words: list[str]) -> str:
    """ "a", "a and b", "a, b and c"."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
