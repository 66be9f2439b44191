"""Break a document's score down into its components.

The formula is that of fusion.py. A long document has the score of its best passage, and a tenth of
its own (units.py): the last leg.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.indexes.scoring.fusion import FEEDBACK_WEIGHT
from lpisearch.indexes.scoring.units import WHOLE_SHARE
from lpisearch.records import Leg

if TYPE_CHECKING:
    from lpisearch.indexes.scoring.engine import Engine
    from lpisearch.indexes.scoring.question import Question
    from lpisearch.indexes.scoring.scores import UnitScores


def legs_of(
    engine: Engine,
    question: Question,
    scored: UnitScores,
    place: int,
    *,
    feedback: bool = True,
) -> tuple[Leg, ...]:
    """Take the score of a document apart.

    Parameters
    ----------
    engine, question
        What ranked, and for what.
    scored
        From `engine.unit_scores` of the question.
    place
        Of the document in the index.
    feedback
        As it was given to `engine.unit_scores`.
    """
    scores, parts = scored.scores.of_documents(engine.units), scored.parts
    if parts is None or scores.bm25 is None or scores.cosines is None:
        value = float(scores.by[place])
        return (Leg("words" if scores.cosines is None else "place", value, value, 1.0, value),)
    unit = place if scores.units is None else int(scores.units[place])
    words, near = float(parts.words[unit]), float(parts.places[unit])
    said, heavy = float(parts.feedback[unit]), float(parts.weight)
    share = FEEDBACK_WEIGHT * question.known
    legs = [
        Leg("words", float(scores.bm25[place]), words, 1.0, words),
        Leg("place", float(scores.cosines[place]), near / heavy if heavy else 0.0, heavy, near),
    ]
    if feedback:
        legs.append(Leg("feedback", None, said / share if share else 0.0, share, said))
    if unit >= engine.units.documents:
        whole = float(parts.words[place] + parts.places[place] + parts.feedback[place])
        legs.append(Leg("whole", None, whole, WHOLE_SHARE, WHOLE_SHARE * whole))
    return tuple(legs)
