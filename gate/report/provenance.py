"""What stands behind the numbers: how sure they are, what differs from the baseline, and what exactly was measured."""

from __future__ import annotations

import json
from collections.abc import Iterator

from gate.model.comparison import GroupComparison
from gate.model.cost import Spent
from gate.model.fingerprint import shown
from gate.model.report import ArmReport, Report, SuiteReport
from gate.model.wording import listed, plural
from gate.report.medium import Medium
from gate.report.numbers import interval, p_value, pair, points, single, usd
from gate.report.parts import Cells, Note, Section
from gate.report.titles import of_row

_NAMED = 5
_TOO_FEW = "too few cases"


def sure(suite: SuiteReport, medium: Medium) -> Section[Cells]:
    """The tests of every arm and kind. Information beside the verdict."""
    title = of_row(suite.metrics[0], suite.k).shown(medium)
    rows = []
    for name, found in suite.comparison.items():
        if found.n:
            rows.append(_sure(medium.plain(name, 60), "all", found, suite.metrics[0]))
            rows += [
                _sure(medium.plain(name, 60), medium.plain(kind, 60), group, suite.metrics[0])
                for kind, group in found.kinds.items()
            ]
    few = any(row[-1] == _TOO_FEW for row in rows)
    head = (
        "arm",
        "kind",
        "n",
        "one case",
        # Of this one metric, as all of this table; with several in the policy the other counts are over all of them.
        "W/L/T" if len(suite.metrics) == 1 else f"W/L/T on {title}",
        "sign test p",
        "sign-flip p",
        "95 % interval",
        "smallest drop to show",
    )
    return Section(
        _sure_title(suite),
        intro=(
            f"On the difference of {title}, paired by case. This is information; the verdict does not use it. "
            "The last column is the fewest losses, without a win, that reach p < 0.05"
            + (
                "; too few cases: losing all of them would not, and one alone has no interval."
                if few
                else "."
            )
        ),
        head=head,
        align=("left", "left", "right", "right", "left", "right", "right", "left", "right"),
        rows=tuple(rows),
    )


def _sure_title(suite: SuiteReport) -> str:
    n = max((found.n for found in suite.comparison.values()), default=0)
    return f"How sure: one case of {n:,} is {points(1 / n)}" if n else "How sure"


def _interval(group: GroupComparison, moved: bool) -> str:
    if not moved:
        return "no case moved"
    return interval(*group.evidence.interval) if group.evidence.interval is not None else _TOO_FEW


def _sure(arm: str, kind: str, group: GroupComparison, metric: str) -> Cells:
    evidence, change = group.evidence, group.metrics[metric]
    smallest = evidence.smallest_drop
    return (
        arm,
        kind,
        str(group.n),
        points(1 / group.n),
        f"{change.wins}/{change.losses}/{change.ties}",
        p_value(evidence.sign_p),
        p_value(evidence.flip_p),
        _interval(group, moved=change.wins + change.losses > 0),
        plural(smallest, "case") if smallest is not None else _TOO_FEW,
    )


def changes(suite: SuiteReport, medium: Medium) -> Section[str]:
    """What differs from the baseline, one line for each thing: where an author looks first."""
    if suite.baseline is None and not suite.comparison:
        return Section()
    rows = (*_pages(suite, medium), *_settings(suite, medium))
    return Section("Changed since the baseline", rows=rows or ("no page and no setting of an arm",))


def _pages(suite: SuiteReport, medium: Medium) -> Iterator[str]:
    found = suite.page_changes
    for how, pages in (("edited", found.edited), ("deleted", found.removed), ("added", found.added)):
        if pages:
            yield f"{plural(len(pages), 'page')} {how}: {listed([medium.code(page, 80) for page in pages], _NAMED)}"
    if found.renamed:
        said = [f"{medium.code(old, 80)} to {medium.code(new, 80)}" for old, new in found.renamed.items()]
        yield f"{plural(len(said), 'page')} renamed: {listed(said, _NAMED)}"


def _settings(suite: SuiteReport, medium: Medium) -> Iterator[str]:
    for name, found in suite.comparison.items():
        if found.settings_changed:
            said = [medium.code(change) for change in found.settings_changed]
            yield f"settings of {medium.plain(name, 60)}: {listed(said, _NAMED)}"


def provenance(report: Report, suite: SuiteReport, medium: Medium) -> Section[Cells]:
    """What exactly was measured, and with what: a name and a value in each row."""
    return Section(
        "Provenance",
        head=("about", "this run"),
        align=("left", "left"),
        rows=tuple(_provenance(report, suite, medium)),
    )


