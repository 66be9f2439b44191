"""Files in, documents out: one module per family of formats; `registry` lists the readers."""
