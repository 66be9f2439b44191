"""Languages: settings of the tokeniser, stop words, function words, detection.

Settings are stored with the library and with each index, so that queries are tokenised as the
documents were. A library stores the name of its stop list, so a released list never changes: a
better one gets a new number. The lists are short on purpose: long ones also drop words of a topic
("computer", "system") and change published figures. English words keep their apostrophe, as the
tokeniser looks them up before it removes it; in other languages it separates ("l", "dell").
Function words serve detection only, so their lists may grow; all have about the same length.

Detection:

1. The first 2,000 characters of a text count.
2. If half of its letters are of a script without spaces between words (Chinese, Japanese, Korean,
   Thai, …), the language is "none": such text becomes pairs, without stems.
3. Otherwise each function word counts for the languages that have it: one shared by n languages
   counts 1/n for each, single ASCII letters count for none. The language with the most wins if it
   has at least 2 and at least 4 % of the words, and no other has more than nine tenths of it.
4. The language of a library is that of most documents with a detected language. If no document
   has one, all are taken together; failing that, it is English.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, fields
from functools import cache
from typing import TYPE_CHECKING, Any

import Stemmer

from lpisearch.errors import BadOption
from lpisearch.messages import Message, Option, counted, nearest
from lpisearch.text.characters import normalise, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


NO_LANGUAGE = "none"
RULES_VERSION = 1
STEMMER = f"snowball-{Stemmer.version()}"


@dataclass(frozen=True, slots=True)
class TokeniserSettings:
    """How text becomes tokens; stored with a library.

    `language` is a Snowball language, or "none": words are neither stemmed nor stopped.
    `stop_words` names a list, or is "". `stemmer` records the stemmer and its version; `version` is
    that of our rules.
    """

    language: str = "english"
    stop_words: str = "english-1"
    stemmer: str = STEMMER
    version: int = RULES_VERSION

    def __post_init__(self) -> None:
        if self.language not in available_languages():
            raise _unknown(self.language)
        stop_words(self.stop_words)
        if self.version != RULES_VERSION:
            raise BadOption(
                "tokeniser",
                f"unsupported rules version {self.version}; this program uses {RULES_VERSION}",
            )

    @classmethod
    def for_language(cls, name: str) -> TokeniserSettings:
        """Return the current settings of a language, by name or two-letter code."""
        language = name.strip().casefold()
        language = _CODES.get(language, language)
        return cls(language=language, stop_words=newest_list(language))

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> TokeniserSettings:
        """Read the result of `as_dict`; unknown entries are ignored."""
        return cls(**{each.name: values[each.name] for each in fields(cls) if each.name in values})

    def as_dict(self) -> dict[str, Any]:
        """Return JSON values."""
        return asdict(self)

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
    guess = nearest(language, (*_LANGUAGES, *_CODES))
    return BadOption("language", f"unknown language “{language}”{guess}", _LANGUAGES)


_IN_PAIRS = {"chinese", "japanese", "korean", "thai", "zh", "ja", "ko", "th"}
# Variants of one language that Snowball keeps for old programs.
_OLD_ALGORITHMS = {"porter", "dutch_porter"}
_LANGUAGES = (*sorted(set(Stemmer.algorithms()) - _OLD_ALGORITHMS), NO_LANGUAGE)
_CODES = {
    "ar": "arabic", "hy": "armenian", "eu": "basque", "ca": "catalan", "cs": "czech",
    "da": "danish", "nl": "dutch", "en": "english", "eo": "esperanto", "et": "estonian",
    "fi": "finnish", "fr": "french", "de": "german", "el": "greek", "hi": "hindi",
    "hu": "hungarian", "id": "indonesian", "ga": "irish", "it": "italian", "lt": "lithuanian",
    "ne": "nepali", "no": "norwegian", "nb": "norwegian", "fa": "persian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "st": "sesotho",
    "es": "spanish", "sv": "swedish", "ta": "tamil", "tr": "turkish", "yi": "yiddish",
}  # fmt: skip


def stop_words(name: str) -> frozenset[str]:
    """Return the list of that name; the empty name is the empty list."""
    if not name:
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


@cache
def function_words() -> dict[str, tuple[str, ...]]:
    """Return for each function word the languages that have it."""
    found: dict[str, list[str]] = {}
    for language, listed in _FUNCTION_WORDS.items():
        for word in set(listed.split()):
            found.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in found.items()}


def languages() -> tuple[str, ...]:
    """Return every language that can be detected."""
    return tuple(_FUNCTION_WORDS)


_FUNCTION_WORDS = {
    "arabic": """
        في من على إلى الى أن ان إن التي الذي هذا هذه ذلك تلك مع كان كانت عن ما لا لم لن أو او ثم
        بين كما بعد قبل قد وقد كل هو هي هم الذين وهو وهي حيث عند غير منذ حتى خلال
        """,
    "armenian": """
        և է են էր էին որ որը որոնք մի այս այդ այն իր նրա նա ես մեր ու կամ բայց եթե երբ համար հետ
        մեջ վրա մասին ըստ նաև միայն չի չեն եմ ենք որպես այլ իսկ մինչև
        """,
    "basque": """
        eta da ez du zen dira edo ere bat bere hau hori baina izan zuen dute ziren dela den duen
        baino beste hauek horrek honen haren egin oso gabe arte bezala nola non zer
        """,
    "catalan": """
        el la els les de del dels i a en un una que és per amb no es va més com al als seu seva
        són aquest aquesta pel però també ha han o si ja fou entre sobre qual molt aquests
        """,
    "czech": """
        a v na se je že s z do o k i za by jako pro ale po jsou byl byla bylo které který která od
        to tak své také až nebo však při jeho její jen ve si podle
        """,
    "danish": """
        og i at er en et den det de til af på for med som ikke der har var han hun vi jeg du kan
        blev eller efter fra men hvor hvad også nogle meget mellem sig sin skal ville
        """,
    "dutch": """
        de het een en van in is op te dat die voor met zijn niet aan er om ook als bij door uit
        naar maar werd wordt worden nog deze dan hij ze of tot over heeft hebben kan
        """,
    "english": """
        the of and to in a is that for it as with was on are by be this from at or which an not
        have has but they were can we you if will their when there its
        """,
    "esperanto": """
        la de kaj en estas al ne por kun kiu kiuj estis sed ĝi li ŝi ili mi vi ni el pri per tiu
        tiuj kiel pli aŭ ankaŭ tio ĉi ĝis povas oni unu sur da
        """,
    "estonian": """
        ja on ei et oli ka see ta kui mis oma või aga kes nii siis selle ning ole välja üle pärast
        kuid olid mida veel tema pole seda mille kõik ainult juures kas kus
        """,
    "finnish": """
        ja on ei se että oli hän mutta ovat joka kun niin myös tai jotka sen kuin mukaan hänen vain
        jos ne olla mitä sekä voi ole jonka vielä nyt tämä minä tämän siitä siinä olivat
        """,
    "french": """
        de la le et les des en un une du que est dans qui par pour au sur ne pas se plus sont il
        elle avec ce cette ou aux son ses ont mais était nous vous leur
        """,
    "german": """
        der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an
        werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über
        """,
    "greek": """
        και το της την του η ο να τα με οι για που είναι από στο στη στην των σε δεν τον θα ότι ως
        ένα μια τους τις ή αυτό αλλά κατά ήταν όπως έχει
        """,
    "hindi": """
        के में की है और का से को पर यह हैं ने एक कि नहीं भी था इस हो थी थे जो कर या लिए तो साथ अपने
        गया किया उस वह इसके जा बाद तक ही
        """,
    "hungarian": """
        a az és hogy nem is egy volt meg ez csak de vagy mint már még el ki azt ezt én ő van lett
        után ha kell akkor aki amely sem között szerint ezek által minden pedig
        """,
    "indonesian": """
        yang dan di dari untuk dengan pada ini itu tidak dalam adalah ke oleh akan juga sebagai atau
        ada telah bahwa karena mereka kami dia lebih dapat saat menjadi tersebut para bisa sudah
        """,
    "irish": """
        agus an na ar is i go a le do sé bhí tá ag nach ní leis sin seo raibh ó de mar bhfuil ach nó
        chuig faoi siad sí mé ina roimh iad féin don idir
        """,
    "italian": """
        di e il la che in un una per è del della non con si da le i dei nel alla come più sono
        anche gli al lo ma dal delle ha o questo se sua suo
        """,
    "lithuanian": """
        ir yra kad su iš į tai buvo o bet ne kaip kuris jis jo ar po dėl prie per savo taip ji apie
        tik nuo jų už kurie būti jau tačiau arba pat labai kai iki
        """,
    "nepali": """
        र छ यो पनि छन् हो थियो लागि भने यस तथा भन्ने गर्ने भएको गरेको गर्न हुन्छ थिए छैन नै त्यो उनी यसको
        त्यस गरी हुने गर्दै गरिएको भए एक वा अनि तर
        """,
    "norwegian": """
        og i det er en et å på til av for som med at han ikke de har var den om hun seg ble vi jeg
        eller fra men hva også noen etter mellom så kan skal være ved sin
        """,
    "persian": """
        در به از که این را با است و آن برای می های خود تا یک بر هم نیز شد بود شده یا ها باید کرد
        اما هر او دارد بین پس روی شود کند ما نمی
        """,
    "polish": """
        w i na z się nie do że jest o jak to za po od przez dla ale są był była było oraz tym który
        która które lub jego jej przy tylko może już tego
        """,
    "portuguese": """
        de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele
        das tem à seu sua ou são também pelo
        """,
    "romanian": """
        și şi de în a la care cu pe nu o este un din să pentru că mai se sau prin au dar fost ale
        cel lui sunt ca ce după fi era această acest către
        """,
    "russian": """
        и в не на что с по как из за от это для к он она они но а то был была было были его её их
        же или так также при до о если чтобы
        """,
    "serbian": """
        и у је да на се су за од са не као што који која које али или из по био то а ће
        i u je da na se su za od sa ne kao što koji koja koje ali ili iz po bio to a će
        """,
    "sesotho": """
        ea le ho oa ba hore e ka tse sa ke ha na mme moo bona tsa se ne la hae hobane empa kapa
        joalo eo hape tsena ena
        """,
    "spanish": """
        de la que el en y a los del se las por un para con no una su al lo como más o pero sus le
        ya fue este son entre también está desde muy sin hasta
        """,
    "swedish": """
        och i att det som en på är av för med den till inte om ett han har de var jag från eller
        men vi hade kan efter hon också när sig så vid sin under blev ska mellan vara
        """,
    "tamil": """
        ஒரு இந்த மற்றும் என்று என அந்த இது உள்ள மேலும் ஆகும் அவர் அல்லது ஆனால் இருந்து என்ற கொண்டு அது
        தான் போது பின்னர் முதல் வரை ஆகிய நான் அவர்கள் பல ஓர் இல்லை பற்றி
        """,
    "turkish": """
        ve bir bu da de için ile olarak olan daha çok gibi kadar ne o en sonra ama var değil her
        olduğu tarafından ya ise veya ki oldu bunu şey hem ancak göre
        """,
    "yiddish": """
        און די איז פון אין צו א דער אז דאס האט ער מיט נישט זיי זיך וואס ניט אויף פאר אויך ווי מען
        ביי אבער האבן געווען דאָס פֿון אַ איך צום
        """,
}


CHARACTERS = 2000
FALLBACK = "english"
_LEAST_WORDS = 2
_LEAST_SHARE = 0.04
_RUNNER_UP = 0.9
_SHOWN_SHARE = 0.05


class Evidence:
    """The detected languages of the documents of a library, collected in batches."""

    def __init__(self) -> None:
        self.documents = 0
        self.counts: Counter[str] = Counter()
        self._together: Counter[str] = Counter()

    def add(self, texts: Iterable[str]) -> None:
        """Detect the languages of some documents."""
        for text in texts:
            words = _Words.of(text[:CHARACTERS])
            language = words.language()
            self.documents += 1
            if language:
                self.counts[language] += 1
            elif not self.counts:
                self._together += words.counts

    @property
    def language(self) -> str:
        """The language of most documents with a detected one."""
        if self.counts:
            return min(self.counts, key=lambda name: (-self.counts[name], name))
        return _Words(self._together).language() or FALLBACK

    def describe(self, used: str) -> str:
        """Return one line for the user: the language in use, and the evidence for it."""
        looked = counted(self.documents, "document")
        if not self.counts:
            doubt = f"Language: {used} (too little text in {looked} to detect it; "
            return Message(doubt, Option("language"), " changes it)")
        number = self.counts[used]
        evidence = f"{number:,} of {looked}" if number < self.documents else looked
        least = _SHOWN_SHARE * self.counts.total()
        others = [
            f"{name} in {count:,}"
            for name, count in self.counts.most_common()
            if name != used and count >= least
        ]
        mixed = f"; {', '.join(others)}, all treated as {used}" if others else ""
        return Message(
            f"Language: {used} (detected in {evidence}{mixed}; ", Option("language"), " changes it)"
        )


@dataclass(frozen=True, slots=True)
class _Words:
    """Counts of words, and the characters of scripts without spaces between words."""

    counts: Counter[str]
    unspaced: int = 0

    @classmethod
    def of(cls, text: str) -> _Words:
        counts: Counter[str] = Counter()
        unspaced = 0
        for _, word, spaced in words(normalise(text), apostrophes=False):
            if spaced:
                counts[word] += 1
            else:
                unspaced += len(word)
        return cls(counts, unspaced)

    def language(self) -> str:
        """Return the language of the words, or "" if it is unclear."""
        if self.unspaced > sum(len(word) * count for word, count in self.counts.items()):
            return NO_LANGUAGE
        ranked = sorted(self._scores().items(), key=lambda pair: (-pair[1], pair[0]))
        (first, most), (_, second) = (*ranked, ("", 0.0), ("", 0.0))[:2]
        enough = most >= max(_LEAST_WORDS, _LEAST_SHARE * self.counts.total())
        return first if enough and second <= _RUNNER_UP * most else ""

    def _scores(self) -> dict[str, float]:
        languages = function_words()
        scores: defaultdict[str, float] = defaultdict(float)
        for word, count in self.counts.items():
            # Single letters of ASCII are names, initials and formulas as often as they are words.
            own = languages.get(word, ()) if len(word) > 1 or not word.isascii() else ()
            for language in own:
                scores[language] += count / len(own)
        return scores
