"""The rules of the scan: patterns of orders to the reading agent, and of tool calls in places for prose.

They include the patterns of `atlas.llm.instructions`. Each rule is a row of a table. A rule's weight is the share of
doubt that a match removes, so that weak signs add up. Repetitions in patterns are bounded, because texts are untrusted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from atlas.llm.instructions import INJECTION_PATTERNS

ORDERS, TOOL_CALLS, HIDDEN_TEXT, ENCODED = "orders", "tool calls", "hidden text", "encoded"
"""The attacks that rules detect."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern that occurs in texts of attacks, and rarely in other texts."""

    name: str
    attack: str
    weight: float
    """Confidence that a matching text is an attack, in (0, 1)."""

    why: str
    """Reason to suspect a match, as a sentence for people."""

    pattern: re.Pattern[str]
    """Pattern that is matched against the result of `fold`, or for hidden text against the text as stored."""

    cues: tuple[str, ...] = ()
    """Substrings, searched first, for speed. Every match contains one of them. May be empty."""


def _make_rule(name: str, attack: str, weight: float, why: str, cues: str, pattern: str) -> Rule:
    return Rule(name, attack, weight, why, re.compile(pattern), tuple(cues.split()))


_READER = (
    r"(?:(?:the|any|all|every|each|your)\s+){0,2}(?:(?:ai|language|future|reading)\s+){0,2}"
    r"(?:assistants?|models?|ais?|llms?|agents?|chatbots?|bots?)\b"
)
_GUIDANCE = (
    r"(?:instructions?|directives?|guidelines?|guardrails|prompts?|safeguards|orders|commands|restrictions|"
    r"polic(?:y|ies)|rules?)"
)
_EARLIER = (
    r"(?:safety|previous|previously|prior|earlier|above|preceding|existing|original|given|former|hidden|system|"
    r"developer|operator)"
)
_SENSITIVE = (
    r"(?:passwords?|passwd|passports?|api[ _-]?keys?|secrets?|credentials?|\.env\b|id_rsa|private keys?|ssh keys?|"
    r"access tokens?|connection strings?|card numbers?|customer lists?|system prompt|personal data)"
)
_SENSITIVE_CUES = (
    "passw passport key secret credential .env id_rsa token connection card customer prompt personal"  # of _SENSITIVE
)
_PLACE = r"(?:https?://|ftp://|\b[\w.+-]{1,64}@[\w-]{1,64}\.\w)"
_SEND_VERBS = r"\b(?:send|post|upload|forward|copy|transmit|submit|leak|exfiltrate|deliver|e-?mail|bcc)\b"

_PATTERN_WEIGHTS: Mapping[str, tuple[str, float]] = {
    "special token": (TOOL_CALLS, 0.8),
    "tool call": (TOOL_CALLS, 0.7),
    "role at a line's start": (TOOL_CALLS, 0.4),
    "heading of a prompt": (TOOL_CALLS, 0.4),
    "closing tag": (TOOL_CALLS, 0.5),
    "end of a part": (TOOL_CALLS, 0.4),
    "to play a role": (ORDERS, 0.4),
}
"""Attack and weight of injection patterns, keyed by name. All others are orders to drop the rules."""

INJECTION_RULES = tuple(
    Rule(known.name, attack, weight, f"It reads like {known.reads_like} of a prompt.", known.pattern, known.cues)
    for known in INJECTION_PATTERNS
    for attack, weight in (_PATTERN_WEIGHTS.get(known.name, (ORDERS, 0.8)),)
)

