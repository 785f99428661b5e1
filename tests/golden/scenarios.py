"""The situations whose comment, console output and job summary are kept as golden files."""

from __future__ import annotations

from collections.abc import Callable

from golden.build import CASES, Case, World, accepted, judged

from gate.model.cost import Spent
from gate.model.report import Report
from gate.model.verdict import Finding, Level
from gate.report.flaky import tie_findings
from gate.summary import Extras

BASE = World()
HOSTILE = (
    "a | b` ``c`` <script>alert(1)</script> @octocat #1 GH-1 https://evil.example www.evil.example "
    "me@evil.example **bold** :tada: \x1b[31mred\u202etxt\u200b\n| - [ ] x"
)

# A reason is one line of visible characters; the accepted file sees to that.
REASON = "because " + "".join(char for char in HOSTILE if char.isprintable())


def good() -> Report:
    """Nothing fell, one case won."""
    before = BASE.answers("keyword", rq_012=("install", "queue", "retry", "paint"))
    return judged(BASE, before)


def quiet() -> Report:
    """Nothing moved: one page was edited, and two cases miss a page as they did before."""
    missing = {
        "rq_006": ("retry", "install", "paint", "limits"),
        "rq_012": ("install", "queue", "retry", "paint"),
    }
    pages = BASE.pages | {"install": "e" * 16}
    return judged(BASE.but(pages=pages).answers("keyword", **missing), BASE.answers("keyword", **missing))


def renamed() -> Report:
    """Two labels renamed with their page, one of which fell, and a third that was changed beyond the page's new name."""
    pages = {page: sha for page, sha in BASE.pages.items() if page not in ("limits", "webhook")}
    pages |= {"quotas": BASE.pages["limits"], "hooks": BASE.pages["webhook"]}
    labels = {"rq-004": ("quotas",), "rq-006": ("retry", "quotas"), "rq-014": ("hooks",)}
    cases: tuple[Case, ...] = tuple(
        (name, query, kind, labels.get(name, pages)) for name, query, kind, pages in CASES
    )
    now = BASE.but(cases=cases, pages=pages)
    for arm in now.arms:
        now = now.answers(
            arm,
            rq_004=("install", "polish", "retry", "quotas") if arm == "keyword" else ("quotas", "install"),
            rq_006=("retry", "quotas"),
            rq_014=("hooks", "upgrade"),
        )
    return judged(now, BASE, brought=now)


def regression() -> Report:
    """One loss for each cause: a deleted page, a renamed one, an edited one, one overtaken; and one win."""
    before = BASE.answers("vector", rq_008=("install", "paint", "polish", "queue"))
    pages = {page: sha for page, sha in BASE.pages.items() if page not in ("shake", "webhook")}
    pages |= {"hooks": BASE.pages["webhook"], "limits": "f" * 16, "install": "e" * 16, "news": "d" * 16}
    now = (
        BASE.but(pages=pages, settings={"vector": {"chunker": "page"}})
        .answers(
            "keyword",
            rq_004=("install", "news", "polish", "retry", "limits", "queue"),
            rq_006=("retry", "install", "news", "limits"),
            rq_010=("errors", "install", "news"),
            rq_014=("hooks", "upgrade", "install"),
        )
        .answers("vector", rq_012=("polish", "queue", "retry", "upgrade", "paint"), rq_002=("",))
    )
    return judged(
        now,
        before,
        extras=Extras(
            fields={case[0]: {"lang": "en" if case[0] < "rq-008" else "de"} for case in CASES},
            slices=("lang",),
            sweep=(1, 3, 5),
        ),
    )


def several_metrics() -> Report:
    """Two metrics decide: one kind falls on the second alone, one on both, and one case rises."""
    before = BASE.answers("vector", rq_014=("install", "webhook", "upgrade"))
    now = BASE.answers(
        "keyword", rq_004=("install", "limits", "paint"), rq_012=("install", "polish", "queue", "paint")
    )
    return judged(now, before, policy={"metrics": ("recall", "rr")})


def diagnosis() -> Report:
    """Retrieval holds, and QA questions move between the buckets."""
    before = BASE.but(
        questions={"keyword": {"qa-1": ("errors", 1), "qa-2": ("limits", 2), "qa-3": ("retry", 5)}}
    )
    now = BASE.but(
        questions={"keyword": {"qa-1": ("errors", 5), "qa-2": ("limits", None), "qa-3": ("retry", 2)}}
    )
    return judged(
        now.but(arms=("keyword",)),
        before.but(arms=("keyword",)),
        extras=Extras(unanswerable=2),
        more=[
            Finding(
                level=Level.WARNING,
                code="diagnosis-fell",
                arm="keyword",
                text="keyword: 2 QA questions fell back a bucket (qa-1, qa-2)",
            )
        ],
    )


def invalid_cases() -> Report:
    """Cases changed, the baseline did not."""
    added: Case = ("rq-042", "how do I polish", "semantic", ("polish",))
    changed: Case = ("rq-002", "E101 WidgetJam error", "exact_term", ("errors",))
    now = BASE.but(cases=(changed, *(case for case in CASES[1:] if case[0] != "rq-012"), added))
    return judged(now, BASE)


