"""Search methods of a sharded library."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from lpisearch.calls.asking import Questions
from lpisearch.errors import BadOption, DocumentNotFound
from lpisearch.messages import Message, call
from lpisearch.records import Answer, Document, Filter
from lpisearch.search.facets import added
from lpisearch.search.notes import CHANGED, about_queries, about_unknown
from lpisearch.search.refusals import check_options, refuse_unknown_labels
from lpisearch.settings import RELEVANCE, SORTS, SearchOptions
from lpisearch.settings.asked import Asked
from lpisearch.sharded.holding import Holding
from lpisearch.sharded.talk import Talk, again, counted
from lpisearch.wording import without

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from lpisearch.records import Facets, Mark, Reason, Run

_BEHIND = Message("The documents of a shard do not match its index. Next: ", call("split", "DIR"))


class Asking(Holding, Questions):
    """Questions to all shards."""

    _builds: dict[str, str]

    def _search(
        self, text: str, wanted: SearchOptions, like: Sequence[str], unlike: Sequence[str]
    ) -> Answer:
        check_options(wanted)
        return self._answer(self._question(text, wanted, like, unlike), wanted)

    def _similar(self, document: str | Document, wanted: SearchOptions, *, files: bool) -> Answer:
        from lpisearch.ingest.inputs import first_document

        check_options(wanted)
        if isinstance(document, Document):
            return self._answer(self._question_like(document, wanted), wanted)
        try:
            found = self._named(document)
        except DocumentNotFound:
            if not files:
                raise
            return self._answer(self._question_like(first_document(document), wanted), wanted)
        owner, said = found

        def asked(at: int) -> Asked:
            left_out = (int(said["key"]),) if at == owner else ()
            return Asked(options=_ranked(wanted), document=str(said["tokens"]), left_out=left_out)

        return self._answer(asked, wanted)

    def reason(
        self,
        text: str,
        document: str,
        *,
        options: SearchOptions | None = None,
        like: Sequence[str] = (),
        unlike: Sequence[str] = (),
    ) -> Reason:
        """Say why a search finds a document where it does: its score as an exact sum."""
        from lpisearch.client.reading import as_reason

        wanted = replace(options or SearchOptions(), k=0, offset=0, sort=RELEVANCE)
        check_options(wanted)
        owner, said = self._named(document)
        question = self._question(text, wanted, like, unlike)

        def ask() -> Reason:
            talk = self._talk(question, wanted)
            if owner not in talk.begun:
                raise self._panel.all_away()
            name, end = talk.begun[owner]["id"], self._panel.ends[owner]
            return as_reason(end.ask("reason", name=name, document=said["id"]))

        return again(ask)

    def marks(
        self, text: str, *parts: str, options: SearchOptions | None = None
    ) -> list[tuple[Mark, ...]]:
        """Return where words of a query, and near words, are in each of some texts."""
        chosen = replace(options or SearchOptions(), where=Filter())
        return self._panel.any(lambda end: end.library.marks(text, *parts, options=chosen))

    def _batch(
        self,
        queries: Iterable[tuple[str, str]],
        wanted: SearchOptions,
        on_note: Callable[[str], None],
    ) -> Generator[Run, None, None]:
        """Answer one after the other."""
        check_options(wanted)
        if wanted.sort != RELEVANCE:
            raise BadOption("sort", "batch results are always sorted by score")
        self._check_labels(wanted.where)
        remarks: list[tuple[str, str]] = []
        told: set[str] = set()
        number = 0
        for name, text in queries:
            number += 1
            asked = Asked(text, _ranked(wanted), plain=True)
            talk = self._talk_about(asked, wanted)
            words = talk.suggestions()
            if about := about_unknown(words) if words else talk.about:
                remarks.append((name, about))
            for note in filter(None, (*self._state_notes(talk), CHANGED if talk.changed else "")):
                if note not in told:
                    told.add(note)
                    on_note(note)
            shown = talk.best(wanted, words=False)[wanted.offset :]
            yield name, [(str(one.said["id"]), float(one.said["score"])) for one in shown]
        for note in about_queries(remarks, number):
            on_note(note)

    def facets(self, where: Filter | None = None) -> Facets:
        """Count documents by label, split, folder, format and date."""
        chosen = where or Filter()
        self._check_labels(chosen)
        each = self._panel.each
        return counted(
            each(lambda _at, end: end.ask("tally", where=chosen)),
            lambda common: each(lambda _at, end: end.ask("tally", where=chosen, common=common)),
        )

    def _question(
        self, text: str, wanted: SearchOptions, like: Sequence[str], unlike: Sequence[str]
    ) -> Callable[[int], Asked]:
        """Return the question for each shard."""
        self._check_labels(wanted.where)
        named = [[self._named(name) for name in names] for names in (like, unlike)]
        wished, unwished = (tuple(str(said["tokens"]) for _, said in each) for each in named)

        def asked(at: int) -> Asked:
            every = chain.from_iterable(named)
            left_out = tuple(int(said["key"]) for owner, said in every if owner == at)
            options = _ranked(wanted)
            return Asked(text, options, like=wished, unlike=unwished, left_out=left_out)

        return asked

    def _question_like(self, document: Document, wanted: SearchOptions) -> Callable[[int], Asked]:
        """Ask for what is like a document that is nowhere yet."""
        self._check_labels(wanted.where)
        given = {"title": document.title, "text": document.text}
        tokens = str(self._panel.any(lambda end: end.ask("tokens", **given))["tokens"])
        asked = Asked(options=_ranked(wanted), document=tokens)
        return lambda _at: asked

    def _talk(self, asked: Callable[[int], Asked], wanted: SearchOptions) -> Talk:
        return Talk(self._panel, self._folder, asked, self._builds.get(wanted.index, ""))

    def _talk_about(self, asked: Asked, wanted: SearchOptions) -> Talk:
        """Put the same question to all shards."""
        return again(lambda: self._talk(lambda _at: asked, wanted))

    def _answer(self, asked: Callable[[int], Asked], wanted: SearchOptions) -> Answer:
        """Let all shards score, and show the best of all."""
        return again(lambda: self._answered(self._talk(asked, wanted), wanted))

    def _answered(self, talk: Talk, wanted: SearchOptions) -> Answer:
        shown = talk.best(wanted)[wanted.offset :]
        facets = talk.facets() if wanted.facets else None
        hits, none = talk.hits(shown, wanted.offset + 1)
        words = talk.suggestions()
        notes = (
            *self._state_notes(talk),
            *talk.common_notes(),
            about_unknown(words) if words else talk.about,
            CHANGED if talk.changed else "",
            none,
        )
        return Answer(
            hits, talk.by, tuple(filter(None, notes)), words, facets, missing=talk.missing
        )

    def _state_notes(self, talk: Talk) -> list[str]:
        """Say which shards are away, and whether one is behind."""
        away = without(talk.missing)
        behind = any(reply["behind"] for reply in talk.begun.values())
        return [*([away] if away else []), *([_BEHIND] if behind else [])]

    def _check_labels(self, where: Filter) -> None:
        """Refuse a label that no document of any shard has.

        Raises
        ------
        BadOption
        """
        if not where.labels and not where.predicted:
            return
        known = self._panel.each(lambda _at, end: end.ask("known", where=where)).values()
        refuse_unknown_labels(where, lambda option: added(each[option] for each in known))


def _ranked(wanted: SearchOptions) -> SearchOptions:
    """Return the options for a shard: its best, as many as may be shown of all shards."""
    from lpisearch.search.sorting import SORTED

    most = wanted.offset + wanted.k if wanted.k else 0
    if wanted.sort != SORTS[0] and most:
        most = max(most, SORTED)
    return replace(wanted, k=most, offset=0)
