"""Commands for each verb, as its help shows them; a test holds that they can be typed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

# By verb: what for, and what is typed after "lpisearch".
EXAMPLES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "ingest": (
        ("A folder; the names of its folders become labels", "ingest notes --labels folder"),
        ("Mails and tables, into a library of their own", "ingest mail.mbox *.csv --db work.db"),
        ("Take in what changed, and let go what is gone", "ingest notes --prune"),
    ),
    "index": (
        ("All as the documents suggest it", "index"),
        ("Another method, beside the usual index", "index --method lsi --dims 200 --name lsi"),
        ("Of some documents only", 'index --name mail --where "path=mail"'),
    ),
    "query": (
        ("In your own words", "query why does my bread stay flat"),
        ("A phrase that must occur, a word that must not", "query '\"rye bread\" -yeast'"),
        (
            "Below one folder, since a month, and why",
            "query tax --path 2024 --since 2024-05 --explain",
        ),
        ("In the title, or one of two words; newest first", "query 'title:tax OR fee' --sort date"),
        ("Question after question", "query"),
    ),
    "similar": (
        ("To a document of the library, by id or path", "similar letters/june.txt"),
        ("To any other file", "similar ~/Downloads/offer.pdf -k 3"),
    ),
    "open": (
        ("The third hit of the last answer", "open 3"),
        ("A document", "open letters/june.txt"),
    ),
    "classify": (
        ("A text", 'classify "my chain slips on the smallest sprocket"'),
        ("Files, with the shares of three labels", "classify inbox/*.eml -k 3"),
        ("Keep what is predicted for documents without labels", "classify --write --path inbox"),
        ("Let it go again", "classify --undo --path inbox"),
    ),
    "label": (
        ("One label comes, another goes", "label letters/june.txt notes.md +family -draft"),
        ("All below a folder", "label --path invoices +money"),
        ("Accept what was predicted", "label --predicted sailing +sailing"),
    ),
    "topics": (
        ("As many as there are", "topics"),
        ("Twelve, with more words to each", "topics -n 12 --terms 15"),
        ("The dimensions of a sparse map", "topics --method spg"),
    ),
    "evaluate": (
        ("All that the labels allow", "evaluate"),
        (
            "Ranking too, as a page with plots",
            "evaluate --queries q.tsv --qrels q.qrels --report page",
        ),
    ),
    "evaluate similarity": (
        ("Pairs of documents, among those with frequent words", "evaluate similarity --words 20"),
    ),
    "evaluate classify": (
        ("Learning from 5 and 20 % of the documents", "evaluate classify --train 5%,20%"),
        ("Some representations", "evaluate classify --methods terms,lsi,rlpi"),
    ),
    "evaluate cluster": (
        (
            "Two to ten classes at a time, 20 draws each",
            "evaluate cluster --classes 2..10 --draws 20",
        ),
    ),
    "evaluate retrieval": (
        (
            "All ways to rank",
            "evaluate retrieval --queries q.tsv --qrels q.qrels",
        ),
    ),
    "evaluate sweep": (
        (
            "Accuracy along the number of dimensions",
            "evaluate sweep classify --values 10,20,50,100",
        ),
        (
            "Clusters along the neighbours",
            "evaluate sweep cluster --over neighbours --values 5,15,30",
        ),
    ),
    "evaluate spectrum": (
        ("The eigenvalues that a choice of dimensions is made by", "evaluate spectrum"),
    ),
    "serve": (
        ("In the browser, on this machine alone", "serve --open"),
        ("The sample corpus, with nothing else", "serve --demo"),
        ("Files below a folder may be brought in", "serve --root ~/notes"),
        (
            "To others, who show the token of LPISEARCH_TOKEN and change nothing",
            "serve --host 0.0.0.0 --name notes.example --read-only",
        ),
    ),
    "status": (
        ("What this folder's library holds", "status"),
        ("For a script", "status --json"),
    ),
    "docs list": (
        ("The first twenty of a label", "docs list --label sailing -n 20"),
        ("Below a folder", 'docs list --path "code docs"'),
    ),
    "docs show": (("Its text and what is known of it", "docs show letters/june.txt"),),
    "docs delete": (("Out of the library; the file stays", "docs delete letters/june.txt"),),
    "docs export": (
        ("All, to be ingested elsewhere", "docs export all.jsonl"),
        ("Some, to another program", "docs export --label sailing | jq .title"),
    ),
    "doctor": (
        ("Look", "doctor"),
        ("Look, and mend what can be mended", "doctor --repair"),
    ),
    "db upgrade": (("Before others open it to read", "db upgrade"),),
    "db check": (("Compare the tables", "db check"),),
    "db backup": (
        ("A dated copy beside it", "db backup"),
        ("Elsewhere", "db backup /backup/notes.db"),
    ),
    "db split": (
        ("In four shards", "db split /data/notes --shards 4"),
        ("Of another library", "db split /data/mail --db mail.db"),
    ),
    "db vector": (("For a question in SQL", "db vector morning swim"),),
    "db retokenise": (("In another language", "db retokenise --language german"),),
    "config": (("What holds, and from where", "config"),),
    "config path": (("The two files", "config path"),),
    "config set": (
        ("A library for every folder", "config set library ~/notes/all.db"),
        ("Twenty hits where -k is not given", "config set k 20"),
        ("For this library only", "config set index.method olpi --beside"),
    ),
    "config unset": (("Back to what it was", "config unset k"),),
    "demo": (("And keep its library", "demo ~/lpisearch-demo"),),
}
