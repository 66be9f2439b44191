"""`lpisearch evaluate` and its words: how good an index is on labelled documents."""
