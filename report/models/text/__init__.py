"""From text to tokens, segments and cells."""
