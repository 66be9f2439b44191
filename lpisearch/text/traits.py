"""What is found out about a document by stated rules: its language and its kind.

Function words serve the detection of languages only, so their lists may grow; all have about the
same length.

1. The first 2,000 characters of a text count.
2. If half of its letters are of a script without spaces between words (Chinese, Japanese, Korean,
   Thai, …), the language is "none": such text becomes pairs, without stems.
3. Otherwise each function word counts for the languages that have it: one shared by n languages
   counts 1/n for each, single ASCII letters count for none. The language with the most wins if it
   has at least 2 and at least 4 % of the words, and no other has more than nine tenths of it.
4. In a library of "auto" each document has its own language: the detected one if it has half as
   much again as the library's main language, else the one that the file states if none is
   detected, else the main language.
5. The main language of a library is that of most documents of its first batch with a detected
   language. If no document has one, all are taken together; failing that, it is English.
6. The language of a query is the one of those in the library with the most function words.

Nobody looks for documents of these kinds unless they name them:

licence
    A file that is named as licences are (LICENSE, COPYING, copyright, GPL-3, …), or whose text
    begins with the title of a well-known licence.
changes
    A file that is named as change logs are (ChangeLog, CHANGES, RELEASE-NOTES, …). NEWS, HISTORY
    and the like are names of other things too: such a file, and a page with such a title, must have
    at least three lines that begin with the number of a version or with a date.
generated
    A file that a program wrote for a program: indexes of a documentation's own search
    (searchindex.js, search-index.json, genindex.html, …), lists of dependencies (package-lock.json,
    …), minified files (style.min.css, or lines of more than 500 characters on average in a script).

The name is that of the file, without the suffix of text: LICENSE, LICENSE.txt and license.html are
alike, and license.py is not.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cache, lru_cache
from math import sqrt
from pathlib import PurePath
from typing import TYPE_CHECKING

from lpisearch.messages import Message, Option, counted
from lpisearch.model.documents import CHANGES, GENERATED, LANGUAGE_CODES, LICENCE, Document
from lpisearch.text.characters import normalise, words
from lpisearch.text.languages import NO_LANGUAGE, available_languages, newest_list, stop_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_SCRIPTS = (
    ("japanese", "\u3040", "\u30ff"),
    ("korean", "\uac00", "\ud7a3"),
    ("thai", "\u0e00", "\u0e7f"),
    ("chinese", "\u4e00", "\u9fff"),
)


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
        ماذا متى أين كيف كم لماذا هل
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
        kuka missä miten miksi milloin mikä
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
        co kto gdzie jak kiedy dlaczego ile jaki
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
        кто где когда почему сколько какой какая какие
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
        hangi hangisi kim kimin kime kaç nasıl neden niçin nerede nereden nedir kimdir mi mı zaman
        """,
    "yiddish": """
        און די איז פון אין צו א דער אז דאס האט ער מיט נישט זיי זיך וואס ניט אויף פאר אויך ווי מען
        ביי אבער האבן געווען דאָס פֿון אַ איך צום
        """,
}


# The letters of languages beyond a to z: a word with others is not of the language.
_LETTERS = {
    language: frozenset(letters)
    for language, letters in {
        "arabic": "ابتثجحخدذرزسشصضطظعغفقكلمنهويءآأؤإئةى",
        "basque": "ñ",
        "catalan": "àçèéíïòóúü",
        "czech": "áčďéěíňóřšťúůýž",
        "danish": "æøå",
        "estonian": "äõöüšž",
        "finnish": "äö",
        "french": "àâçéèêëîïôùûüœ",
        "german": "äöüß",
        "greek": "αβγδεζηθικλμνξοπρστυφχψωάέήίόύώςϊϋΐΰ",
        "hungarian": "áéíóöőúüű",
        "irish": "áéíóú",
        "italian": "àèéìòù",
        "lithuanian": "ąčęėįšųūž",
        "norwegian": "æøå",
        "persian": "ابپتثجچحخدذرزژسشصضطظعغفقکگلمنوهیآئء",
        "polish": "ąćęłńóśźż",
        "portuguese": "àáâãçéêíóôõúü",
        "romanian": "ăâîșțşţ",
        "russian": "абвгдеёжзийклмнопрстуфхцчшщъыьэюя",
        "serbian": "абвгдђежзијклљмнњопрстћуфхцчџшčćđšž",
        "spanish": "áéíñóúü",
        "swedish": "åäöé",
        "turkish": "âçğıîöşü\u0307",
    }.items()
}

