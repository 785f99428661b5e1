"""Small hand-made suites, judged by the real code: what the golden files and the report tests are built from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gate import registry
from gate.harness import score_row
from gate.model.accepted import Entry
from gate.model.case import QaCase
from gate.model.cost import Spent
from gate.model.fingerprint import corpus_version, label_digest, labels_version, qa_version, question_digest
from gate.model.measurement import ArmMeasurement, Label, Meaning, Measurement, Question
from gate.model.metric import Metrics
from gate.model.ranking import Ranking
from gate.model.report import BaselineRef, Environment, Report
from gate.model.settings import OpenArmSettings, OpenPolicySettings, SuiteSettings
from gate.model.verdict import Finding, Level, decide
from gate.noise import doubted, flaky_pairs, unstable_findings, with_again
from gate.policies import any_drop
from gate.renames import follow_renames
from gate.report.flaky import flaky_findings
from gate.situation import Run, Side, resolve, unmeasured
from gate.summary import NO_SITUATION, Extras, suite_report, whole_report

COMMIT = "4f2a9c1d7e3b5a6088c2f1e0d9b8a7c6e5f4d3c2"
MEANING = Meaning(k=3, pool=6, context=3)

Case = tuple[str, str, str, tuple[str, ...]]
"""id, query, kind, relevant pages"""

PAGES = ("errors", "install", "limits", "paint", "polish", "queue", "retry", "shake", "upgrade", "webhook")

CASES: tuple[Case, ...] = (
    ("rq-002", "E101 WidgetJam", "exact_term", ("errors",)),
    ("rq-004", "max_payload_kb", "exact_term", ("limits",)),
    ("rq-006", "Retry-After header", "exact_term", ("retry", "limits")),
    ("rq-008", "what happens when a job is sent twice", "semantic", ("queue",)),
    ("rq-010", "my widget is jammed, what now", "semantic", ("errors", "shake")),
    ("rq-012", "which colour dries fastest", "semantic", ("paint",)),
    ("rq-014", "why does the webhook fire again after an upgrade", "multi_hop", ("webhook", "upgrade")),
)


@dataclass
class World:
    """One tree: cases, the page order that each arm answers with (the relevant pages first by default), page hashes."""

    cases: tuple[Case, ...] = CASES
    pages: dict[str, str] = field(
        default_factory=lambda: {page: f"{n:016x}" for n, page in enumerate(PAGES, 1)}
    )
    ranked: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    arms: tuple[str, ...] = ("keyword", "vector")
    settings: dict[str, dict[str, object]] = field(default_factory=dict)
    failed: dict[str, dict[str, str]] = field(default_factory=dict)
    questions: dict[str, dict[str, tuple[str, int | None]]] = field(default_factory=dict)
    meaning: Meaning = MEANING
    unstable: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def but(self, **changes: object) -> World:
        return replace(self, **changes)  # type: ignore[arg-type]

    def answers(self, arm: str, **ranked: Sequence[str]) -> World:
        """The same with other answers of one arm: rq_004=("install", "limits")."""
        mine = {
            **self.ranked.get(arm, {}),
            **{name.replace("_", "-"): tuple(pages) for name, pages in ranked.items()},
        }
        return replace(self, ranked={**self.ranked, arm: mine})


def metrics() -> Metrics:
    return {name: registry.load("metrics", name, "tests") for name in registry.names("metrics")}


def ordinary(relevant: Sequence[str], pages: Sequence[str], pool: int) -> tuple[str, ...]:
    """The relevant pages that exist, then the others by name."""
    there = [page for page in relevant if page in pages]
    return tuple([*there, *(page for page in sorted(pages) if page not in there)][:pool])


def measurement(world: World) -> Measurement:
    labels = {}
    for name, query, kind, pages in world.cases:
        relevant = dict.fromkeys(pages, 1)
        labels[name] = Label(
            kind=kind, query=query, relevant=relevant, sha256=label_digest((name, query, relevant, kind))
        )
    arms = {}
    for arm in world.arms:
        failed = world.failed.get(arm, {})
        rows = {}
        for name, label in labels.items():
            if name in failed:
                continue
            pages = world.ranked.get(arm, {}).get(name) or ordinary(
                tuple(label.relevant), tuple(world.pages), 6
            )
            pages = () if pages == ("",) else pages
            ranking = Ranking(pages, tuple(range(1, len(pages) + 1)), len(pages))
            rows[name] = score_row(ranking, label.relevant, world.meaning, metrics())
        arms[arm] = ArmMeasurement(
            settings={"type": "bm25" if arm == "keyword" else "embedding", **world.settings.get(arm, {})},  # type: ignore[dict-item]
            rows=rows,
            failed=failed,
            unstable=world.unstable.get(arm, ()),
            questions={
                name: question(name, *found, world.meaning)
                for name, found in world.questions.get(arm, {}).items()
            },
        )
    asked = [qa_case(name, *found) for name, found in next(iter(world.questions.values()), {}).items()]
    return Measurement(
        suite="orbit",
        settings=world.meaning,
        cases_version=labels_version(label.key(name) for name, label in labels.items()),
        qa_version=qa_version(asked) if asked else None,
        corpus_version=corpus_version(world.pages),
        cases=labels,
        pages=world.pages,
        arms=arms,
    )


def qa_case(name: str, page: str, at: int | None) -> QaCase:
    return QaCase(name, f"What about {page}?", "An answer.", (page,))


def question(name: str, page: str, at: int | None, meaning: Meaning) -> Question:
    bucket = "retrieval" if at is None else "reached_context" if at <= meaning.context else "ranking"
    return Question(bucket=bucket, at={page: at}, sha256=question_digest(qa_case(name, page, at)))  # type: ignore[arg-type]


def settings(
    world: World, rules: Mapping[str, Mapping[str, object]] | None = None, **policy: object
) -> SuiteSettings:
    return SuiteSettings(
        corpus="docs",
        cases=("eval/cases.jsonl",),
        baseline="baselines/orbit.json",
        k=world.meaning.k,
        pool=world.meaning.pool,
        context=world.meaning.context,
        arms={arm: OpenArmSettings(type="bm25", **(rules or {}).get(arm, {})) for arm in world.arms},  # type: ignore[arg-type]
        policy=OpenPolicySettings(**policy),  # type: ignore[arg-type]
    )


def accepted(before: World, case: str, arm: str, reason: str) -> Entry:
    """An entry of the accepted file against the baseline of `before`."""
    recorded = measurement(before)
    return Entry(
        name=case,
        arm=arm,
        reason=reason,
        case_sha256=recorded.cases[case].sha256,
        baseline_sha256=recorded.sha256(),
    )


def judged(
    now: World,
    before: World | None,
    *,
    brought: World | None = None,
    entries: Sequence[Entry] = (),
    renames: Mapping[str, str] | None = None,
    rules: Mapping[str, Mapping[str, object]] | None = None,
    policy: Mapping[str, object] | None = None,
    compare: bool = True,
    left_out: tuple[str, ...] = (),
    lost_on_base: Sequence[tuple[str, str]] = (),
    extras: Extras | None = None,
    more: Iterable[Finding] = (),
    second: World | None = None,
    spent: Mapping[str, Spent] | None = None,
) -> Report:
    """The report of a pull request that turns `before` into `now`. `brought`: the baseline that it brings along.

    `second`: what a second measurement of the lost cases answers.
    """
    measured = measurement(now)
    recorded = measurement(before) if before is not None else None
    own = settings(now, rules, **(policy or {}))
    on_base = measured
    if before is not None and before.cases != now.cases:
        on_base = measurement(now.but(cases=before.cases))
    run = Run(
        suite="orbit",
        head=Side(own, measurement(brought) if brought is not None else recorded, tuple(entries)),
        now=measured,
        on_base=on_base,
        base=Side(own, recorded),
        renames=renames or {},
        left_out=left_out,
        already_lost={pair: {"recall": 0.0} for pair in lost_on_base},
    )
    run = follow_renames(run, metrics())
    situation = resolve(run, metrics()) if compare else NO_SITUATION
    if second is not None and recorded is not None:
        answers = measurement(second)
        run = with_again(
            run,
            {
                (arm, case): answers.arms[arm].rows[case]
                for arm, cases in doubted(recorded, [situation.arms]).items()
                for case in cases
            },
        )
        situation = resolve(run, metrics())
    findings = list(situation.findings) if compare else list(unmeasured(run))
    findings += flaky_findings(situation.arms, now.meaning.k)
    findings += unstable_findings(run.now, flaky_pairs(situation.arms))
    typed = any_drop.Settings(**own.policy.raw())
    for name, comparison in situation.arms.items():
        if own.arms[name].gate:
            findings += any_drop.judge(name, comparison, typed)
    findings += more
    order = list(Level)
    findings.sort(key=lambda finding: order.index(finding.level))
    reference = None
    if compare and recorded is not None:
        reference = BaselineRef(
            path="baselines/orbit.json",
            commit=COMMIT,
            sha256=recorded.sha256(),
            cases_version=recorded.cases_version,
        )
    suite = suite_report(
        run.now,
        own,
        situation,
        decide(findings, judged=compare),
        findings,
        reference,
        metrics(),
        (extras or Extras())._replace(again=run.again),
    )
    report = whole_report([suite])
    return report.model_copy(
        update={
            "environment": Environment(
                gate="0.1.0", python="3.13.1", spent={"orbit": dict(spent)} if spent else {}
            )
        }
    )
