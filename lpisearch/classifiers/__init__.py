"""Train classifiers on labelled documents and predict label probabilities."""
