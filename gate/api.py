"""The harness for notebooks and pytest: metrics, cases, `evaluate_retrieval`, comparison, slices, diagnosis.

Rankings are page names, best first, each once; `relevant` is a collection of page names, or page -> grade.

>>> ranking = ["d3", "d1", "d7", "d2", "d9"]
>>> relevant = {"d1", "d2"}
>>> recall_at_k(ranking, relevant, 3), recall_at_k(ranking, relevant, 5)
(0.5, 1.0)
>>> reciprocal_rank(ranking, relevant), hit_at_k(ranking, relevant, 1)
(0.5, 0.0)
>>> precision_at_k(ranking, relevant, 3) == 1 / 3, precision_at_k(ranking, relevant, 5)
(True, 0.4)
>>> round(ndcg_at_k(ranking, relevant, 5), 3)
0.651
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gate import registry
from gate.compare import Context, compare_arm
from gate.diagnosis import Diagnosis
from gate.diagnosis import diagnose as _diagnose
from gate.diagnosis import locate as _locate
from gate.errors import InputError, Problem
from gate.harness import evaluate
from gate.metrics import hit, mrr, ndcg, precision, recall
from gate.model.case import Case, QaCase, Split
from gate.model.comparison import ArmComparison
from gate.model.fingerprint import case_key, cases_version, corpus_version, label_digest, shown
from gate.model.measurement import ArmMeasurement, Label, Meaning, Measurement
from gate.model.metric import Metrics
from gate.model.ranking import Arm, Hit, rank_pages
from gate.model.report import Means, Report, SuiteReport, Versions
from gate.model.settings import ArmSettings
from gate.model.verdict import Verdict
from gate.summary import Extras, arm_report, mean_names, means, measurement_of, whole_report

SearchFunction = Callable[[str, int], Sequence[Hit]]
Relevant = Collection[str] | Mapping[str, int]

__all__ = [
    "Case",
    "Hit",
    "QaCase",
    "SystemsComparison",
    "by_slice",
    "compare_reports",
    "diagnose",
    "evaluate_retrieval",
    "hit_at_k",
    "load_retrieval_cases",
    "locate",
    "ndcg_at_k",
    "precision_at_k",
    "ranked_doc_ids",
    "recall_at_k",
    "reciprocal_rank",
    "save_report",
]


def _grades(relevant: Relevant) -> Mapping[str, int]:
    return relevant if isinstance(relevant, Mapping) else dict.fromkeys(relevant, 1)


def recall_at_k(ranked: Sequence[str], relevant: Relevant, k: int) -> float:
    """|relevant in the top k| / |relevant|. ValueError for k < 1 or nothing relevant."""
    return recall.score(ranked, _grades(relevant), k)


def reciprocal_rank(ranked: Sequence[str], relevant: Relevant) -> float:
    """1 / rank of the first relevant page over the whole ranking, 0 if none."""
    return mrr.score(ranked, _grades(relevant), 1)


def hit_at_k(ranked: Sequence[str], relevant: Relevant, k: int) -> float:
    """1 if any relevant page is in the top k, else 0."""
    return hit.score(ranked, _grades(relevant), k)


def precision_at_k(ranked: Sequence[str], relevant: Relevant, k: int) -> float:
    """|relevant in the top k| / k; a short ranking is not excused."""
    return precision.score(ranked, _grades(relevant), k)


def ndcg_at_k(ranked: Sequence[str], relevant: Relevant, k: int) -> float:
    """Linear gain grade / log2(position + 1), over the ideal order of the labels cut at k (Jarvelin, Kekalainen 2002)."""
    return ndcg.score(ranked, _grades(relevant), k)


def ranked_doc_ids(hits: Sequence[Hit]) -> list[str]:
    """The page ranking of a list of hits: each page once, at its best position, in the order the hits came."""
    return list(rank_pages(hits).pages)


def load_retrieval_cases(
    split: Split = "test",
    *,
    extra: Iterable[str | Path] = (),
    suite: str | None = None,
    config: str | Path | None = None,
) -> tuple[Case, ...]:
    """The cases of a suite of the nearest gate.toml (the first one unless `suite` names it), checked like in a run.

    `extra` adds further case files. Raises InputError with every problem of every file.
    """
    from gate.corpus.read import read_corpus
    from gate.store import config as store
    from gate.store.cases import load_cases

    loaded = store.load(Path(config) if config is not None else store.find(Path.cwd()))
    suites = loaded.settings.suite
    name = suite if suite is not None else next(iter(suites))
    if name not in suites:
        raise InputError(Problem(loaded.shown, f"no such suite ({name!r})", f"Known: {', '.join(suites)}."))
    settings = suites[name]
    corpus = read_corpus(loaded.root / settings.corpus, settings.corpus, settings.reader, loaded.root)
    files = [(loaded.root / path, path) for path in settings.cases]
    files += [(Path(path), str(path)) for path in extra]
    return load_cases(
        files, split, corpus.by_id, {page.doc_id: page.fields for page in corpus.pages}, {}
    ).cases


@dataclass(frozen=True, slots=True)
class _Function:
    """A plain function as an arm."""

    call: SearchFunction

    def search(self, query: str, pool: int) -> Sequence[Hit]:
        return self.call(query, pool)


def _metrics() -> Metrics:
    return {name: registry.load("metrics", name, "metrics") for name in registry.names("metrics")}


def evaluate_retrieval(
    search_fn: SearchFunction | Arm,
    cases: Iterable[Case],
    k: int = 5,
    *,
    pool: int = 20,
    context: int = 6,
    name: str = "search",
) -> SuiteReport:
    """Ask `search_fn(query, pool)` every case and report every metric: over all cases, by kind, and case by case.

    A query that raises is listed in `report.arms[name].failed` and the verdict is then not_measured, else unjudged.
    """
    kept = list(cases)
    arm = search_fn if hasattr(search_fn, "search") else _Function(search_fn)
    meaning = Meaning(split="all", k=k, pool=pool, context=context)
    metrics = _metrics()
    rows = evaluate(arm, kept, meaning, metrics)
    labels = {
        case.id: Label(
            kind=case.kind, query=case.query, relevant=dict(case.grades), sha256=label_digest(case_key(case))
        )
        for case in kept
    }
    measured = ArmMeasurement(settings={"type": "function"}, rows=dict(rows.rows), failed=dict(rows.failed))
    fields = {case.id: {**case.fields, "kind": case.kind, "split": case.split} for case in kept}
    return SuiteReport(
        suite=name,
        split="all",
        k=k,
        pool=pool,
        context=context,
        verdict=Verdict.UNJUDGED if measured.complete else Verdict.NOT_MEASURED,
        cases_version=shown(cases_version(kept)),
        versions=Versions(cases=cases_version(kept), corpus=corpus_version({})),
        arms={
            name: arm_report(
                measured,
                ArmSettings(type="function"),
                labels,
                meaning,
                metrics,
                Extras(fields, _slices(fields)),
            )
        },
        labels=labels,
        pages={},
    )


def _slices(fields: Mapping[str, Mapping[str, str]]) -> tuple[str, ...]:
    return tuple(sorted({key for values in fields.values() for key in values} - {"title"}))


def by_slice(report: SuiteReport, field: str, arm: str | None = None) -> Mapping[str, Means]:
    """The means of each value of `field` (kind, split, or front matter that the relevant pages share)."""
    measured = report.arms[arm if arm is not None else next(iter(report.arms))]
    if field == "kind":
        return measured.by_kind
    if field not in measured.by_slice:
        raise InputError(
            Problem(
                "by_slice", f"no such field ({field!r})", f"Known: {', '.join(['kind', *measured.by_slice])}."
            )
        )
    return measured.by_slice[field]


def save_report(report: SuiteReport | Report, path: str | Path) -> None:
    """Write a report as `gate run --json` does; `gate compare` and `--against` read it."""
    from gate.store import canonical, reports

    whole = whole_report([report]) if isinstance(report, SuiteReport) else report
    canonical.write_text(Path(path), reports.dumps(whole), str(path))


@dataclass(frozen=True, slots=True)
class SystemsComparison:
    """Several systems over the same cases. `means`: system -> group -> means, "all" being every case.
    `against_first`: each further system compared with the first one, case by case.
    """

    means: Mapping[str, Mapping[str, Means]]
    against_first: Mapping[str, ArmComparison]

    def __str__(self) -> str:
        width = max(len(name) for name in self.means)
        lines = []
        for name, groups in self.means.items():
            cells = "  ".join(
                f"{kind} {group.means.get('recall', 0.0):.4f} (n={group.n})" for kind, group in groups.items()
            )
            moved = self.against_first.get(name)
            counts = f"  W/L/T {moved.wins}/{moved.losses}/{moved.ties}" if moved is not None else ""
            lines.append(f"{name:<{width}}  {cells}{counts}")
        return "\n".join(lines)


def compare_reports(*systems: tuple[str, SuiteReport]) -> SystemsComparison:
    """Compare reports over the same cases: `compare_reports(("before", r1), ("after", r2))`.

    Raises InputError where the case sets, k, pool or context differ, since such numbers say nothing together.
    """
    return compare_systems([(name, one, _only_arm(name, one)) for name, one in _named(systems)])


def _named(systems: Sequence[tuple[str, SuiteReport]]) -> Iterator[tuple[str, Measurement]]:
    seen: set[str] = set()
    for name, report in systems:
        if name in seen:
            raise InputError(Problem(name, "names two systems", "Give each a name of its own."))
        seen.add(name)
        yield name, measurement_of(report)


def _only_arm(name: str, measurement: Measurement) -> ArmMeasurement:
    """The one arm of a report whose every case was measured."""
    if len(measurement.arms) != 1:
        arms = ", ".join(measurement.arms) or "none"
        raise InputError(
            Problem(name, f"has {len(measurement.arms)} arms ({arms})", "Compare reports of one arm each.")
        )
    arm = next(iter(measurement.arms.values()))
    if not arm.complete:
        failed = next(iter({**arm.failed, **arm.failed_questions}))
        raise InputError(
            Problem(name, f"has cases that were not measured (first '{failed}')", "Measure them first.")
        )
    return arm


def compare_systems(systems: Sequence[tuple[str, Measurement, ArmMeasurement]]) -> SystemsComparison:
    """The same over measurements, one arm each."""
    if len(systems) < 2:
        raise InputError(Problem("compare", "needs at least two systems", "Name the before first."))
    first_name, first, first_arm = systems[0]
    names = mean_names(_metrics())
    means_of, moved = {}, {}
    for name, one, arm in systems:
        differs = comparable(first, one)
        if differs:
            raise InputError(
                Problem(
                    name,
                    f"cannot be compared with {first_name} ({differs})",
                    "Measure both on the same cases and settings.",
                )
            )
        groups = {"all": means(arm.rows.values(), names)}
        for kind in one.kinds:
            groups[kind] = means(
                (row for case, row in arm.rows.items() if one.cases[case].kind == kind), names
            )
        means_of[name] = groups
        if one is not first:
            moved[name] = compare_arm(name, arm, first_arm, first.cases, Context())
    return SystemsComparison(means_of, moved)


def comparable(one: Measurement, other: Measurement) -> str:
    """Why two measurements cannot be compared, "" where they can."""
    if one.settings != other.settings:
        return f"{one.settings.model_dump()} against {other.settings.model_dump()}"
    if one.cases_version != other.cases_version:
        return f"{shown(one.cases_version)} against {shown(other.cases_version)}"
    return ""


def locate(hits: Sequence[Hit], citations: Sequence[str]) -> dict[str, int | None]:
    """For each cited page its first position among the hits (1-based), or None."""
    return _locate(rank_pages(hits), citations)


def diagnose(
    search_fn: SearchFunction | Arm, questions: Iterable[QaCase], *, pool: int = 20, context: int = 6
) -> Diagnosis:
    """Where each answerable question broke: retrieval, ranking, or it reached the context."""
    arm = search_fn if hasattr(search_fn, "search") else _Function(search_fn)
    return _diagnose(arm, questions, Meaning(split="all", pool=pool, context=context))
