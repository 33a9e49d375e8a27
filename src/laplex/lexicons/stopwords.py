"""Words that say nothing of what a definition is about, by language.

Function words, and words that dictionaries use of other words ("see", "especially").
Contractions stand as the pieces that the tokenizer makes of them: "don't" is "don" and "t".
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from laplex.errors import InputError, quote
from laplex.lexicons.lists import lines

_WORDS = {
    "en": """
        a an the this that these those such same other another each every either neither both all any some no
        none i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself
        she her hers herself it its itself they them their theirs themselves one ones who whom whose which what
        whatever whichever anyone anything someone somebody something everyone everything nothing nobody am is
        are was were be been being do does did done doing have has had having will would shall should can could
        may might must ought and or but nor so yet if then than as because since while when whenever where
        wherever why how though although unless until till whether of in on at by to from for with without
        within into onto upon out off over under above below between among through during before after against
        about around across along toward towards up down per via not very too also only just even more most less
        least much many few several own here there again once ever never now thus hence therefore however rather
        quite don doesn didn isn aren wasn weren hasn haven hadn won wouldn couldn shouldn mustn ain ll ve re
        two used using see especially esp usually often sometimes chiefly generally mostly called etc eg ie cf
        viz plural singular obsolete figuratively fig obs
    """,
    "de": """
        der die das den dem des ein eine einen einem einer eines kein keine keinen keinem keiner keines dies
        diese diesem diesen dieser dieses jene jenem jenen jener jenes jede jedem jeden jeder jedes alle allem
        allen aller alles manche manchem manchen mancher manches solche solchem solchen solcher solches welche
        welchem welchen welcher welches ich mich mir mein meine meinem meinen meiner meines du dich dir dein
        deine deinem deinen deiner deines er ihn ihm sein seine seinem seinen seiner seines sie ihr ihre ihrem
        ihren ihrer ihres es wir uns unser unsere unserem unseren unserer euch euer eure eurem euren eurer ihnen
        sich man wer wen wem wessen was bin bist ist sind seid war warst waren wart gewesen werde wirst wird
        werden wurde wurden worden habe hast hat haben hatte hatten gehabt kann können konnte muss müssen soll
        sollen sollte darf dürfen mag mögen will wollen und oder aber denn doch sondern wenn als wie weil da
        dass damit daß ob obwohl bis bevor nachdem während in im an am auf aus bei beim von vom zu zum zur mit
        ohne für gegen durch über unter vor hinter neben zwischen nach seit um ab nicht nichts nur auch noch
        schon sehr so mehr sowie hier dort dann wo wann warum etwa je einander selbst etwas jemand jemanden
        jemandem jemandes siehe bzw usw etc besonders meist oft häufig plural singular
    """,
    "fr": """
        le la les l un une des du de d au aux ce cet cette ces c ça cela ceci mon ma mes ton ta tes son sa ses
        notre nos votre vos leur leurs je j me m moi tu te t toi il elle on nous vous ils elles se s soi lui eux
        y en qui que qu quoi dont où lequel laquelle lesquels lesquelles auquel duquel quel quelle quels quelles
        quelque quelques quelqu chaque tout toute tous toutes aucun aucune nul autre autres même mêmes tel telle
        tels telles plusieurs certain certaine certains certaines rien suis es est sommes êtes sont étais était
        étaient étant été être sera seront serait soit soient fut furent ai as a avons avez ont avais avait
        avaient ayant eu avoir aura auront fait faire peut peuvent pouvoir doit doivent et ou mais ni car donc
        si comme lorsque lorsqu quand puisque puisqu parce afin ainsi à dans par pour sur sous sans avec entre
        vers chez contre depuis pendant avant après jusque jusqu lors selon dès ne n pas non plus moins très
        trop peu beaucoup aussi encore déjà bien ici là alors puis voir chose souvent surtout généralement
        particulièrement etc pluriel singulier
    """,
    "es": """
        el la los las lo un una unos unas del al de este esta esto estos estas ese esa eso esos esas aquel
        aquella aquello aquellos aquellas mi mis tu tus su sus nuestro nuestra nuestros nuestras vuestro vuestra
        vuestros vuestras suyo suya yo me mí conmigo tú te ti él ella ello nos nosotros vos vosotros os ellos
        ellas le les se sí consigo usted ustedes que qué quien quién quienes cual cuál cuales cuyo cuya cuyos
        cuyas donde dónde cuando cuándo como cómo todo toda todos todas otro otra otros otras mismo misma mismos
        mismas algún alguno alguna algunos algunas ningún ninguno ninguna cada cualquier cualquiera tal tales
        varios varias algo alguien nada nadie uno soy es somos son era eran fue fueron ser siendo sido sea sean
        será está están estar estaba he ha han haber había hay hecho hacer hace tiene tienen tener puede pueden
        poder debe y e o u pero sino ni si porque pues aunque mientras a ante bajo con contra desde durante en
        entre hacia hasta para por según sin sobre tras no ya más menos muy mucho mucha muchos muchas poco
        también tampoco sólo solo así aquí allí entonces luego aún véase especialmente generalmente dicho dicha
        dícese etc plural singular
    """,
    "it": """
        il lo la i gli le l un uno una del dello della dei degli delle dell al allo alla ai agli alle all dal
        dallo dalla dai dagli dalle dall nel nello nella nei negli nelle nell sul sullo sulla sui sugli sulle
        sull col coi questo questa questi queste quest quello quella quelli quelle quel quei quegli quell ciò
        mio mia miei mie tuo tua tuoi tue suo sua suoi sue nostro nostra nostri nostre vostro vostra vostri
        vostre loro io mi me tu ti te lui lei egli ella esso essa essi esse noi ci voi vi si sé se ne che chi
        cui quale quali quanto quanta quanti quante tutto tutta tutti tutte altro altra altri altre stesso
        stessa stessi stesse qualche alcuno alcuna alcuni alcune ogni ognuno ciascuno nessun nessuno nessuna
        tale tali qualcosa qualcuno niente nulla sono sei è siamo siete era erano fu furono essere essendo stato
        stata stati state sia siano sarà ho hai ha abbiamo avete hanno aveva avevano avere avendo avuto fa fare
        fatto può possono potere deve devono e ed o od ma né però anzi dunque quindi perché poiché come quando
        mentre dove a ad da di in con su per tra fra senza sotto sopra contro verso presso durante dopo prima
        fino non più meno molto molta molti molte poco anche ancora già solo così qui lì là allora poi vedi
        specialmente generalmente detto detta etc ecc plurale singolare
    """,
    "nl": """
        de het een der des den dit dat deze die zulk zulke elk elke ieder iedere alle alles ander andere geen ik
        mij me mijn jij je jou jouw u uw hij hem zijn zij ze haar wij we ons onze jullie hun hen zich wie wat
        welk welke men iets iemand niets niemand ben bent is was waren geweest worden wordt werd werden heb hebt
        heeft hebben had hadden kan kunnen kon zal zullen zou moet moeten mag mogen wil willen en of maar want
        dus als dan toen omdat doordat zodat terwijl hoewel indien in op aan bij van voor met zonder door over
        onder boven tussen naar tot uit om te tegen na sinds per niet ook nog al zeer meer meest zo hier daar er
        waar waarin hoe wanneer waarom zie bijvoorbeeld vooral meestal vaak enz etc meervoud enkelvoud
    """,
    "pt": """
        o a os as um uma uns umas do da dos das de no na nos nas em num numa ao aos à às pelo pela pelos pelas
        este esta estes estas isto esse essa esses essas isso aquele aquela aqueles aquelas aquilo meu minha
        meus minhas teu tua teus tuas seu sua seus suas nosso nossa nossos nossas dele dela deles delas eu me
        mim tu te ti ele ela nós vós eles elas lhe lhes se si você vocês que quem qual quais cujo cuja onde
        quando como todo toda todos todas outro outra outros outras mesmo mesma algum alguma alguns algumas
        nenhum nenhuma cada qualquer tal tais vários várias algo alguém nada ninguém sou é somos são era eram
        foi foram ser sendo sido seja será está estão estar tem têm ter tinha há haver havia pode podem poder
        deve fazer faz feito e ou mas nem porque pois embora enquanto ante com contra desde durante entre até
        para por sem sob sobre não já mais menos muito muita muitos muitas pouco também só assim aqui ali então
        ainda ver veja especialmente geralmente diz dito etc plural singular
    """,
}


def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language.

    >>> "the" in stop_words("en"), "dog" in stop_words("en")
    (True, False)
    """
    try:
        return frozenset(_WORDS[language].split())
    except KeyError:
        raise InputError(
            f'there are no stop words for language="{language}", only for {quote(_WORDS)}: give a list of them by '
            "stop_words=, an empty one for none"
        ) from None


def chosen(language: str, given: str | os.PathLike[str] | Iterable[str] | None) -> frozenset[str]:
    """Those of a language, or those that a user gives: a list, or a file with a word a line."""
    if given is None:
        return stop_words(language)
    if isinstance(given, (str, os.PathLike)):
        return frozenset(line.strip() for _, line in lines(Path(given), "utf-8"))
    words = list(given)
    odd = [word for word in words if not isinstance(word, str)]
    if odd:
        raise InputError(f"stop_words= holds {odd[0]!r}, which is not a word")
    return frozenset(words)
