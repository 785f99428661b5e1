"""Labels that follow a renamed page: a case that says of the new name what the base says of the old one lost nothing.

The base's labels decide, and a page that is renamed is gone under the name they have. Where the change renames the
label with the page, and in no other way, the base's label is read as naming the new page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gate.compare import page_changes
from gate.harness import rescore
from gate.model.measurement import Label, Measurement
from gate.model.metric import Metrics
from gate.model.run import Run
from gate.model.verdict import Finding, Level
from gate.model.wording import listed

_NAMED = 8


def followed(
    now: Mapping[str, Label], before: Mapping[str, Label], renamed: Mapping[str, str]
) -> tuple[str, ...]:
    """The cases whose labels differ from the earlier ones only in the new names of renamed pages.

    `renamed`: old doc_id -> new doc_id, as `gate.compare.page_changes` finds it: the old page is gone, the new one
    was not there.
    """
    return tuple(
        name
        for name, label in before.items()
        if name in now
        and now[name].sha256 != label.sha256
        and (now[name].query, now[name].kind) == (label.query, label.kind)
        and now[name].relevant == _under_new_names(label, renamed)
    )


def _under_new_names(label: Label, renamed: Mapping[str, str]) -> dict[str, int] | None:
    """The label's pages and grades under the pages' new names; None where two of its pages would become one."""
    moved = {renamed.get(page, page): grade for page, grade in label.relevant.items()}
    return moved if len(moved) == len(label.relevant) else None


def relabelled(
    over_base: Measurement, now: Mapping[str, Label], names: Sequence[str], metrics: Metrics
) -> Measurement:
    """`over_base`, measured on the base's cases, with the cases `names` scored on the pages that they name `now`."""
    if not names:
        return over_base
    cases = {
        **over_base.cases,
        **{name: over_base.cases[name].model_copy(update={"relevant": now[name].relevant}) for name in names},
    }
    arms = {}
    for arm_name, arm in over_base.arms.items():
        rows = {name: arm.rows[name] for name in names if name in arm.rows}
        again = rescore(rows, cases, over_base.settings, metrics)
        arms[arm_name] = arm.model_copy(update={"rows": {**arm.rows, **again}})
    return over_base.model_copy(update={"cases": cases, "arms": arms})


def follow_renames(run: Run, metrics: Metrics) -> Run:
    """`run` with the base's labels read under the new names of pages that were renamed together with their labels."""
    trusted = run.trusted
    if trusted is None or run.on_base is None:
        return run
    renamed = page_changes(run.now.pages, trusted.pages, run.renames).renamed
    names = followed(run.now.cases, trusted.cases, renamed)
    if not names:
        return run
    return run._replace(on_base=relabelled(run.on_base, run.now.cases, names, metrics), followed=names)


def renames_told(run: Run, renamed: Mapping[str, str]) -> list[Finding]:
    """A notice of the labels that followed a page, and of what was renamed."""
    if not run.followed or run.trusted is None:
        return []
    labelled = {page for name in run.followed for page in run.trusted.cases[name].relevant}
    pages = [f"{old} -> {new}" for old, new in renamed.items() if old in labelled]
    text = (
        f"{len(run.followed)} case{'s were' if len(run.followed) > 1 else ' was'} relabelled together with a renamed "
        f"page ({listed(pages, _NAMED)}): {listed(run.followed, _NAMED)}"
    )
    return [
        Finding(
            level=Level.NOTICE,
            code="labels-follow-renames",
            cases=run.followed,
            text=text,
            todo="The base's labels are read under the new names.",
        )
    ]
