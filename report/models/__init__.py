"""From a name to the tensors of every head: find and load a checkpoint, measure its attention."""
