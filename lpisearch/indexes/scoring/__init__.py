"""Questions to an index: where they lie, what each document scores, and why."""
