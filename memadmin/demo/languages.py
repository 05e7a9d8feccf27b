"""Chats in other languages and scripts, for the customers who write in them. No slots: these are told once each."""

from memadmin.demo.kinds import ADDRESS, ALLERGY, COMMITMENT, COMPLAINT, HEALTH, IDENTITY, ORDER, PREFERENCE, QUESTION, REFILL
from memadmin.demo.topics import Fact, Topic

DUTCH = (
    Topic(
        name="delayed-order",
        weight=1,
        language="nl",
        summary="De bestelling was te laat; een tweede pakket is voor donderdag beloofd.",
        exchanges=(
            ("Mijn bestelling is er nog steeds niet.", "Dat spijt me. Het pakket staat al twee dagen stil bij de bezorger."),
            ("Ik heb mijn inhalator vóór donderdag nodig.", "Dan sturen we een tweede pakket, dat donderdag vóór twaalf uur aankomt."),
        ),
        facts=(
            Fact(ORDER, 0, "Bestelling was twee dagen te laat door de bezorger."),
            Fact(HEALTH, 1, "Gebruikt een inhalator (salbutamol) en had er nog maar één."),
            Fact(COMMITMENT, 1, "Beloofd: tweede pakket op donderdag vóór twaalf uur."),
        ),
    ),
    Topic(
        name="allergy",
        weight=1,
        language="nl",
        summary="Allergisch voor penicilline; staat bovenaan in het dossier.",
        exchanges=(("Ik ben allergisch voor penicilline, ik kreeg er uitslag van.", "Dank u, het staat nu bovenaan in uw dossier."),),
        facts=(Fact(ALLERGY, 0, "Allergisch voor penicilline (huiduitslag). Nooit voorstellen."),),
    ),
)
SPANISH = (
    Topic(
        name="new-address",
        weight=1,
        language="es",
        summary="Nueva dirección de entrega y horario preferido.",
        exchanges=(
            ("Me he mudado: ahora vivo en la calle del Olmo 14, 2.º B.", "Anotado: calle del Olmo 14, 2.º B."),
            ("Por las mañanas no hay nadie.", "Entonces pediremos que lo entreguen por la tarde."),
        ),
        facts=(
            Fact(ADDRESS, 0, "Dirección de entrega: calle del Olmo 14, 2.º B."),
            Fact(PREFERENCE, 1, "Prefiere que las entregas lleguen por la tarde; por la mañana no hay nadie en casa."),
        ),
    ),
    Topic(
        name="courier-complaint",
        weight=1,
        language="es",
        summary="Queja: el repartidor dejó el paquete en el portal.",
        exchanges=(("¡Otra vez dejaron el paquete en el portal!", "Lo siento mucho. He abierto una reclamación."),),
        facts=(Fact(COMPLAINT, 0, "El repartidor dejó el paquete en el portal sin avisar; se abrió una reclamación."),),
    ),
)
CHINESE = (
    Topic(
        name="refill",
        weight=1,
        language="zh",
        summary="每三十天续配二甲双胍，在车站路分店自取。",
        exchanges=(
            ("我想续配二甲双胍。", "可以，您的处方还能续配三次。需要送货吗？"),
            ("不用，我每三十天到车站路分店自取。", "好的，提前两天会发短信提醒您。"),
        ),
        facts=(
            Fact(REFILL, 1, "每三十天续配二甲双胍 500 毫克，在车站路分店自取。"),
            Fact(PREFERENCE, 1, "希望提前两天收到短信提醒，不要打电话。"),
        ),
    ),
    Topic(
        name="allergy",
        weight=1,
        language="zh",
        summary="对花生油过敏，已写入档案。",
        exchanges=(("我对花生油过敏，会喘不过气。", "谢谢您告诉我，已经写在档案最上面。"),),
        facts=(Fact(ALLERGY, 0, "对花生油过敏：呼吸困难。绝不能推荐含花生油的产品。"),),
    ),
)
ARABIC = (
    Topic(
        name="insurance",
        weight=1,
        language="ar",
        summary="غيّرت العميلة شركة التأمين، والفاتورة الأخيرة ستُرسل من جديد.",
        exchanges=(
            ("لقد غيّرت شركة التأمين.", "شكرًا لكِ. هل يمكنكِ إرسال رقم الوثيقة؟"),
            ("الرقم 48210733. أفضّل المراسلة بالعربية.", "تم. سنكتب لكِ بالعربية من الآن."),
        ),
        facts=(
            Fact(IDENTITY, 1, "تفضّل المراسلة بالعربية، وعبر الرسائل النصية فقط."),
            Fact(COMMITMENT, 0, "وعدنا بإرسال الفاتورة الأخيرة إلى شركة التأمين من جديد."),
            Fact(QUESTION, 0, "سألت مرة عن مواعيد العمل في العيد."),
        ),
    ),
)
HEBREW = (
    Topic(
        name="side-effects",
        weight=1,
        language="he",
        summary="סחרחורת מאז תחילת הטיפול; הופנתה לרוקחת.",
        exchanges=(
            ("מאז שהתחלתי עם התרופה יש לי סחרחורת בבוקר.", "זה מופיע כתופעה שכיחה. העברתי אותך לרוקחת שלנו."),
            ("היא אמרה לקחת עם אוכל.", "מצוין, רשמתי. אם זה לא עובר עד יום חמישי, פני לרופא."),
        ),
        facts=(
            Fact(HEALTH, 0, "סחרחורת בבוקר מאז תחילת הטיפול ב-amlodipine 5 mg."),
            Fact(HEALTH, 1, "הרוקחת המליצה לקחת את התרופה עם אוכל."),
        ),
    ),
)
