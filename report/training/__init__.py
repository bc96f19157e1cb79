"""How the embedded models were trained: recipe, books, acceptance, model card."""
