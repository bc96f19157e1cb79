"""What plain transformers says of a small model: eager attentions, and terms from its weights.

Nothing of report is used: the model runs with its eager attention, the input of each attention
module is kept, and content and bias are computed from it by the weights' own names.
"""

import torch
from transformers import AutoConfig, AutoTokenizer, models

CLASSES = {
    "llama": models.llama.LlamaForCausalLM,
    "qwen2": models.qwen2.Qwen2ForCausalLM,
    "gemma3": models.gemma3.Gemma3ForCausalLM,
    "gpt2": models.gpt2.GPT2LMHeadModel,
    "bert": models.bert.BertForMaskedLM,
    "gptj": models.gptj.GPTJForCausalLM,
}


class Eager:
    """One model that has read one text."""

    def __init__(self, kind, folder, text):
        self.kind = kind
        self.tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self.ids = self.tokenizer(text)["input_ids"]
        self.config = AutoConfig.from_pretrained(folder, local_files_only=True)
        self.model = CLASSES[kind].from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager", local_files_only=True
        )
        modules = [m for m in self.model.modules() if type(m).__name__.endswith("SelfAttention")]
        self.attention = modules or [
            m for m in self.model.modules() if type(m).__name__.endswith("Attention")
        ]
        self.inputs = []
        hooks = [
            module.register_forward_pre_hook(self._keep, with_kwargs=True)
            for module in self.attention
        ]
        with torch.no_grad():
            found = self.model.eval()(torch.tensor([self.ids]), output_attentions=True)
        for hook in hooks:
            hook.remove()
        self.probability = [layer[0].double().numpy() for layer in found.attentions]
        """Per layer, float64 [head, query, key]."""

    def _keep(self, module, arguments, named):
        self.inputs.append((arguments[0] if arguments else named["hidden_states"])[0])

    @torch.no_grad()
    def terms(self, layer, head):
        """content [query, key] and bias [key] of one head, numpy; bias 0 without one."""
        module, hidden = self.attention[layer], self.inputs[layer]
        size = self.size
        key_head = head * self.key_heads // self.config.num_attention_heads
        query, query_bias = _projected(*self._linear(module, "query"), hidden, head, size)
        key, _ = _projected(*self._linear(module, "key"), hidden, key_head, size)
        if self.kind == "gemma3":
            query, key = module.q_norm(query), module.k_norm(key)
        scale = size**-0.5
        if self.kind == "gemma3":
            scale = self.config.query_pre_attn_scalar**-0.5
        return (scale * query @ key.T).numpy(), (scale * key @ query_bias).numpy()

    @property
    def size(self):
        """Length of a query."""
        given = getattr(self.config, "head_dim", None)
        return given or self.config.hidden_size // self.config.num_attention_heads

    @property
    def key_heads(self):
        """Number of heads of keys."""
        return getattr(self.config, "num_key_value_heads", self.config.num_attention_heads)

    def _linear(self, module, which):
        """Weight [out, in] and bias [out] or None of the query or key projection."""
        if self.kind == "gpt2":
            part = slice(*{"query": (0, 1), "key": (1, 2)}[which])
            rows = slice(*(self.config.hidden_size * n for n in (part.start, part.stop)))
            return module.c_attn.weight.T[rows], module.c_attn.bias[rows]
        named = {"query": ("query", "q_proj"), "key": ("key", "k_proj")}[which]
        linear = next(getattr(module, name) for name in named if hasattr(module, name))
        return linear.weight, linear.bias


def _projected(weight, bias, hidden, head, size):
    rows = slice(head * size, (head + 1) * size)
    return hidden @ weight[rows].T, torch.zeros(size) if bias is None else bias[rows]
