"""Whether numbers are equal up to rounding, and no further: report/measurements/precision.py says
how far that is, and why."""

import numpy as np
import torch

from report.measurements.precision import tolerance


def require_close(found, expected, summed, size=None, dtype=None, what=""):
    """Fail unless two tensors or arrays differ by no more than rounding explains; NaN equals NaN.

    summed: how many terms are added up on the way to each number, of all sums together
    size: the sum of the terms' sizes; default: the largest number expected, and at least 1
    dtype: of torch, in which it was computed; default: that of a tensor `found`; of an array
        torch's own, which is float64 in `in_float64`
    what: said if it fails
    """
    if dtype is None:
        dtype = found.dtype if torch.is_tensor(found) else torch.get_default_dtype()
    found, expected = (_array(values) for values in (found, expected))
    if size is None:
        size = max(1.0, np.nanmax(np.abs(expected), initial=0.0))
    most = tolerance(summed, size, dtype)
    np.testing.assert_allclose(found, expected, rtol=0, atol=most, err_msg=what)


def _array(values):
    """Of a tensor or anything that numpy knows: float64, whatever needs a gradient or not."""
    values = values.detach().cpu().double() if torch.is_tensor(values) else values
    return np.asarray(values, np.float64)


def order_is_right(order, values, summed, size=1.0, dtype=None):
    """Whether indices name the largest of some values in descending order, ties up to rounding.

    order: int [count]; values: float [targets], as they truly are
    """
    most = tolerance(summed, size, dtype or torch.get_default_dtype())
    values = np.asarray(values, np.float64)
    largest = np.sort(values)[::-1][: len(order)]
    return len(set(order)) == len(order) and bool(np.all(np.abs(values[order] - largest) <= most))