def cases_and_baseline() -> Report:
    """Cases and baseline changed together: added cases are listed with their misses, the others are gated."""
    added: Case = ("rq-042", "how do I polish", "semantic", ("polish",))
    now = BASE.but(cases=(*CASES, added)).answers("keyword", rq_042=("install", "paint", "queue", "polish"))
    return judged(now, BASE, brought=now)


def partial() -> Report:
    """An arm that is not required could not be measured."""
    now = BASE.but(failed={"vector": {"rq-004": "TimeoutError: timeout after 30 s"}})
    return judged(now, BASE, rules={"vector": {"required": False}})


def not_measured() -> Report:
    """The same for a required one, beside a drop in the other arm."""
    now = BASE.but(failed={"vector": {case[0]: "OSError: connection refused" for case in CASES[:3]}}).answers(
        "keyword", rq_012=("install", "queue", "retry", "polish", "upgrade", "paint")
    )
    return judged(now, BASE)


def without_a_key() -> Report:
    """A vector arm without its key, for one reason; it is not required, and another one is new in this change."""
    why = "OPENAI_API_KEY is not set. Set it, or name another variable with 'key'."
    now = BASE.but(arms=("keyword", "vector", "hybrid"), failed={"vector": {case[0]: why for case in CASES}})
    return judged(now, BASE, rules={"vector": {"required": False}, "hybrid": {"gate": False}})


def flaky() -> Report:
    """A noisy vector arm: one loss that a second measurement does not confirm, and one that it does. What it cost."""
    known = BASE.but(unstable={"vector": ("rq-002",)})
    lost = ("install", "limits", "paint", "queue")
    now = BASE.answers("vector", rq_008=lost, rq_012=("install", "limits", "queue", "paint"))
    return judged(
        now,
        known,
        second=BASE.answers("vector", rq_008=lost),
        extras=Extras(tied={"keyword": ("rq-004", "rq-010")}),
        more=tie_findings({"keyword": ("rq-004", "rq-010")}, BASE.meaning.k),
        spent={
            "vector": Spent(
                requests=1,
                texts=12,
                cached=4812,
                tokens=8140,
                cost_usd=0.0001628,
                price="0.02 USD per 1M tokens (2026-11-30)",
            ),
            "rerank": Spent(requests=3, texts=60, cost_usd=None),
        },
    )


def only_flaky() -> Report:
    """Nothing but a loss that is not confirmed: it passes, and says so."""
    known = BASE.but(unstable={"vector": ("rq-012",)})
    now = BASE.answers("vector", rq_012=("install", "limits", "queue", "paint"))
    return judged(now, known, second=BASE)


def unjudged() -> Report:
    """Only measured."""
    return judged(BASE.answers("keyword", rq_012=("install", "queue", "retry", "paint")), None, compare=False)


def banners() -> Report:
    """Accepted losses, a loss the base has as well, an arm that is shown only, a new arm."""
    before = BASE.but(arms=("keyword", "vector"))
    now = (
        BASE.but(arms=("keyword", "vector", "hybrid"))
        .answers(
            "keyword", rq_012=("install", "queue", "retry", "paint"), rq_004=("retry", "install", "queue")
        )
        .answers("vector", rq_008=("install", "paint", "polish", "queue"))
    )
    entries = [
        accepted(
            before,
            "rq-012",
            "keyword",
            "The page on paint moves to the new handbook, see the decision of May.",
        ),
        accepted(before, "rq-004", "keyword", "max_payload_kb is gone in 4.0"),
    ]
    return judged(
        now,
        before,
        entries=entries,
        rules={"vector": {"gate": False}, "hybrid": {"gate": False}},
        lost_on_base=[("keyword", "rq-012")],
    )


def hostile() -> Report:
    """Queries, ids, kinds, page names and reasons that try to be markup."""
    cases: tuple[Case, ...] = (
        (f"id {HOSTILE}", HOSTILE, f"kind {HOSTILE}"[:60], (f"page {HOSTILE}", "limits")),
        ("rq-004", "</details>\n# heading\n```\n", "<b>kind</b>", ("@page", "a\\|b")),
    )
    pages = {
        f"page {HOSTILE}": "1" * 16,
        "@page": "2" * 16,
        "a\\|b": "3" * 16,
        "<img src=x>": "4" * 16,
        "limits": "5" * 16,
    }
    before = World(cases=cases, pages=pages, arms=("keyword",))
    now = before.but(
        pages={**pages, "limits": "6" * 16},
        ranked={
            "keyword": {
                f"id {HOSTILE}": ("<img src=x>", "#12", "`", f"page {HOSTILE}", "limits"),
                "rq-004": ("https://evil.example/x", "@team/all", "| x |", "@page"),
            }
        },
    )
    return judged(now, before, entries=[accepted(before, "rq-004", "keyword", REASON)])


SCENARIOS: dict[str, Callable[[], Report]] = {
    "pass": good,
    "quiet": quiet,
    "regression": regression,
    "renamed": renamed,
    "several-metrics": several_metrics,
    "diagnosis": diagnosis,
    "invalid-cases": invalid_cases,
    "cases-and-baseline": cases_and_baseline,
    "partial": partial,
    "not-measured": not_measured,
    "without-a-key": without_a_key,
    "flaky": flaky,
    "only-flaky": only_flaky,
    "unjudged": unjudged,
    "banners": banners,
    "hostile": hostile,
}
