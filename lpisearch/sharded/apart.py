"""Methods that a sharded library does not support, with alternatives."""

from __future__ import annotations

from typing import NoReturn

from lpisearch.errors import NotOnShards
from lpisearch.messages import Message, call

_WHOLE = Message("do this in the original library, then split it again: ", call("split", "DIR"))
_ONE = "use the original library"


class Apart:
    """Methods of `Library` that need all documents in one place, or write."""

    @staticmethod
    def _cannot(what: str) -> NotOnShards:
        return NotOnShards(what, _ONE)

    def ingest(self, *_given: object, **_named: object) -> NoReturn:
        """Refuse: shards are ranked by the statistics of all."""
        raise NotOnShards("add documents", _WHOLE)

    def index(self, *_given: object, **_named: object) -> NoReturn:
        """Refuse: one map is learned from all documents."""
        raise NotOnShards("build an index", _WHOLE)

    def plan(self, *_given: object, **_named: object) -> NoReturn:
        """Refuse: nothing can be built."""
        raise NotOnShards("build an index", _WHOLE)

    def label(self, *_given: object, **_named: object) -> NoReturn:
        """Refuse: labels are given in the whole library."""
        raise NotOnShards("change labels", _WHOLE)

    def predict_labels(self, *_given: object, **_named: object) -> NoReturn:
        """Refuse: predicted labels are kept in the whole library."""
        raise NotOnShards("save predicted labels", _WHOLE)

    def forget_predicted(self, *_given: object, **_named: object) -> NoReturn:
        """Refuse: predicted labels are kept in the whole library."""
        raise NotOnShards("remove predicted labels", _WHOLE)

    def delete(self, *_given: object, **_named: object) -> NoReturn:
        """Refuse: shards are ranked by the statistics of all."""
        raise NotOnShards("remove documents", _WHOLE)

    def retokenise(self, *_given: object, **_named: object) -> NoReturn:
        """Refuse: one map is learned from all words."""
        raise NotOnShards("be split into words again", _WHOLE)

    def split(self, *_given: object, **_named: object) -> NoReturn:
        """Refuse: it is split."""
        raise NotOnShards("be split again", _WHOLE)

    def upgrade(self, *_given: object, **_named: object) -> NoReturn:
        """Refuse: each shard is upgraded when it is opened."""
        raise NotOnShards("be upgraded as one", "open it; each shard is upgraded automatically")

    def schema_differences(self, *_given: object, **_named: object) -> NoReturn:
        """Refuse: each shard has a schema of its own."""
        raise NotOnShards("be checked as a whole", call("open", "DIR/shard-0000.db"))

    def back_up(self, *_given: object, **_named: object) -> NoReturn:
        """Refuse: the folder is copied."""
        raise NotOnShards("be backed up to one file", "copy its folder")

    def export(self, *_given: object, **_named: object) -> NoReturn:
        """Refuse: each shard is exported."""
        raise NotOnShards("be exported as a whole", call("open", "DIR/shard-0000.db"))

    def topics(self, *_given: object, **_named: object) -> NoReturn:
        """Refuse: documents of all shards would be grouped together."""
        raise NotOnShards("find topics", _ONE)

    def map(self, *_given: object, **_named: object) -> NoReturn:
        """Refuse: documents of all shards would be drawn together."""
        raise NotOnShards("draw a map", _ONE)

    def dimensions(self, *_given: object, **_named: object) -> NoReturn:
        """Refuse: documents of all shards would be looked through."""
        raise NotOnShards("show its dimensions", _ONE)

    def evaluate(self, *_given: object, **_named: object) -> NoReturn:
        """Refuse: an evaluation learns anew."""
        raise NotOnShards("be evaluated", _ONE)

    def evaluating(self, *_given: object, **_named: object) -> NoReturn:
        """Refuse: an evaluation learns anew."""
        raise NotOnShards("be evaluated", _ONE)

    def as_shard(self) -> NoReturn:
        """Refuse: shards have no shards."""
        raise NotOnShards("be a shard itself", "serve its shards one by one")
