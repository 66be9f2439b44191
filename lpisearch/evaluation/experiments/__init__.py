"""What is compared: collections, representations and measures, as resumable parts."""
