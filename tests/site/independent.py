"""What plain transformers and dense tensors say about a head: nothing of report is used here.

The model runs unchanged; the input of each attention module is kept, and queries, keys, ALiBi,
scores and probabilities are computed from it, whole matrices at a time, in float64.
"""

import functools
import math
from pathlib import Path
from types import SimpleNamespace

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

PASSAGES = Path(__file__).parents[2] / "report" / "inputs" / "shipped" / "passages"


class Independent:
    """A Falcon checkpoint (ALiBi, fused qkv of one key head a head) that has read one passage."""

    def __init__(self, folder, passage):
        text = (PASSAGES / f"{passage}.md").read_text("utf-8").split("\n---\n", 1)[1].strip()
        self.tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self.ids = self.tokenizer(text)["input_ids"]
        self.model = AutoModelForCausalLM.from_pretrained(
            folder, local_files_only=True, dtype=torch.float32
        ).eval()
        config = self.model.config
        self.layers, self.heads = config.num_hidden_layers, config.num_attention_heads
        self.size = config.hidden_size // self.heads
        self.length = len(self.ids)
        self.hidden_states, self.inputs, self.outputs = [], [], []
        """Per layer: what enters it, what enters its attention, what its attention adds."""
        self._read()

    def _read(self):
        def keep(_module, arguments, output):
            self.inputs.append(arguments[0][0].double())
            self.outputs.append(output[0][0].double())

        def keep_hidden(_module, arguments):
            self.hidden_states.append(arguments[0][0].double())

        def keep_last(_module, arguments):
            self.last = arguments[0][0].double()

        blocks = self.model.transformer.h
        hooks = [block.self_attention.register_forward_hook(keep) for block in blocks]
        hooks += [block.register_forward_pre_hook(keep_hidden) for block in blocks]
        hooks.append(self.model.transformer.ln_f.register_forward_pre_hook(keep_last))
        with torch.no_grad():
            self.model(torch.tensor([self.ids]), use_cache=False)
        for hook in hooks:
            hook.remove()

    def attention_module(self, layer):
        """The layer's attention, weights in float32."""
        return self.model.transformer.h[layer].self_attention

    @functools.cache  # noqa: B019 (one object a test session)
    def head(self, layer, head):
        """content, bias, position [i, j], their sum score (the row constant left out), the
        probability, and context [i, head_dim]; all numpy float64, 0 above the diagonal."""
        fused = self.attention_module(layer).query_key_value
        weight = fused.weight.detach().double().view(self.heads, 3, self.size, -1)[head]
        biases = fused.bias.detach().double().view(self.heads, 3, self.size)[head]
        query, key, value = self.inputs[layer] @ weight.transpose(1, 2)  # without biases
        alibi = self._slope(head) * torch.arange(self.length).to(torch.bfloat16)
        alibi = alibi.double()
        scale = 1 / math.sqrt(self.size)
        whole = (query + biases[0]) @ (key + biases[1]).T + alibi
        future = torch.ones(self.length, self.length).triu(1).bool()
        probability = (whole * scale).masked_fill(future, -math.inf).softmax(1)
        parts = {
            "content": query @ key.T * scale,
            "bias": (key @ biases[0] * scale).expand(self.length, -1),
            "position": (alibi - alibi[:, None]) * scale,
        }
        found = {name: part.tril().numpy() for name, part in parts.items()}
        return SimpleNamespace(
            **found,
            score=sum(found.values()),
            probability=probability.numpy(),
            context=(probability @ (value + biases[2])).numpy(),
        )

    def effects(self, layer, head):
        """What a head adds to the logit of each next token less the mean of all logits, by target
        token: float64 [i, j] for every token but the last, without value biases."""
        norm, output = self.model.transformer.ln_f, self.model.lm_head.weight.detach().double()
        rows = self.last[:-1] - self.last[:-1].mean(1, keepdim=True)
        scale = torch.sqrt(rows.square().mean(1, keepdim=True) + norm.eps)
        towards = (output[self.ids[1:]] - output.mean(0)) * norm.weight.detach().double() / scale
        towards = (towards - towards.mean(1, keepdim=True)).numpy()
        weight = self.attention_module(layer).query_key_value.weight.detach().double()
        value = self.inputs[layer] @ weight.view(self.heads, 3, self.size, -1)[head, 2].T
        dense = self.attention_module(layer).dense.weight.detach().double()
        written = (value @ dense[:, head * self.size : (head + 1) * self.size].T).numpy()
        return self.head(layer, head).probability[:-1] * (towards @ written.T)

    def lost(self, layer, head, texts):
        """How much the loss over the passage rises when what a head hands to the output projection
        is its mean over all tokens of some texts but the first of each."""
        dense = self.attention_module(layer).dense
        own = slice(head * self.size, (head + 1) * self.size)
        seen = []
        hook = dense.register_forward_pre_hook(lambda _, given: seen.append(given[0][0, 1:, own]))
        for text in texts:
            self._loss(self.tokenizer(text)["input_ids"])
        hook.remove()
        mean = torch.cat(seen).mean(0)

        def replace(_, given):
            context = given[0].clone()
            context[..., own] = mean
            return (context,)

        before = self._loss(self.ids)
        hook = dense.register_forward_pre_hook(replace)
        after = self._loss(self.ids)
        hook.remove()
        return after - before

    def _loss(self, ids):
        with torch.no_grad():
            return float(self.model(torch.tensor([ids]), labels=torch.tensor([ids])).loss)

    def update(self, layer, head, token):
        """magnitude and alignment of what a head adds to the hidden state at a token."""
        columns = slice(head * self.size, (head + 1) * self.size)
        weight = self.attention_module(layer).dense.weight.detach().double()[:, columns].numpy()
        added = weight @ self.head(layer, head).context[token]
        hidden = self.hidden_states[layer][token].numpy()
        sizes = (added @ added) ** 0.5, (hidden @ hidden) ** 0.5
        return SimpleNamespace(
            magnitude=sizes[0] / sizes[1], alignment=added @ hidden / (sizes[0] * sizes[1])
        )

    def _slope(self, head):
        """Slope of ALiBi (Press et al.) in bfloat16 as Falcon has it.

        For n heads, n a power of two: 2^(-8/n), 2^(-16/n), …; other numbers fill up with every
        second slope of the next power of two.
        """
        power = 2 ** math.floor(math.log2(self.heads))
        if head < power:
            slope = 2.0 ** (-8 * (head + 1) / power)
        else:
            slope = 2.0 ** (-4 * (2 * (head - power) + 1) / power)
        return torch.tensor(slope).to(torch.bfloat16)

    def share_of_rows(self, layer, head, target):
        """Fraction of tokens 1, 2, … whose top target is `target`(token)."""
        largest = self.head(layer, head).probability.argmax(1)
        hits = [largest[token] == target(token) for token in range(1, self.length)]
        return sum(hits) / len(hits)