CHARACTERS = 2000
FALLBACK = "english"
_LEAST_WORDS = 2
_LEAST_SHARE = 0.04
_RUNNER_UP = 0.9
_SHOWN = 4  # languages besides the most frequent one
_ADVANTAGE = 1.5
# In Latin, Greek and Cyrillic letters, `re` finds the words as `characters` does, and faster.
_FIRST_SLOW = "\u0590"
_COMBINING = re.compile("[\u0300-\u036f]")
_PLAIN = re.compile(r"[^\W_]+")
_ASCII_WORDS = bytes(ord(chr(at).lower()) if chr(at).isalnum() else 32 for at in range(128)) * 2
_FAR_MORE = 10
_LETTERS_A_WORD = 2
_SPECIAL = 10  # one in so many letters is enough: Japanese is mostly Han


def language_of(text: str, main: str, stated: str = "") -> str:
    """Return the language of a document: detected, stated by its file, or the main one."""
    own = _Words.of(text[:CHARACTERS])
    if own.is_unspaced:
        return _language_of_script(text[:CHARACTERS])
    scores = own.scores()
    first = min(scores, key=lambda name: (-scores[name], name), default=main)
    if own.is_enough(scores.get(first, 0.0)):
        return first if scores[first] >= _ADVANTAGE * scores.get(main, 0.0) else main
    code = stated.casefold().replace("_", "-").partition("-")[0]
    language = LANGUAGE_CODES.get(code, code)
    return language if language in available_languages() and not scores.get(main) else main


def language_of_query(text: str, documents: Mapping[str, int]) -> str:
    """Return the language of a query; "" if its words do not tell.

    It is one of those of some numbers of documents; of two alike, one of far more documents.
    """
    own = _Words.of(text)
    if own.is_unspaced:
        return _language_of_script(text)
    scores = own.scores(documents)
    most = max(scores.values(), default=0.0)
    alike = [name for name, score in scores.items() if score >= _RUNNER_UP * most]
    first, *others = sorted(alike, key=lambda name: -documents[name]) or [""]
    far_more = all(documents[name] * _FAR_MORE <= documents[first] for name in others)
    return first if far_more else ""


def _language_of_script(text: str) -> str:
    """Return the language of a text without spaces between words, by its most special letters."""
    for language, first, last in _SCRIPTS:
        if sum(first <= letter <= last for letter in text) * _SPECIAL >= len(text):
            return language
    return NO_LANGUAGE


