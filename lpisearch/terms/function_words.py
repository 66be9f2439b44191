"""Common function words of each Snowball language, for language detection.

In goes nothing, out comes a set of words in lower case for each language. Unlike stop words they
take no part in making tokens, so that a list may grow at any time. All are about equally long, so
that no language wins by the length of its list.
"""

from __future__ import annotations

from functools import cache


@cache
def function_words() -> dict[str, tuple[str, ...]]:
    """Return for each word the languages whose list has it."""
    found: dict[str, list[str]] = {}
    for language, words in _LISTS.items():
        for word in set(words.split()):
            found.setdefault(word, []).append(language)
    return {word: tuple(languages) for word, languages in found.items()}


def languages() -> tuple[str, ...]:
    """Return every language that can be told."""
    return tuple(_LISTS)


_LISTS = {
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
