"""A fitted index and the folder that holds it: a manifest and one .npy file for each array."""
