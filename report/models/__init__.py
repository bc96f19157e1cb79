"""From a checkpoint to the tensors of every head: load, capture, kernel; one file per family."""