class Evidence:
    """The detected languages of the documents of a library, collected in batches."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._together: Counter[str] = Counter()

    def add(self, texts: Iterable[str]) -> None:
        """Detect the languages of some documents."""
        for text in texts:
            words = _Words.of(text[:CHARACTERS])
            language = words.language()
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


def languages_note(counts: Mapping[str, int]) -> str:
    """Return one line for the user about the languages of documents."""
    ranked = sorted(counts, key=lambda name: (-counts[name], name))
    first, number = ranked[0], counts[ranked[0]]
    documents = counted(sum(counts.values()), "document")
    rest = "".join(f", {name} in {counts[name]:,}" for name in ranked[1 : _SHOWN + 1])
    more = f", {len(ranked) - _SHOWN - 1} more" if len(ranked) > _SHOWN + 1 else ""
    where = f"{number:,} of {documents}" if rest else documents
    name = "Languages" if rest else "Language"
    return Message(f"{name}: {first} in {where}{rest}{more}; ", Option("language"), " fixes one")


@dataclass(frozen=True, slots=True)
class _Words:
    """Counts of words, and the characters of scripts without spaces between words."""

    counts: Counter[str]
    unspaced: int = 0

    @classmethod
    def of(cls, text: str) -> _Words:
        if text.isascii():  # as `_PLAIN` finds them, in a quarter of the time
            return cls(Counter(text.encode().translate(_ASCII_WORDS).decode().split()))
        if max(text) < _FIRST_SLOW and not _COMBINING.search(text):
            return cls(Counter(_PLAIN.findall(text.casefold())))
        counts: Counter[str] = Counter()
        unspaced = 0
        for _, word, spaced in words(normalise(text), apostrophes=False):
            if spaced:
                counts[word] += 1
            else:
                unspaced += len(word)
        return cls(counts, unspaced)

    @property
    def is_unspaced(self) -> bool:
        """Whether most words are in scripts without spaces, where a word is about two letters."""
        return self.unspaced > _LETTERS_A_WORD * self.counts.total()

    def language(self) -> str:
        """Return the language of the words, or "" if it is unclear."""
        if self.is_unspaced:
            return NO_LANGUAGE
        ranked = sorted(self.scores().items(), key=lambda pair: (-pair[1], pair[0]))
        (first, most), (_, second) = (*ranked, ("", 0.0), ("", 0.0))[:2]
        return first if self.is_enough(most) and second <= _RUNNER_UP * most else ""

    def is_enough(self, score: float) -> bool:
        """Tell whether so many function words are in a text of some length."""
        return score >= max(_LEAST_WORDS, _LEAST_SHARE * sum(map(sqrt, self.counts.values())))

    def scores(self, among: Iterable[str] = ()) -> dict[str, float]:
        """Return how much the words tell for each language, or for some that a query may be in.

        A word that occurs n times counts √n: "los" is frequent in a text about Los Angeles.
        """
        scores: defaultdict[str, float] = defaultdict(float)
        some, known, counts = tuple(among), function_words(), self.counts
        # Of the words of a document, few tell anything: the others are left out first.
        telling = counts if some else [w for w in counts if w in known or not w.isascii()]
        for word in telling:
            if len(word) == 1 and word.isascii():
                continue  # names, initials and formulas as often as words
            own, count = known.get(word) or owners(word), counts[word]
            if some:
                own = tuple(name for name in some if name in own or word in _stopped(name))
            for language in own:
                scores[language] += sqrt(count) / len(own)
        return scores


@cache
def _stopped(language: str) -> frozenset[str]:
    return stop_words(newest_list(language))


@lru_cache(maxsize=100_000)
def owners(word: str) -> tuple[str, ...]:
    """Return the languages that have a function word, or alone have the letters of a word."""
    if word.isascii() or word in function_words():
        return function_words().get(word, ())
    special = {letter for letter in word if not letter.isascii() and letter.isalpha()}
    if not special:
        return ()
    return tuple(name for name, letters in _LETTERS.items() if special <= letters)


_TEXTS = frozenset(
    ("", ".adoc", ".asc", ".htm", ".html", ".markdown", ".md", ".rst", ".txt", ".xhtml")
)
_NO_SUFFIX = re.compile(r"\.(\d.*|debian|lesser|lib|old|mit|bsd|apache|[al]?gpl.*)")
_PACKED = re.compile(r"\.(gz|bz2|xz|zst)$")
_SCRIPT_SUFFIXES = frozenset((".css", ".js", ".mjs"))
_LICENCE = re.compile(
    r"(un)?licen[cs]es?([-_. ](agreement|mit|bsd|apache|gpl|lgpl|mpl|isc|cc0?)?[-_.\w]*)?"
    r"|copying([-_.]\w+)*|copyrights?|[al]?gpl[-_.]?\d[-_.\d]*|apache[-_.]2([-_.]0)?|mpl[-_.]\d.*"
)
_LICENCE_TITLE = re.compile(
    r"(gnu (affero |lesser |library )?general public license|gnu free documentation license"
    r"|apache license|mozilla public license|(the )?mit license|(the )?bsd .{0,20}license"
    r"|creative commons (legal code|attribution)|eclipse public license|boost software license"
    r"|european union public licen[cs]e|isc license|the artistic license)\b",
    re.IGNORECASE,
)
_CHANGES = re.compile(
    r"change[-_. ]?logs?([-_. ].*)?|changes|release[-_. ]?(notes?|history)|version[-_. ]?history"
)
_MAYBE_CHANGES = re.compile(r"news([-_.].*)?|history|what'?s[-_. ]?new([-_. ].*)?|releases?")
_CHANGES_TITLE = re.compile(
    r"([\w.]{1,8} )?(change ?log|release (notes|history)|version history|what['’]s new)\b.{0,40}",
    re.IGNORECASE,
)
_VERSION = re.compile(
    r"^[\W_]{0,4}(?:(?:version|release|changes in|[\w.+-]{1,40} \()?\s{0,3})?"
    r"(?:v?\d+\.\d+(?:\.\d+)*|\d{4}-\d\d-\d\d|\d{1,2} \w{3,9} \d{4})\b",
    re.IGNORECASE | re.MULTILINE,
)
_LEAST_VERSIONS = 3
_READ = 20_000  # characters in which versions are looked for
_GENERATED = re.compile(
    r"search[-_.]?(index|data)([-_.].*)?\.(js|json|html?)|(gen|py-mod)index(-.*)?\.html?"
    r"|(package-lock|npm-shrinkwrap|composer\.lock|objects)\.json|.*[-.]lock(\.json|\.yaml)?"
    r"|.*[-.](min|bundle)\.(js|mjs|css)|.*\.(js|css)\.map"
)
_LONG_LINES = 500
_LEAST_CHARACTERS = 5000


def kind_of(path: str, document: Document) -> tuple[str, str]:
    """Return the kind of a document and the reason, or two empty texts."""
    file, suffix, is_text, kind, maybe = _of_path(path)
    if kind:
        return kind, f"it is named {file}"
    if suffix in _SCRIPT_SUFFIXES and (length := _line_length(document.text)) > _LONG_LINES:
        return GENERATED, f"its lines have {length:,} characters on average"
    if is_text and (title := _LICENCE_TITLE.match(document.text.lstrip("#=* \n\t"))):
        return LICENCE, f"it begins with “{' '.join(title[0].split())}”"
    titled = _CHANGES_TITLE.fullmatch(document.title.strip())
    if (titled or maybe) and len(_VERSION.findall(document.text[:_READ])) >= _LEAST_VERSIONS:
        named = f"its title is “{document.title}”" if titled else f"it is named {file}"
        return CHANGES, f"{named}, and lines begin with versions or dates"
    return "", ""


@lru_cache(maxsize=64)
def _of_path(path: str) -> tuple[str, str, bool, str, bool]:
    """Return name, suffix, whether it is of text, and what `_of_name` says, of a file."""
    file = PurePath(path).name
    name = _PACKED.sub("", file.casefold())
    suffix = PurePath(name).suffix
    is_text = suffix in _TEXTS or _NO_SUFFIX.fullmatch(suffix) is not None
    return (file, suffix, is_text, *_of_name(name, suffix, is_text=is_text))


def _of_name(name: str, suffix: str, *, is_text: bool) -> tuple[str, bool]:
    """Return the kind that the name of a file states, and whether it may be a change log."""
    if _GENERATED.fullmatch(name):
        return GENERATED, False
    stem = name.removesuffix(suffix) if suffix in _TEXTS else name
    if is_text and _LICENCE.fullmatch(stem):
        return LICENCE, False
    if is_text and _CHANGES.fullmatch(stem):
        return CHANGES, False
    return "", is_text and _MAYBE_CHANGES.fullmatch(stem) is not None


def _line_length(text: str) -> int:
    """Return the mean length of the lines of a text; 0 of a short one."""
    return len(text) // (1 + text.count("\n")) if len(text) >= _LEAST_CHARACTERS else 0


_NAMED = {
    LICENCE: re.compile(
        r"\b((un)?licen[cs]\w*|lizenz\w*|licenza|copyrights?|copying|copyleft|[al]?gpl[-v\d.]*)\b"
    ),
    CHANGES: re.compile(
        r"\b(change[-_ ]?logs?|changes|changed|news|release[ds]?|versions?|history|what['’]s new)\b"
    ),
    GENERATED: re.compile(
        r"\b((search|gen)[-_ ]?(index|data)|minified|lock[-_ ]?files?)\b|\.min\."
    ),
}


def kinds_named(query: str) -> frozenset[str]:
    """Return the kinds that a query names: "licence of the fonts", "changelog tar"."""
    text = query.casefold()
    return frozenset(kind for kind, named in _NAMED.items() if named.search(text))
