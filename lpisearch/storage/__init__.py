"""The store of a library: documents, labels, tokens, and the register of its indexes."""
