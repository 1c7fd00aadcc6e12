"""Detection of prompt injection: texts that read like an instruction or like a closing tag of the prompt.

This is a list of well-known patterns. An instruction in other words is not detected.
"""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass

AN_INSTRUCTION = "an instruction"
A_CLOSING_TAG = "a closing tag"


@dataclass(frozen=True, slots=True)
class InjectionPattern:
    """A pattern of texts that models may follow as an instruction, or take for the end of a prompt's section."""

    name: str
    reads_like: str
    cues: tuple[str, ...]
    """Substrings, searched first, for speed. Every match contains one of them."""

    pattern: re.Pattern[str]
    """Pattern that is matched against the result of `fold`, both line by line and with joined lines."""


def _make_pattern(name: str, cues: str, pattern: str, reads_like: str = AN_INSTRUCTION) -> InjectionPattern:
    return InjectionPattern(name, reads_like, tuple(cues.split()), re.compile(pattern))


_START = r"(?:^|\n)[\s>*_#\"'`|-]{0,12}"
"""Start of a line, including quotation marks, list markers and emphasis."""

_EARLIER = r"(?:previous|prior|earlier|above|preceding|foregoing|existing|original|system|your)"
_RULES = r"(?:instructions?|prompts?|rules|guidelines|directives|orders|commands)"
_PARTS = (
    r"(?:system(?:[-_ ]\w+)?|users?|assistant|human|developer|instructions?|prompts?|context|atlas[-_ ]?memory|memory|"
    r"memories|documents?|conversation|history|tool_\w+|function_\w+|antml:\w+)"
)

INJECTION_PATTERNS = (
    _make_pattern(
        "to drop the rules",
        "ignore disregard forget override bypass",
        rf"\b(?:ignore|disregard|forget|override|bypass)\b.{{0,30}}\b{_EARLIER} .{{0,20}}{_RULES}\b",
    ),
    _make_pattern(
        "to drop them all",
        "ignore disregard forget",
        r"\b(?:ignore|disregard|forget) (?:all |any |the |these |those )?(?:of )?(?:the |your )?"
        rf"(?:instructions\b|{_RULES} (?:above|before|so far)\b|everything (?:above|before)\b)",
    ),
    _make_pattern(
        "to disobey",
        "follow obey",
        rf"\b(?:do not|don't|never) (?:follow|obey) .{{0,20}}\b{_EARLIER} .{{0,20}}{_RULES}\b",
    ),
    _make_pattern(
        "another role",
        "you",
        r"\byou are now (?:an? (?!member|part)|my |dan\b|no longer |un\w+ed\b|in \w+ mode\b)",
    ),
    _make_pattern("from now on", "from", r"\bfrom now on,? you (?:are|will|must|shall|should|only)\b"),
    _make_pattern(
        "to play a role",
        "pretend act",
        r"\b(?:pretend (?:to be|that you are|you are)|act as (?:if you (?:are|were)|dan)) ",
    ),
    _make_pattern(
        "to tell the prompt",
        "prompt instruction message",
        r"\b(?:reveal|print|show|repeat|output|leak|send) .{0,20}"
        r"\b(?:system|initial|hidden|developer) (?:prompt|instructions?|message)\b",
    ),
    _make_pattern(
        "German",
        "ignorier vergiss missacht",
        r"\b(?:ignorier|vergiss|missacht)\w*\b.{0,40}\b(?:anweisung|instruktion|regel|vorgabe|befehl)\w*",
    ),
    _make_pattern(
        "French", "ignore oublie", r"\b(?:ignore|oublie)[rzs]?\b.{0,40}\b(?:instruction|consigne|regle|directive)s\b"
    ),
    _make_pattern(
        "Spanish",
        "ignor olvid caso",
        r"\b(?:ignor[ae]\w*|olvid[ae]\w*|haz caso omiso)\b.{0,40}\b(?:instrucciones|reglas|indicaciones|ordenes)\b",
    ),
    _make_pattern(
        "Portuguese", "ignor esquec desconsider", r"\b(?:ignor|esquec|desconsider)\w+\b.{0,40}\b(?:instrucoes|regras)\b"
    ),
    _make_pattern(
        "Italian", "ignora dimentica", r"\b(?:ignora|dimentica)\w*\b.{0,40}\b(?:istruzioni|regole|indicazioni)\b"
    ),
    _make_pattern("Dutch", "negeer vergeet", r"\b(?:negeer|vergeet)\b.{0,40}\b(?:instructies|regels|opdrachten)\b"),
    _make_pattern(
        "Russian",
        "игнорируи забудь",
        r"\b(?:про)?(?:игнорируи|забудь)\w*\b.{0,40}\b(?:инструкци|указани|правил)\w*",
    ),
    _make_pattern(
        "Chinese",
        "忽略 无视 無視 忘记 忘記 忘掉 理会",
        r"(?:忽略|无视|無視|忘记|忘記|忘掉|不要理会).{0,15}(?:指令|指示|提示|规则|規則|命令)",
    ),
    _make_pattern("Japanese", "無視 忘れ", r"(?:指示|命令|規則|指令).{0,10}(?:無視|忘れ)"),
    _make_pattern("Korean", "무시 잊", r"(?:지시|명령|규칙|지침).{0,10}(?:무시|잊)"),
    _make_pattern("Arabic", "تجاهل", r"\bتجاهل\b.{0,40}(?:التعليمات|الاوامر|القواعد)"),  # noqa: RUF001
    _make_pattern("special token", "<| of_turn> sys>>", r"<\|[^\s<>|]{2,40}\|>|<(?:start|end)_of_turn>|<</?sys>>"),
    _make_pattern("special token", "inst] tool_", r"\[/?inst\]|\[/?(?:tool_calls|tool_results)\]"),
    _make_pattern(
        "tool call",
        "function invoke tool_",
        r"<(?:antml:)?(?:function_calls?|invoke name|tool_calls?|tool_use|function=)",
    ),
    _make_pattern(
        "role at a line's start",
        "system assistant developer human",
        _START + r"(?:system|assistant|developer|human)(?: (?:prompt|message|instructions?))? ?: ?\S",
    ),
    _make_pattern(
        "heading of a prompt",
        "##",
        r"(?:^|\n)\s{0,4}#{2,} ?(?:system|instructions?|response|assistant|human|user)(?: prompt)? ?:",
    ),
    _make_pattern(
        "new instructions",
        "instruction",
        _START + r"(?:new|updated|real|actual|important|urgent) instructions? ?:",
    ),
    _make_pattern("closing tag", "/", rf"< ?/ ?{_PARTS} ?>|</s>", A_CLOSING_TAG),
    _make_pattern(
        "end of a part",
        "end",
        r"(?:^|\n)[-=#*\[( ]{0,8}end of (?:the |your )?(?:system |user )?"
        r"(?:memory|memories|context|prompt|instructions|conversation)\b",
        A_CLOSING_TAG,
    ),
)
"""The known patterns, in the order of matching. Those named after a language are variants of "ignore the rules"."""

