"""Languages: settings of the tokeniser, and stop words.

Settings are stored with the library and with each index, so that queries are tokenised as the
documents were. A library stores the name of its stop list, so a released list never changes: a
better one gets a new number. The lists are short on purpose: long ones also drop words of a topic
("computer", "system") and change published figures. English words keep their apostrophe, as the
tokeniser looks them up before it removes it; in other languages it separates ("l", "dell").
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from typing import TYPE_CHECKING, Any

import Stemmer

from lpisearch.errors import BadOption
from lpisearch.messages import Message, Option, nearest
from lpisearch.model.documents import LANGUAGE_CODES

if TYPE_CHECKING:
    from collections.abc import Mapping


AUTO = "auto"
NO_LANGUAGE = "none"
RULES_VERSION = 2
STEMMER = f"snowball-{Stemmer.version()}"


@dataclass(frozen=True, slots=True)
class TokeniserSettings:
    """How text becomes tokens; stored with a library.

    `language` is a Snowball language, or "none": words are neither stemmed nor stopped. If it is
    "auto", each document has its own, or else `main`. `stop_words` names a list, or is "".
    `stemmer` records the stemmer and its version; `version` is that of our rules.
    """

    language: str = "english"
    stop_words: str = "english-1"
    stemmer: str = STEMMER
    version: int = RULES_VERSION
    main: str = ""

    def __post_init__(self) -> None:
        for language in (self.main,) if self.is_mixed else (self.language,):
            if language not in available_languages():
                raise _unknown(language)
        stop_words(self.stop_words)
        if not 1 <= self.version <= RULES_VERSION:
            raise BadOption(
                "tokeniser",
                f"unsupported rules version {self.version}; this program knows 1 to "
                f"{RULES_VERSION}",
            )

    @classmethod
    def for_language(cls, name: str) -> TokeniserSettings:
        """Return the current settings of a language, by name or two-letter code."""
        language = name.strip().casefold()
        language = LANGUAGE_CODES.get(language, language)
        return cls(language=language, stop_words=newest_list(language))

    @classmethod
    def mixed(cls, main: str) -> TokeniserSettings:
        """Return the current settings of a library in which each document has its language."""
        return cls(AUTO, _NEWEST_LISTS, main=main)

    @property
    def is_mixed(self) -> bool:
        """Whether each document has its own language."""
        return self.language == AUTO

    def of_language(self, name: str = "") -> TokeniserSettings:
        """Return the settings for documents in a language; "" for that of most."""
        if not self.is_mixed:
            return self
        language = NO_LANGUAGE if name in _IN_PAIRS else name
        language = language if language in available_languages() else self.main
        lists = _LISTS_OF[self.stop_words]
        own = next((one for one in lists if one.rpartition("-")[0] == language), "")
        return replace(self, language=language, stop_words=own, main="")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TokeniserSettings:
        """Read the result of `as_dict`; unknown entries are ignored."""
        return cls(**{each.name: values[each.name] for each in fields(cls) if each.name in values})

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        values = asdict(self)
        if not self.main:
            del values["main"]
        return values

    @property
    def stems_alike(self) -> bool:
        """Whether the installed stemmer is the one that made the stored tokens."""
        return self.stemmer == STEMMER


class _CutInPairs(BadOption):
    """The language has no spaces between words: it needs no setting."""

    def __init__(self, language: str) -> None:
        super().__init__(
            "language",
            f"“{language}” has no word stems; it is always indexed as pairs of characters, "
            "whatever the language of the library",
        )
        self.next_step = Message("use ", Option("language", NO_LANGUAGE), " or omit the option")


def available_languages() -> tuple[str, ...]:
    """Return every language of the option, "none" last."""
    return _LANGUAGES


def _unknown(language: str) -> BadOption:
    if language in _IN_PAIRS:
        return _CutInPairs(language)
    guess = nearest(language, (*_LANGUAGES, *LANGUAGE_CODES))
    return BadOption("language", f"unknown language “{language}”{guess}", _LANGUAGES)


_IN_PAIRS = {"chinese", "japanese", "korean", "thai", "zh", "ja", "ko", "th"}
# Variants of one language that Snowball keeps for old programs.
_OLD_ALGORITHMS = {"porter", "dutch_porter"}
_LANGUAGES = (*sorted(set(Stemmer.algorithms()) - _OLD_ALGORITHMS), NO_LANGUAGE)


@cache
def stop_words(name: str) -> frozenset[str]:
    """Return the list of that name; the empty name is the empty list."""
    if not name or name in _LISTS_OF:
        return frozenset()
    if name not in _STOP_WORDS:
        raise BadOption("stop words", f"unknown list “{name}”", sorted(_STOP_WORDS))
    return frozenset(_STOP_WORDS[name].split())


def newest_list(language: str) -> str:
    """Return the name of the newest list of a language, or "" if it has none."""
    names = [name for name in _STOP_WORDS if name.rpartition("-")[0] == language]
    return max(names, key=lambda name: int(name.rpartition("-")[2]), default="")


_STOP_WORDS = {
    "english-1": """
        a about above after again against all also although am among an and any are as at be
        because been before being below between both but by can cannot could did do does doing
        done down during each either else ever every few for from further had has have having he
        her here hers herself him himself his how however i if in into is it its itself just let
        may me might mine more most much must my myself neither no nor not now of off on once
        only onto or other our ours ourselves out over own per quite rather same shall she should
        since so some such than that the their theirs them themselves then there therefore these
        they this those though through thus to too toward towards under until unto up upon us
        very was we were what when where whether which while who whom whose why will with within
        without would yet you your yours yourself yourselves
        ain't aren't can't couldn't didn't doesn't don't hadn't hasn't haven't isn't mightn't
        mustn't needn't shan't shouldn't wasn't weren't won't wouldn't
        aint arent couldnt didnt doesnt dont hadnt hasnt havent isnt shouldnt wasnt werent wouldnt
        i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'd
        it'll we're we've we'd we'll they're they've they'd they'll that's that'd that'll there's
        there'd there'll here's what's what're what'll where's when's who's who'd who'll why's
        how's let's could've should've would've might've must've
        """,
    "german-1": """
        aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim bin
        bis bist da damit dann das dass daß dein deine dem den denn der des dich die dies diese
        diesem diesen dieser dieses dir doch dort du durch ein eine einem einen einer eines er es
        etwas euch euer für gegen gewesen hab habe haben hat hatte hatten hier hin hinter ich ihm
        ihn ihnen ihr ihre ihrem ihren ihrer im in indem ins ist jede jedem jeden jeder jedes
        jetzt kann kein keine keinem keinen keiner können konnte man mein meine mich mir mit nach
        nicht nichts noch nun nur ob oder ohne sehr sein seine seinem seinen seiner selbst sich
        sie sind so solche soll sollte sondern sonst über um und uns unser unter viel vom von vor
        war waren warst was weg weil weiter welche welchem welchen welcher welches wenn werde
        werden wie wieder will wir wird wirst wo wollen worden wurde wurden während würde würden
        zu zum zur zwar zwischen
        """,
    "french-1": """
        à ai aie as au aucun aucune aura aurait aussi autre autres aux avaient avait avant avec
        avez avoir avons ayant c car ce ceci cela celle celles celui ces cet cette ceux chaque
        comme d dans de depuis des dont du elle elles en encore entre es est et étaient était
        étant été être eu eux fait furent fut h il ils j je jusqu l la là le les leur leurs
        lorsqu lorsque lui m ma mais me même mes moi mon n ne ni nos notre nous on ont ou où par
        pas pendant peu peut plus pour pourquoi puis puisqu puisque qu quand que quel quelle
        quelles quels qui quoi s sa sans se sera serait ses si soi soit son sont sous suis sur t
        ta te tes toi ton tous tout toute toutes très tu un une vers vos votre vous y
        """,
    "spanish-1": """
        a al algo algunas algunos ante antes aquel aquella aquellas aquellos así aunque cada como
        con contra cual cuales cuando de del desde donde dos durante e el él ella ellas ellos en
        entre era eran eres es esa esas ese eso esos esta está están estas este esto estos fue
        fueron ha haber había habían han hasta hay he la las le les lo los más me mi mí mis mucho
        muchos muy nada ni no nos nosotras nosotros nuestra nuestras nuestro nuestros o os otra
        otras otro otros para pero poco por porque pues que qué quien quienes se sea ser si sí
        sido sin sino sobre son soy su sus también tan tanto te tiene tienen toda todas todo todos
        tu tú tus u un una unas uno unos usted ustedes vosotros y ya yo
        """,
    "italian-1": """
        a abbia abbiamo ad agli ai al all alla alle allo anche ancora aveva avere c che chi ci ciò
        coi col come con contro cosa così cui d da dagli dai dal dall dalla dalle dallo degli dei
        del dell della delle dello di dopo dove e è ed era erano essere fra fu gli ha hanno ho i
        il in io l la le lei li lo loro lui ma me mi mia mie miei mio ne né negli nei nel nell
        nella nelle nello no noi non nostra nostre nostri nostro o ogni oppure per perché però più
        poi prima qua quale quali quando quanto quel quell quella quelle quelli quello quest
        questa queste questi questo qui s sarà se sei senza si sia siamo sono sopra stata state
        stati stato su sua sue sugli sui sul sull sulla sulle sullo suo suoi te ti tra tu tua tue
        tuo tuoi tutta tutte tutti tutto un una uno v vi voi vostra vostro
        """,
    "portuguese-1": """
        a à ainda ao aos aquela aquelas aquele aqueles aquilo as às até cada com como contra da
        das de dela delas dele deles depois desde do dos e é ela elas ele eles em entre era eram
        essa essas esse esses esta está estão estas este estes eu foi for foram há isso isto já
        la lhe lhes lo mais mas me mesmo meu meus minha minhas muito muitos na não nas nem no nos
        nós nossa nossas nosso nossos num numa nunca o onde os ou outra outras outro outros para
        pela pelas pelo pelos pode podem pois por porque quais qual quando que quem são se seja
        sem ser será seu seus si sido só sobre sua suas também tão te tem têm ter teu toda todas
        todo todos tu tua tudo um uma umas uns você vocês vos
        """,
    "dutch-1": """
        aan al alle alleen als altijd andere ben bij daar dan dat de der deze die dit doch doen
        door dus een eens en er ge geen haar had hadden heb hebben heeft hem het hier hij hoe hun
        iemand iets ik in is ja je jij jou jouw jullie kan kon konden kunnen maar me meer men met
        mij mijn moet moeten na naar niet niets nog nu of om omdat ondanks ons onze ook op over s
        reeds sinds sommige t te tegen tijdens toch toen tot tussen u uit uw van veel voor waar
        waarom want waren was wat we wel welke werd werden wie wij wil worden wordt zal ze zei
        zelf zich zij zijn zo zoals zonder zou zouden
        """,
    "swedish-1": """
        all alla allt allting än är åt att av bara blev bli blir blivit då dags de dem den denna
        deras dess dessa det detta dig din dina ditt dock du där efter ej eller en er era ert ett
        från för ha hade han hans har henne hennes här hon honom hur i icke igen in ingen inget
        inom inte jag ju kan kunde man med mellan men mer mig min mina mitt mot mycket när någon
        något några ni nu och också om oss på så sedan sig sin sina sitt ska skall skulle som
        sådan sådana sådant till under upp ut utan vad var vara varför varit varje vars vart vem
        vems vi vid vilka vilken vilket vår våra vårt
        """,
    "danish-1": """
        ad af al alle alt anden at bare begge blev blive bliver da de dem den denne der deres det
        dette dig din dine disse dit dog du efter eller en end er et for fordi fra før få gennem
        ham han hans har havde have hende hendes her hos hun hvad hvem hver hvilken hvis hvor
        hvordan hvorfor i ifølge igen ikke ind ingen intet jeg jer jeres jo kan kom kun kunne
        man mange med meget mellem men mere mig min mine mit mod må ned nogen noget nogle nu når
        også om op os over på se selv sig sin sine sit skal skulle som sådan til ud under uden
        var ved vi vil ville vor vores være været
        """,
    "norwegian-1": """
        alle alt at av bare begge ble blei bli blir blitt da de deg dem den denne der deres det
        dette di din dine disse ditt du då eg ein eit eller en enn er et ett etter for fordi fra
        få før ha hadde ham han hans har henne hennes her hos hun hva hvem hver hvilken hvis hvor
        hvordan hvorfor i ikke ikkje inn ingen ja jeg kan kom kun kunne man mange med meg meget
        mellom men mer mi min mine mitt mot må ned noe noen nå når og også om opp oss over på så
        seg selv si sin sine sitt skal skulle slik som til ut uten var ved vi vil ville vår våre
        være vært å
        """,
}


# The lists of a library in which each document has its language; a name keeps its lists.
_LISTS_OF = {
    "own-1": (
        *("english-1", "german-1", "french-1", "spanish-1", "italian-1", "portuguese-1"),
        *("dutch-1", "swedish-1", "danish-1", "norwegian-1"),
    )
}
_NEWEST_LISTS = "own-1"
