"""The tables and figures of five papers, reproduced: `python -m benchmarks.papers`."""
