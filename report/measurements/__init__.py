"""What is computed from a head's tensors: pure functions, tensors in, tensors out; no model."""
