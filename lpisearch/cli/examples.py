"""Examples shown in the help of each command; a test checks that they parse."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# By verb: what for, and what is typed after "lpisearch".
EXAMPLES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "ingest": (
        ("Add a folder; its subfolder names become labels", "ingest notes --labels folder"),
        ("Add mail and tables to a separate library", "ingest mail.mbox *.csv --db work.db"),
        ("Update changed files and remove deleted ones", "ingest notes --prune"),
    ),
    "index": (
        ("Use the defaults", "index"),
        ("Build a second index with another method", "index --method lsi --dims 200 --name lsi"),
        ("Index only some documents", 'index --name mail --where "path=mail"'),
    ),
    "query": (
        ("Search in your own words", "query why does my bread stay flat"),
        ("Require a phrase and exclude a word", "query '\"rye bread\" -yeast'"),
        (
            "Search one folder from a month onwards, with explanations",
            "query tax --path 2024 --since 2024-05 --explain",
        ),
        (
            "Search titles, or for another word; newest first",
            "query 'title:tax OR fee' --sort date",
        ),
        ("Search interactively", "query"),
    ),
    "similar": (
        ("Similar to a document in the library, by id or path", "similar letters/june.txt"),
        ("Similar to any other file", "similar ~/Downloads/offer.pdf -k 3"),
    ),
    "open": (
        ("Open the third result of the last search", "open 3"),
        ("Open a document by path", "open letters/june.txt"),
    ),
    "classify": (
        ("Classify a text", 'classify "my chain slips on the smallest sprocket"'),
        ("Classify files, showing three labels each", "classify inbox/*.eml -k 3"),
        ("Save predicted labels for unlabelled documents", "classify --write --path inbox"),
        ("Remove them again", "classify --undo --path inbox"),
    ),
    "label": (
        ("Add one label, remove another", "label letters/june.txt notes.md +family -draft"),
        ("Label every document in a folder", "label --path invoices +money"),
        ("Accept a predicted label", "label --predicted sailing +sailing"),
    ),
    "topics": (
        ("Choose the number of topics automatically", "topics"),
        ("Show twelve topics with more words each", "topics -n 12 --terms 15"),
        ("Show the dimensions of a sparse model", "topics --method spg"),
    ),
    "evaluate": (
        ("Run every evaluation the labels allow", "evaluate"),
        (
            "Evaluate ranking too, and write an HTML report",
            "evaluate --queries q.tsv --qrels q.qrels --report page",
        ),
    ),
    "evaluate similarity": (
        (
            "Average over the documents with each of 20 frequent words",
            "evaluate similarity --words 20",
        ),
    ),
    "evaluate classify": (
        ("Train on 5% and 20% of the documents", "evaluate classify --train 5%,20%"),
        ("Compare selected methods", "evaluate classify --methods terms,lsi,rlpi"),
    ),
    "evaluate cluster": (
        (
            "Cluster two to ten classes, 20 random draws each",
            "evaluate cluster --classes 2..10 --draws 20",
        ),
    ),
    "evaluate retrieval": (
        (
            "Compare all ranking modes",
            "evaluate retrieval --queries q.tsv --qrels q.qrels",
        ),
    ),
    "evaluate sweep": (
        (
            "Plot accuracy against the number of dimensions",
            "evaluate sweep classify --values 10,20,50,100",
        ),
        (
            "Plot clustering quality against the number of neighbours",
            "evaluate sweep cluster --over neighbours --values 5,15,30",
        ),
    ),
    "evaluate spectrum": (
        ("Show the eigenvalues used to choose the dimensions", "evaluate spectrum"),
    ),
    "serve": (
        ("Open in the browser, on this machine only", "serve --open"),
        ("Serve the sample documents only", "serve --demo"),
        ("Allow adding files from a folder", "serve --root ~/notes"),
        (
            "Serve read-only to others, who need the token in LPISEARCH_TOKEN",
            "serve --host 0.0.0.0 --name notes.example --read-only",
        ),
    ),
    "status": (
        ("Show the library in this folder", "status"),
        ("Print JSON for a script", "status --json"),
    ),
    "docs list": (
        ("List the first 20 documents with a label", "docs list --label sailing -n 20"),
        ("List documents in a folder", 'docs list --path "code docs"'),
    ),
    "docs show": (("Show the text and details of a document", "docs show letters/june.txt"),),
    "docs delete": (("Remove a document; its file stays on disk", "docs delete letters/june.txt"),),
    "docs export": (
        ("Export everything, to ingest elsewhere", "docs export all.jsonl"),
        ("Pipe some documents to another program", "docs export --label sailing | jq .title"),
    ),
    "doctor": (
        ("Check the library", "doctor"),
        ("Check the library and repair it", "doctor --repair"),
    ),
    "db upgrade": (("Upgrade before others open it read-only", "db upgrade"),),
    "db check": (("Check the schema", "db check"),),
    "db backup": (
        ("Write a dated copy next to the library", "db backup"),
        ("Write the copy somewhere else", "db backup /backup/notes.db"),
    ),
    "db vector": (("Get a query vector for SQL", "db vector morning swim"),),
    "db retokenise": (("Switch to another language", "db retokenise --language german"),),
    "config": (("Show all settings and their sources", "config"),),
    "config path": (("Show both config files", "config path"),),
    "config set": (
        ("Use one library from every folder", "config set library ~/notes/all.db"),
        ("Show 20 results by default", "config set k 20"),
        ("Change a setting for this library only", "config set index.method olpi --beside"),
    ),
    "config unset": (("Go back to the default", "config unset k"),),
    "demo": (("Keep the demo library", "demo ~/lpisearch-demo"),),
}
