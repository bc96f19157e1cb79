"""One module a schema: how numbers become JSON, and back."""
