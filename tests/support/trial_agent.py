"""A scripted agent for trials: it succeeds where its block has the answer, and judges nothing itself on request."""

import json
import os
import sys
import time
from pathlib import Path

task = json.loads(Path(os.environ["ATLAS_TRIAL_TASK"]).read_text(encoding="utf-8"))
block = Path(os.environ["ATLAS_TRIAL_BLOCK"]).read_text(encoding="utf-8")
answer = task["context"]["answer"]
mode = sys.argv[1] if len(sys.argv) > 1 else "line"
if mode == "slow":
    time.sleep(0.15)
found = answer in block
if mode == "hang":
    time.sleep(60)
if mode == "crash":
    sys.exit(7)
if mode == "code":
    sys.exit(0 if found else 1)
if mode == "judged":
    sys.stdout.write(f"the answer is {answer if found else 'unknown'}")
    sys.exit(0)
if mode == "judge":
    output = Path(os.environ["ATLAS_TRIAL_ANSWER"]).read_text(encoding="utf-8")
    sys.exit(0 if answer in output else 1)
step = {"action": f"answer {answer}"}
sys.stdout.write(
    json.dumps(
        {
            "success": found,
            "tokens": 10 + len(block),
            "cost": 0.5,
            "model": "scripted",
            "steps": [step],
            "solution": answer,
        }
    )
)
