"""Long lists in findings end with how many more there are, whichever module words them."""

from __future__ import annotations

from golden.build import World, accepted, judged, measurement
from golden.scenarios import BASE

from gate.edits import by_arm
from gate.labelling.lint import never_found
from gate.model.comparison import CaseChanges
from gate.noise import unstable_findings

NAMES = tuple(f"rq-{n:02d}" for n in range(10))


def test_changed_cases() -> None:
    said = str(CaseChanges(added=NAMES, removed=("rq-90",)))
    assert said == f"10 added: {', '.join(NAMES[:8])} and 2 more; 1 removed: rq-90"


def test_names_by_arm() -> None:
    assert by_arm({"keyword": NAMES, "vector": ["rq-90"]}) == (
        f"keyword: {', '.join(NAMES[:5])} and 5 more; vector: rq-90"
    )


def many() -> World:
    cases = tuple((name, f"query {name}", "semantic", ("errors",)) for name in NAMES)
    return BASE.but(cases=cases, arms=("keyword",))


LOWER = many().answers("keyword", **{name.replace("-", "_"): ("paint", "queue", "retry") for name in NAMES})


def test_gains() -> None:
    texts = {finding.code: finding.text for finding in judged(many(), LOWER).suites[0].findings}
    assert texts["baseline-below"].endswith(f"({', '.join(NAMES[:8])} and 2 more)")


def test_unstable_cases_and_cases_that_nothing_finds() -> None:
    (finding,) = unstable_findings(measurement(many().but(unstable={"keyword": NAMES})))
    assert finding.text.endswith(f"({', '.join(NAMES[:8])} and 2 more)")
    (said,) = never_found(measurement(LOWER))
    assert said.endswith(f"({', '.join(NAMES[:6])} and 4 more)")


def test_accepted_losses_with_their_reasons() -> None:
    """A reason may hold commas, so these stand apart by semicolons."""
    entries = [accepted(many(), name, "keyword", "moved, on purpose") for name in NAMES]
    suite = judged(LOWER, many(), entries=entries).suites[0]
    (text,) = [finding.text for finding in suite.findings if finding.code == "accepted-here"]
    assert text.endswith("rq-07 (keyword): moved, on purpose; and 2 more")
