"""One file a family whose attention needs a forward pass of our own; see `protocol`."""
