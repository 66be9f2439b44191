"""Files in, documents out: one module per format, and `READERS`, the one list of them."""
