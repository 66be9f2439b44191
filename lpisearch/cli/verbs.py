"""The verbs: where each is, the names that lead to it, and examples, each of which a test types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Verb(NamedTuple):
    """A verb: its module, the function or Typer app in it, and one line for the list of verbs."""

    module: str
    name: str
    purpose: str


# In the order of a first visit; those before "index" are on the first page of the help.
VERBS: Mapping[str, Verb] = {
    "ingest": Verb("ingest", "ingest", "Add documents to the library, and index them."),
    "search": Verb("query", "query_app", "Search by meaning and by words."),
    "open": Verb("query", "open_", "Open a result of the last search."),
    "similar": Verb("query", "similar", "Find documents similar to a given one."),
    "serve": Verb("serve", "serve", "Search and browse in a web browser."),
    "status": Verb("upkeep", "status", "Show the contents and state of the library."),
    "config": Verb("upkeep", "config_app", "Show and change settings."),
    "index": Verb("index", "index", "Build the index for search by meaning."),
    "watch": Verb("ingest", "watch_app", "Ingest changes of files as they happen."),
    "classify": Verb("subjects", "classify", "Predict labels for text or files."),
    "label": Verb("docs", "label_app", "Add or remove labels by hand."),
    "topics": Verb("subjects", "topics", "List the main topics in the library."),
    "docs": Verb("docs", "app", "List, show, delete and export documents."),
    "doctor": Verb("upkeep", "doctor", "Check the library for damage and suggest repairs."),
    "db": Verb("upkeep", "app", "Upgrade, check and back up the library."),
    "evaluate": Verb("evaluate", "app", "Measure search and classification quality."),
    "mcp": Verb("serve", "mcp", "Serve the library to an assistant."),
    "skill": Verb("serve", "skill", "Print a SKILL.md for assistants."),
    "demo": Verb("serve", "demo", "Take a tour with the sample documents."),
}
FIRST = list(VERBS)[: list(VERBS).index("index")]
"""The verbs on the first page of the help."""
ALIASES: Mapping[str, tuple[str, ...]] = {
    "query": ("search",),
    "find": ("search",),
    "add": ("ingest",),
    "list": ("docs", "list"),
    "show": ("docs", "show"),
    "ui": ("serve", "--window"),
}
"""Other names that run a verb."""
_MEANT: Mapping[str, str] = {
    word: verb
    for verb, words in {
        "config": "settings set",
        "db backup": "backup",
        "demo": "tour",
        "docs delete": "delete remove rm",
        "docs export": "export",
        "docs list": "ls",
        "doctor": "check repair fsck",
        "index": "build reindex train",
        "ingest": "import load update",
        "label": "tag",
        "mcp": "assistant agent",
        "serve": "web server browse",
        "similar": "like",
        "status": "info",
    }.items()
    for word in words.split()
}


def meant_by(word: str) -> str:
    """Return the verb that a word which is none stands for, or is spelled like; or ""."""
    from difflib import get_close_matches

    names = {**{name: name for name in (*VERBS, *ALIASES)}, **_MEANT}
    close = get_close_matches(word.casefold(), names, 1)
    return names[close[0]] if close else ""


# By verb: what for, and what is typed after "lpisearch".
EXAMPLES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "ingest": (
        ("Add a folder; its subfolder names become labels", "ingest notes --labels folder"),
        ("Add mail and tables to a separate library", "ingest mail.mbox *.csv --db work.db"),
        ("Update changed files and remove deleted ones", "ingest notes --prune"),
    ),
    "watch": (("Keep the library fresh from each login on", "watch notes --install"),),
    "index": (
        ("Use the defaults", "index"),
        ("Build a second index with another method", "index --method lsi --dims 200 --name lsi"),
        ("Index only some documents", 'index --name mail --where "path=mail"'),
    ),
    "search": (
        ("Search in your own words", "search why does my bread stay flat"),
        ("Require a phrase and exclude a word", "search '\"rye bread\" -yeast'"),
        (
            "Search one folder from a month onwards, with explanations",
            "search tax --path 2024 --since 2024-05 --explain",
        ),
        (
            "Search titles, or for another word; newest first",
            "search 'title:tax OR fee' --sort date",
        ),
        ("Search interactively", "search"),
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
        ("Compare all ranking modes", "evaluate retrieval --queries q.tsv --qrels q.qrels"),
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
        ("Open a window of its own, and end with it", "serve --window"),
        (
            "Serve read-only to others, who need the token in LPISEARCH_TOKEN",
            "serve --host 0.0.0.0 --name notes.example --read-only",
        ),
    ),
    "mcp": (
        ("Serve one library, which can be read only", "mcp --db ~/notes/all.db"),
        ("Serve two libraries by name", "mcp --db notes=notes.db --db mail=~/mail.db"),
        ("Let the assistant label, and add files", "mcp --allow-writes --root ~/notes"),
    ),
    "skill": (("Teach an assistant that reads skills", "skill"),),
    "status": (
        ("Show the library in this folder", "status"),
        ("Print JSON for a script", "status --json"),
    ),
    "docs list": (
        ("List the first 20 documents with a label", "docs list --label sailing -n 20"),
        ("List documents in a folder", 'docs list --path "code docs"'),
    ),
    "docs show": (
        ("Show the text and details of a document", "docs show letters/june.txt"),
        ("Show a part of a long one", "docs show letters/june.txt --from 4000 --length 2000"),
    ),
    "docs delete": (
        ("Remove a document; its file stays on disk", "docs delete letters/june.txt"),
        ("Remove all documents of a folder", "docs delete --path ~/old-letters"),
    ),
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