def _provenance(report: Report, suite: SuiteReport, medium: Medium) -> Iterator[Cells]:
    titles = ", ".join(of_row(row, suite.k).shown(medium) for row in suite.metrics)
    yield "suite", f"{medium.cell(suite.suite, 80)}, {suite.split} split"
    yield "settings", f"k = {suite.k}, pool {suite.pool}, context {suite.context}; decided on {titles}"
    yield "cases", medium.cell(suite.cases_version)
    if suite.qa_version is not None:
        yield "QA", medium.cell(suite.qa_version)
    yield "corpus", medium.cell(shown(suite.versions.corpus))
    if suite.baseline is not None:
        at = f" at {medium.cell(suite.baseline.commit[:12])}" if suite.baseline.commit else ""
        yield (
            "baseline",
            (
                f"{medium.cell(suite.baseline.path)}{at}, sha256 {medium.cell(suite.baseline.sha256[:8])}, "
                f"{medium.cell(shown(suite.baseline.cases_version))}"
            ),
        )
        found = suite.page_changes
        counts = {
            "edited": len(found.edited),
            "deleted": len(found.removed),
            "added": len(found.added),
            "renamed": len(found.renamed),
        }
        said = ", ".join(f"{count:,} {how}" for how, count in counts.items() if count)
        yield "pages", f"{said} since the baseline" if said else "the same as in the baseline"
    for name, arm in suite.arms.items():
        settings = json.dumps(arm.settings, sort_keys=True, ensure_ascii=False)
        flags = "".join(
            [", shown only" if not arm.gate else "", ", not required" if not arm.required else ""]
        )
        yield f"arm {medium.plain(name, 60)}", medium.cell(settings, 200) + flags
        for change in (suite.comparison[name].settings_changed if name in suite.comparison else ())[:12]:
            yield "", f"changed: {medium.cell(change, 160)}"
        if arm.unstable:
            unstable = listed([medium.cell(case, 80) for case in arm.unstable], _NAMED)
            yield "", f"unstable from run to run: {unstable}"
        if arm.tied:
            tied = listed([medium.cell(case, 80) for case in arm.tied], _NAMED)
            yield "", f"decided by a tie at {suite.k}: {tied}"
        if arm.judged is not None:
            yield "", _judged(suite, arm)
    for name, spent in report.environment.spent.get(suite.suite, {}).items():
        yield f"spent by {medium.plain(name, 60)}", medium.plain(spent_line(spent), 300)
    environment = report.environment
    if environment.gate:
        python = f", Python {medium.cell(environment.python, 40)}" if environment.python else ""
        yield "retrieval-gate", f"{medium.cell(environment.gate, 40)}{python}"
    if environment.packages:
        packages = [f"{name} {version}" for name, version in sorted(environment.packages.items())]
        yield "packages", medium.plain(", ".join(packages), 300)


def _judged(suite: SuiteReport, arm: ArmReport) -> str:
    """What is known of unjudged pages, and of how many cases nothing is."""
    found = arm.judged
    assert found is not None
    unknown = f"; unknown for {arm.n - found.cases:,} others" if arm.n > found.cases else ""
    plain, condensed = pair(found.plain, found.condensed)
    return (
        f"judged@{suite.k} {single(found.share)} over {plural(found.cases, 'case')} with recorded rejections{unknown}; "
        f"recall@{suite.k} of these {plain}, on judged pages alone {condensed}"
    )


def spent_line(spent: Spent) -> str:
    """`12 texts processed, 4,812 cached, 1 request, 0.0002 USD at 0.02 USD per 1M tokens (2026-11-30)`."""
    said = []
    if spent.texts or spent.cached or not spent.requests:
        said += [f"{plural(spent.texts, 'text')} processed", f"{spent.cached:,} cached"]
    if spent.requests:
        said.append(plural(spent.requests, "request"))
    if spent.tokens:
        said.append(plural(spent.tokens, "token"))
    if spent.cost_usd is None:
        said.append("cost unknown")
    elif spent.cost_usd or (spent.requests and spent.texts):  # a service that only searches has no price
        at = f" at {spent.price}" if spent.price else ""
        said.append(f"{usd(spent.cost_usd)} USD{at}")
    return ", ".join(said)


def notes(
    suite: SuiteReport,
    medium: Medium,
    levels: tuple[str, ...],
    title: str,
    *,
    only: tuple[str, ...] = (),
    without: tuple[str, ...] = (),
) -> Section[Note]:
    """The findings of some levels, in the order found; of these `only` some codes, or all `without` some."""
    rows = tuple(
        Note(_sentence(medium.plain(finding.text)), medium.plain(finding.todo, 240) if finding.todo else "")
        for finding in suite.findings
        if finding.level.value in levels
        and finding.code not in without
        and (not only or finding.code in only)
    )
    return Section(title.format(len(rows)), rows=rows)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?", ":", "…")) else f"{text}."
