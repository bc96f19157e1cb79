"""Finds the figures, fills in what their files leave out, compiles and draws them."""
