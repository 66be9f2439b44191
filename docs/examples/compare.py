"""Compare BM25, LSI, RLPI, OLPI and an encoder on a collection of ir_datasets.

python compare.py irds:vaswani [ENCODER]      (ENCODER as in docs/encoders.md)
"""

import sys

import pyterrier as pt

import lpisearch
import lpisearch.terrier as lt

name, encoder = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None
library, dataset = lpisearch.open("compare.db"), pt.get_dataset(name)
library.ingest(name)
systems = {"BM25": lt.Retriever(library, by="lexical", index="rlpi")}
for method in ("lsi", "rlpi", "olpi"):
    library.index(method, name=method)
    systems[method] = lt.Retriever(library, index=method, by="semantic")
    systems[f"BM25 + {method}"] = lt.Retriever(library, index=method)
if encoder:
    encoded = lpisearch.open("compare.db", encoder=encoder)
    encoded.index("rlpi", name="encoded")
    systems["BM25 + rlpi + encoder"] = lt.Retriever(encoded, index="encoded")
topics, qrels, measures = dataset.get_topics(), dataset.get_qrels(), ["map", "ndcg_cut_10"]
print(pt.Experiment([*systems.values()], topics, qrels, measures, names=[*systems], baseline=0))
