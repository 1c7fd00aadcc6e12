"""Texts that a page must show as they are, wherever a record holds them."""

from __future__ import annotations

import atlas

MARKER = "hostile"
HOSTILE = [
    f"<script>window.{MARKER} = true</script><img src=x onerror='window.{MARKER} = true'>",
    f"![{MARKER}](https://example.invalid/pixel.png) [{MARKER}](javascript:alert(1))",
    f"$$\\frac{{{MARKER}}}{{0}}$$ and $x_{{{MARKER}}}$",
    f":red[{MARKER}] :material/bolt: :{MARKER}: # {MARKER} **{MARKER}** `{MARKER}`",
    f"{MARKER} \u202eright to left\u202c مرحبا שלום",
    f"{MARKER} 👩‍👩‍👧‍👦 e\u0301 \u200b \ufeff \x1b[31m \x07",
    f"=cmd|'/c calc'!A0 {MARKER}\r\n\t\x0b\x0c\u2028",
    MARKER + "x" * 2**20,
]


def everywhere(text: str) -> atlas.Trajectory:
    """An attempt that says a text wherever it can."""
    short = text[:150]
    return atlas.Trajectory(
        task=atlas.Task(
            id=short, domain=short, description=text, context={short: text}, verification=atlas.VerificationSpec(short)
        ),
        steps=(atlas.Step(thought=text, action=text, observation=text, metadata={short: text}),),
        outcome=atlas.Outcome(success=False, error_info=text, verification_details={short: text}),
        agent_id=short,
        metadata={"source": short, "solution": text, "feedback": f"{text} ", short: text},
    )