_LOOK_ALIKES = str.maketrans("аеорсухіјѕԁһӏԛԝοαειρτυνκ", "aeopcyxijsdhlqwoaeiptuvk")
"""Translation of Cyrillic and Greek homoglyphs to Latin letters."""

_ESCAPE = re.compile(r"\\(?:u00|x)([2-7][0-9a-f])", re.IGNORECASE)
_CONTROLS = {code: " " if code == 9 else None for code in (*range(10), *range(11, 32), 127)}
_INVISIBLE_CATEGORIES = frozenset(("Mn", "Me", "Cf", "Cc", "Cs", "Co", "Cn"))
"""Unicode categories of invisible and combining characters."""


def detect_injection(text: str) -> str:
    """Return `an instruction` or `a closing tag` if a model may mistake the text for one, else an empty string."""
    lines = fold(text)
    spellings = {lines} if lines.isascii() else {lines, to_latin(text)}
    variants = {variant for spelling in spellings for variant in (spelling, " ".join(spelling.split()))}
    for injection_pattern in INJECTION_PATTERNS:
        for variant in variants:
            if any(cue in variant for cue in injection_pattern.cues) and injection_pattern.pattern.search(variant):
                return injection_pattern.reads_like
    return ""


def to_latin(text: str) -> str:
    """Return the result of `fold` with homoglyphs, such as Cyrillic letters, replaced by Latin letters."""
    return fold(text).translate(_LOOK_ALIKES)


def fold(text: str) -> str:
    """Return a string normalised for matching against patterns.

    Case, accents, invisible characters, compatibility forms, HTML entities and escapes are removed; line breaks are
    kept.
    """
    unescaped = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), html.unescape(text) if "&" in text else text)
    lines = "\n".join(unescaped.splitlines())
    if not lines.isascii():
        decomposed = unicodedata.normalize("NFKD", lines)
        visible = "".join(
            character
            for character in decomposed
            if character == "\n" or unicodedata.category(character) not in _INVISIBLE_CATEGORIES
        )
        lines = unicodedata.normalize("NFC", visible)
    return lines.translate(_CONTROLS).casefold()