FURTHER_RULES: tuple[Rule, ...] = (
    # Orders to the agent that reads the memory
    _make_rule(
        "override",
        ORDERS,
        0.8,
        "It orders the reader to give up its instructions.",
        "ignor disregard forget discard abandon overr bypass neglect drop attention set follow obey",
        r"\b(?:ignor(?:e|ing)|disregard|forget|discard|abandon|override|overrule|bypass|neglect|drop|set aside|"
        r"pay no attention to|do not follow|don't follow|stop following|do not obey|stop obeying)\s+"
        r"(?:(?:the|all|any|your|every)\s+safety\b"
        rf"|(?:[\w']+,?\s+){{0,4}}{_EARLIER}\s+(?:[\w']+\s+){{0,2}}{_GUIDANCE}"
        rf"|(?:all|any|your|every|its)\s+(?:of\s+)?(?:(?:the|your|these|those)\s+)?(?:\w+\s+)?{_GUIDANCE}"
        rf"|(?:[\w']+\s+){{0,3}}{_GUIDANCE}\s+(?:given|stated|told|that you|you were|from before|and|on)\b"
        rf"|(?:the\s+)?{_GUIDANCE}\s*(?:[.,;]|$)"
        r"|everything\s+(?:[\w']+\s+){0,3}(?:told|learned|before|above|know))",
    ),
    _make_rule(
        "outranks",
        ORDERS,
        0.8,
        "It claims a higher rank than the reader's instructions.",
        "override supersede outrank replace high greater",
        r"\b(?:this|these)\s+(?:[\w-]+\s+)?"
        r"(?:memory|memories|notes?|instructions?|rules?|messages?|records?|directives?)\s+(?:overrides?|supersedes?|outranks?|replaces?)\b"
        rf"|\b(?:overrides?|supersedes?|outranks?|replaces?)\s+(?:all|any|every|your)\s+(?:[\w']+\s+){{0,2}}{_GUIDANCE}"
        r"|\b(?:higher|highest|greater)\s+(?:priority|precedence|authority)\s+(?:than|over)\b",
    ),
    _make_rule(
        "addressed to the reader",
        ORDERS,
        0.6,
        "It addresses the agent that reads the memory.",
        "assistant model ai llm agent bot",
        rf"\b(?:notes?|messages?|instructions?|reminders?|hints?|attention|orders?)\s*(?::|,|to|for)\s+{_READER}"
        rf"|\b{_READER},?\s+(?:that|who|which|when|if|once)\s+(?:\w+\s+){{0,2}}"
        r"(?:reads?|reading|sees?|retrieves?|process(?:es)?|finds?|recalls?)\b",
    ),
    _make_rule(
        "lasting order",
        ORDERS,
        0.4,
        "It gives an order for all later tasks.",
        "from henceforth future later subsequent coming further permanent every all each",
        r"\b(?:from now on|from this point (?:on|forward)|henceforth|as a permanent rule|"
        r"(?:in|for|on) (?:every|all|each) (?:future|later|subsequent|coming|further) (?:\w+ )?\w+|"
        r"permanent(?:ly)? (?:rule|instruction|remember)|"
        r"in (?:every|all|each) (?:conversation|session|answer|reply)s?)\b",
    ),
    _make_rule(
        "order to memory",
        ORDERS,
        0.5,
        "It asks to be remembered as a rule.",
        "memory rule instruction directive policy persist",
        r"\b(?:save|store|keep|remember|memori[sz]e|add|write)\s+(?:this|it|that|the following)\s+"
        r"(?:in|into|to|as)\s+(?:your\s+|an?\s+|the\s+)?(?:[\w-]+\s+){0,2}(?:memory|rule|instruction|directive|policy)\b"
        r"|\[(?:[a-z]+[ _-]?)?(?:memory|instruction)[ _-]?persist\]|\[persist[ _-]?\w+\]",
    ),
    _make_rule(
        "secrecy",
        ORDERS,
        0.5,
        "It asks to be kept from people.",
        "not don't never without ly",
        r"\b(?:do not|don't|never|must not|without)\s+(?:ever\s+)?(?:tell(?:ing)?|mention(?:ing)?|reveal(?:ing)?|"
        r"inform(?:ing)?|notify(?:ing)?|disclos(?:e|ing)|let(?:ting)?|alert(?:ing)?)\s+(?:\w+\s+){0,3}"
        r"(?:users?|customers?|anyone|anybody|humans?|people|owner|operator|this (?:note|memory|message|instruction)|"
        r"that (?:you|this))\b"
        r"|\bdo not (?:write|record|put) (?:it|this) (?:in|into|to) the log\b"
        r"|\b(?:silently|secretly|quietly|covertly)\s+(?:\w+\s+){0,2}"
        r"(?:send|post|forward|copy|upload|run|execute|add|delete|transfer|approve)\b"
        r"|\b(?:send|post|forward|copy|upload|run|execute|add|delete|transfer)\b[^.\n]{0,100}[\s,]"
        r"(?:silently|secretly|covertly)\b",
    ),
    _make_rule(
        "data to a stranger",
        ORDERS,
        0.6,
        "It orders data to be sent to an address.",
        "://  @",
        rf"{_SEND_VERBS}[^\n]{{0,120}}?{_SENSITIVE}[^\n]{{0,120}}?{_PLACE}"
        rf"|{_SEND_VERBS}[^\n]{{0,120}}?{_PLACE}[^\n]{{0,120}}?{_SENSITIVE}"
        rf"|\balways\s+(?:\w+\s+){{0,2}}(?:send|post|forward|copy|bcc)\b[^\n]{{0,80}}?{_PLACE}"
        r"|!\[[^\]\n]{0,80}\]\(https?://[^)\s]{1,200}(?:secret|history|context|password|token|\{\{|\$\{)",
    ),
    _make_rule(
        "secrets in answers",
        ORDERS,
        0.4,
        "It orders secrets to be put into answers.",
        _SENSITIVE_CUES,
        r"\b(?:give out|hand out|reveal|print|show|output|reply with|respond with|answer with|include|put|read|send|"
        rf"provide|tell)\b(?:[^.\n]|\.(?=\w)){{0,60}}?{_SENSITIVE}",
    ),
    _make_rule(
        "new role",
        ORDERS,
        0.6,
        "It gives the reader another role, without limits.",
        "you act un jailbr",
        r"\byou are (?:now|no longer|from now on)\s+(?:an?\s+|the\s+)?(?:\w+\s+){0,3}"
        r"(?:assistant|model|ai|agent|admin\w*|root|bot|mode|bound|restricted|unrestricted|dan)\b"
        r"|\bact as (?:an?\s+|the\s+)?(?:\w+\s+){0,2}(?:admin\w*|root|superuser|unrestricted|system|owner)\b"
        r"|\byou (?:now )?have no (?:\w+ )?(?:restrictions|limits|rules|limitations)\b"
        r"|\b(?:unrestricted|uncensored|unfiltered|jailbroken)\s+(?:assistant|model|ai|agent|mode)\b"
        r"|\bjailbr(?:eak|oken)\b",
    ),
    _make_rule(
        "claimed authority",
        ORDERS,
        0.4,
        "It claims to come from the system or an operator.",
        "system developer admin operator instruction directive order owner",
        r"\bsystem\s+(?:override|update|message|notice|alert|command|instruction|directive)\s*[:.\-!]"
        r"|(?:^|\n)[ \t]*+\[(?:system|developer|admin(?:istrator)?|operator)\]\s*+:?\s*+(?=\w)"
        r"|\b(?:new|updated)\s+(?:instructions?|directives?|orders)\s+(?:for|to|from)\b"
        r"|\bthe (?:operator|developer|administrator|owner) has (?:changed|updated|suspended|allowed)\b",
    ),
    _make_rule(
        "checks switched off",
        ORDERS,
        0.4,
        "It switches off checks, or grants everything.",
        "skip stop turn switch disable suspend bypass remove safety security without approv grant waive accept report "
        "never",
        r"\b(?:skip|stop using|turn off|switch off|disable|suspend|bypass|remove)\s+(?:\w+\s+){0,2}"
        r"(?:confirmations?|verification|safety|approvals?|audit|safeguards|guardrails)\b"
        r"|\b(?:safety|security)\s+(?:polic(?:y|ies)|rules|checks?|filters?)\s+(?:\w+\s+){0,2}"
        r"(?:suspended|disabled|lifted|off)\b"
        r"|\b(?:run|execute|carry out|perform|delete|approve)\s+(?:[\w']+\s+){0,4}without\s+"
        r"(?:asking|checking|confirmation|reading|a check)\b"
        r"|\b(?:approve|grant|waive|accept)\s+(?:them all|(?:every|all|any|each|admin(?:istrator)?)\b)"
        r"|\bnever ask\s+(?:\w+\s+){0,3}(?:confirmation|approval|permission)\b"
        r"|\bwithout\s+(?:approval|permission|asking the (?:user|operator|owner))\b"
        r"|\breport (?:every|all|each)\s+\w+\s+as\s+(?:succeeded|successful|done|passed)\b",
    ),
    _make_rule(
        "order to leak the prompt",
        ORDERS,
        0.5,
        "It asks for the reader's hidden instructions.",
        "prompt instruction configuration message",
        r"\b(?:print|reveal|show|repeat|output|display|leak|disclose|tell)\b[^.\n]{0,30}"
        r"\b(?:system|hidden|initial|secret)\s+(?:developer\s+)?(?:prompt|instructions?|configuration|messages?)\b",
    ),
    # Tool calls, and tags of chats, in places for prose
    _make_rule(
        "download and run",
        TOOL_CALLS,
        0.6,
        "It contains a command that runs a downloaded program.",
        "curl wget",
        r"\b(?:curl|wget)\s[^\n|;]{1,200}(?:\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b|(?:&&|;)[^\n]{0,80}chmod\s+\+x)",
    ),
    _make_rule(
        "tag of a tool call",
        TOOL_CALLS,
        0.7,
        "It contains a tag of a tool call, or of its result.",
        "tool function invoke",
        r"</?(?:tool_?calls?|tool_?use|tool_?results?|tool_?response|function_?calls?|function_?results?|"
        r"use_mcp_tool)\b[^<>\n]{0,80}>|<function=[\w.-]{1,60}>|<tool\s+name=|\[(?:available_tools)\]",
    ),
    _make_rule(
        "tag of a role",
        TOOL_CALLS,
        0.6,
        "It contains a tag that starts or ends a message of the system or an agent.",
        "<system <assistant <observation </",
        r"</?(?:system|assistant|observation|system[_-](?:prompt|message|reminder))>",
    ),
    _make_rule(
        "tool call in JSON",
        TOOL_CALLS,
        0.6,
        "It contains a tool call as JSON.",
        '"',
        r'"(?:function_call|tool_calls|tool_use|tool_call)"\s*[:,}]'
        r'|"(?:name|tool|tool_name|function|action)"\s*:\s*"[\w.:/-]{1,80}"\s*,\s*'
        r'"(?:arguments|args|parameters|input|action_input|tool_input)"\s*:\s*["{]',
    ),
    _make_rule(
        "tool call as text",
        TOOL_CALLS,
        0.5,
        "It contains a tool call as an agent writes one, with its input.",
        "action",
        r"(?:^|\n)[ \t]*+action:\s*+\w[\w .-]{0,60}\n\s*+action input:",
    ),
    _make_rule(
        "turns of a chat",
        TOOL_CALLS,
        0.4,
        "It contains turns of a chat that may never have taken place.",
        "assistant ai system",
        r"\n[ \t]*+(?:human|user)[ \t]*+:\s[^\n]{0,400}\n\s*+(?:assistant|ai|system)[ \t]*+:\s"
        r"|\n[ \t]*+assistant[ \t]*+:\s[^\n]{0,400}\n\s*+(?:system|user|human)[ \t]*+:\s",
    ),
)

RULES: tuple[Rule, ...] = INJECTION_RULES + FURTHER_RULES
"""The rules on visible text."""
