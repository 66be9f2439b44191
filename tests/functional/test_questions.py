"""Questions in plain words to the sample corpus.

They were written from the names of its files, and the right documents chosen by reading, before the
first of them was asked. They stay as they are: what is missed is for the ranking to mend. The aim
is 36 of 40 among the first three, which a neural encoder of 22 million parameters reaches; 28 are
reached without one. docs/ranking.md says what is missed, and why.
"""

from pathlib import Path

import lpisearch

FIRST, LEAST = 3, 27
QUESTIONS = {
    "cheap way to fix a puncture": "bicycles/mending-a-tube.txt",
    "which train was the fastest": "railways/bullet-from-tokyo.txt railways/rocket-at-rainhill.md",
    "how can I stop my plants from dying in a dry summer": "gardening/mulch-in-a-drought.md "
    "gardening/watering-while-you-are-in-norway.eml gardening-rain-barrel",
    "what do I do when my nose won't stop bleeding": "health/nosebleed.txt",
    "I burnt my hand on the stove": "health/cooling-a-burn.html",
    "my bread has no holes and is flat and heavy": "baking/too-long-in-the-basket.txt "
    "baking/cold-kitchen.txt baking/water-for-wholemeal.md",
    "how do I know the loaf is baked through": "baking/when-is-it-done.txt",
    "can I bake bread without waiting for yeast": "baking/soda-bread-no-yeast.txt",
    "what to do with bread that has gone hard": "baking/uses-for-old-bread.txt "
    "baking/stale-bread-question.eml",
    "who looks after my sourdough when I go on holiday": "baking/starter-while-we-are-away.eml",
    "bread for people who cannot eat gluten": "baking/bread-without-wheat.md "
    "health/coeliac-at-the-table.md",
    "my kitchen is freezing and the dough does not grow": "baking/cold-kitchen.txt",
    "how do I get a crackling crust without a professional oven": "baking/steam-in-a-home-oven.txt "
    "baking/the-iron-pot.txt",
    "how high should my seat be on the bike": "bicycles/saddle-height.html",
    "brakes are squealing": "bicycles/howling-disc.txt bicycles/rim-brake-pads.md",
    "my gears jump after the bicycle fell over": "bicycles/bent-hanger.md",
    "how do I keep cycling when it is icy and dark": "bicycles/commuting-through-winter.html",
    "can I take my bicycle on a train": "bicycles/bike-on-the-train.txt",
    "what should I pack for a cycling holiday": "bicycles/what-to-put-in-panniers.md",
    "how does a child learn to ride without stabilisers": "bicycles/teaching-ada-to-ride.txt",
    "I cannot fall asleep at night": "health/not-sleeping.txt",
    "what helps against a headache": "health/a-head-full-of-hammers.html",
    "how do I recognise that somebody is having a stroke": "health/signs-of-a-stroke.txt",
    "my child is hot and feverish, when do I worry": "health/when-a-child-has-a-fever.md",
    "why won't the doctor give me antibiotics for a cold": "health/why-no-antibiotic.txt "
    "health/a-cold-takes-a-week.txt",
    "I always feel worn out and look pale": "health/tired-and-pale.txt",
    "something bit me after walking in long grass": "health/a-tick-after-the-walk.txt",
    "first telescope for a beginner, what should I buy": "astronomy/first-telescope.eml",
    "how long until my eyes get used to the dark": "astronomy/twenty-minutes-in-the-dark.html",
    "why is the sky never really dark near a town": "astronomy/the-new-lamp-outside.eml "
    "astronomy/milky-way-from-the-moor.md",
    "when can I see shooting stars": "astronomy/shooting-stars-are-small.txt "
    "astronomy/perseids-on-the-hill.md",
    "how do I look at the sun without going blind": "astronomy/projecting-the-sun.md",
    "slugs eat everything, what can I do": "gardening/slugs-by-torchlight.txt",
    "how do I get rid of weeds that keep coming back": "gardening/couch-grass-and-ground-elder.txt "
    "gardening-bindweed",
    "when should I prune my apple tree": "gardening/apple-tree-in-winter.txt",
    "what can I plant to help bees": "gardening/flowers-for-early-bees.md",
    "I get sick on boats": "sailing/seasick.txt",
    "somebody fell into the water from our boat": "sailing/man-overboard-drill.txt",
    "how do I tie a boat so that it stays overnight": "sailing/anchoring-for-the-night.md "
    "sailing/picking-up-a-mooring.txt sailing/five-knots-worth-knowing.md",
    "I get nervous before I perform": "music/nerves-before-playing.txt",
}


def test_the_right_document_is_among_the_first(sample: Path) -> None:
    with lpisearch.open(sample) as library:
        missed = [
            f"{question}: {', '.join(first)}"
            for question, right in QUESTIONS.items()
            if not {*right.split()}
            & {*(first := [hit.id for hit in library.search(question, k=FIRST).hits])}
        ]
    assert len(QUESTIONS) - len(missed) >= LEAST, "\n".join(missed)
