"""Findings as text and pictures: CSV, Markdown, HTML, plots."""
