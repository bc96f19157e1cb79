"""The trained models that ship inside the package, each with its settings of training in
`training.json`. The recipes are in `training/recipe.py`, beside the package."""
