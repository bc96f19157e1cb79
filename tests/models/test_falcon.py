"""What is peculiar about Falcon, and which variants are refused."""

import numpy as np
import pytest
import torch

from report.errors import ReportError
from report.models import falcon
from tests.conftest import falcon_config, random_falcon
from tests.models.falcon_reference import reference


def test_attentions_of_transformers_still_have_alibi_twice(token_ids):
    """When this fails, transformers was mended: tell the reader so in models/falcon.py."""
    model = random_falcon()
    with torch.no_grad():
        output = model(torch.tensor([token_ids]), use_cache=False, output_attentions=True)
    for head, truth in enumerate(reference(model, token_ids).layers[0]):
        score = truth.content + truth.bias[None, :] + 2 * truth.position
        exponential = np.tril(np.exp(score))
        doubled = exponential / exponential.sum(1, keepdims=True)
        found = output.attentions[0][0, head].numpy()
        np.testing.assert_allclose(found, doubled, atol=1e-5)
        assert abs(found - truth.probability).max() > 1e-3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"alibi": False}, r"alibi=False \(rotary positions\)"),
        ({"multi_query": True}, "multi_query=True"),
        ({"new_decoder_architecture": True}, "new_decoder_architecture=True"),
        ({"num_kv_heads": 2}, "num_kv_heads different from num_attention_heads"),
    ],
)
def test_variants_that_are_not_measured_are_refused(changes, message):
    with pytest.raises(ReportError, match=f"this Falcon has .*{message}.*supported: alibi=True"):
        falcon.require_supported(falcon_config(**changes))


def test_the_variant_of_falcon_rw_is_supported():
    falcon.require_supported(falcon_config())
