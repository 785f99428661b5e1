"""What stands where there is no report: the verdict, a title, and the problems as a list. Comment, summary and file alike."""

from __future__ import annotations

from collections.abc import Sequence

from gate.errors import GateError, Problem
from gate.model.verdict import Verdict, of_fault
from gate.report.escape import plain

LIST_BYTES = 50_000


def fault_text(fault: GateError, title: str = "") -> str:
    """The whole of it for one fault. `title` is what did not come about."""
    verdict = of_fault(fault.exit_code)
    title = title or ("nothing was measured" if verdict is Verdict.INVALID else "")
    return fault_body(verdict, title, problem_list(fault.problems))


def fault_body(verdict: Verdict, title: str, lines: str) -> str:
    """A title and a list under the verdict, which `gate.report.render.verdict_of` finds again."""
    said = ": ".join(filter(None, (verdict.value.replace("_", " "), title)))
    return f"<!-- retrieval-gate verdict={verdict.value} -->\n### ⛔ {said}\n\n{lines}\n"


def problem_list(problems: Sequence[Problem], most: int = 50) -> str:
    """The problems as a list in Markdown that fits into a comment, however much escaping makes of them."""
    lines: list[str] = []
    room = LIST_BYTES
    for problem in problems[:most]:
        line = f"- {plain(str(problem), 1000)}"
        room -= len(line.encode()) + 1
        if room < 0:
            break
        lines.append(line)
    left = len(problems) - len(lines)
    return "\n".join([*lines, *([f"- and {left} more"] if left else [])])
