"""The trained models that ship inside the package, and the recipe that trained them."""
