"""The comment step: the only one with a token in a pull request's own run. What fails here is a warning.

It also runs where nothing may be posted (a fork, a merge queue, `comment: never`) and a policy waits for a review.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gate.commands._approval import choose_page, lifted, needs_approval
from gate.commands._step import REPORT, Outputs, event_of, fault_of, folder_of, tell, templates_beside
from gate.errors import GateError
from gate.github.client import GitHubClient, GitHubError
from gate.github.comment import Stamp, ours
from gate.github.inputs import Inputs, read_inputs
from gate.github.post import Posted, Wanted, approved, clear, post
from gate.github.workflow import command, mask
from gate.model.verdict import Level, Verdict, worst
from gate.report.escape import terminal

if TYPE_CHECKING:
    from gate.github.event import Event
    from gate.model.report import Report, SuiteReport

RESOLVED = "**Resolved: the regression that stood here is gone.**"
"""The line of templates/_head.md.j2. Text of a pull request never is a whole line in bold."""

_PART = re.compile(r"^(?=<!-- retrieval-gate suite=)", re.MULTILINE)

EVERY_SUITE = "*"
"""The suite in the stamp of a comment about all of them: a combined one, or one that says why nothing was measured."""


def run_comment(environment: Mapping[str, str]) -> int:
    """Read the report of the measuring step, ask for reviews where they matter, and write the comment."""
    token = environment.get("GATE_TOKEN", "")
    sys.stdout.write(mask(token))
    outputs, inputs, event = Outputs(environment), read_inputs(environment), event_of(environment)
    if event.pull is None and event.queued is None:
        return 0
    comments = event.pull is not None and environment.get("GATE_COMMENTS") != "false"
    client = GitHubClient(token, event.repository, event.api_url)
    folder = folder_of(environment)
    try:
        report = _decided(client, outputs, event, folder)
        posted = _post(client, report, inputs, event, folder) if comments else []
    except Exception as fault:  # whatever GitHub answers, or a template makes of it: the verdict stands
        said = (
            str(fault) if isinstance(fault, (GitHubError, GateError)) else f"{type(fault).__name__}: {fault}"
        )
        said = said.replace(token, "***") if token else said
        print(
            command("warning", f"the comment could not be written; the job summary has it ({said})"), end=""
        )
        return 0
    for one in posted:
        print(f"comment: {one.step.value}, {one.why} {one.url}")
    outputs.set("comment-url", next((one.url for one in posted if one.url), ""))
    return 0


def _decided(client: GitHubClient, outputs: Outputs, event: Event, folder: Path) -> Report | None:
    """The report of the measuring step, after the reviews that it may wait for; None where nothing was measured.

    What an approval changes is written down again, so that summary and artifact say what the check says.
    """
    from gate.store import canonical, reports

    report = read_report(folder)
    if report is None or not needs_approval(report):
        return report
    lifts = _approved(client, event)
    choose_page(folder, approved=lifts)
    if lifts:
        report = lifted(report)
    canonical.write_text(folder / REPORT, reports.dumps(report), REPORT)
    tell(outputs, report, folder)
    return report


def _post(
    client: GitHubClient, report: Report | None, inputs: Inputs, event: Event, folder: Path
) -> list[Posted]:
    assert event.pull is not None
    if report is None:
        return post_fault(client, folder, inputs, event)
    return post_report(client, report, inputs, event, event.pull.number, templates_beside(folder))


def read_report(folder: Path) -> Report | None:
    """The report of the measuring step, None where it left none."""
    from gate.store import reports
    from gate.store.text import read_text

    path = folder / REPORT
    return reports.parse(read_text(path, REPORT), REPORT) if path.exists() else None


def _approved(client: GitHubClient, event: Event) -> bool:
    """Whether somebody approves the head; no where reviews cannot be read."""
    try:
        if event.pull is not None:
            number, head = event.pull.number, event.pull.head_sha
        else:  # a merge queue's entry, which GitHub throws out when the head moves on
            assert event.queued is not None
            number, head = event.queued, client.pull(event.queued).head_sha
        return approved(client, number, head)
    except GitHubError as fault:
        print(command("warning", f"the reviews could not be read, so nothing is approved ({fault})"), end="")
        return False


def post_report(
    client: GitHubClient,
    report: Report,
    inputs: Inputs,
    event: Event,
    number: int,
    templates: Path | None = None,
    heading: str = "",
) -> list[Posted]:
    """One comment per suite, or one for all. `heading` is a line of ours under the verdict (a fork's warning)."""
    author = inputs.comment_author or client.viewer()
    groups = [(suite.suite, [suite]) for suite in report.suites]
    known = {EVERY_SUITE, *(name for name, _ in groups)}
    if inputs.comment_layout == "combined":
        groups = [(EVERY_SUITE, list(report.suites))]
    kept = {name for name, _ in groups}
    posted = [
        post(
            client,
            number,
            _wanted(name, suites, inputs, event),
            author,
            _body(report, suites, name, inputs, event, templates, heading),
        )
        for name, suites in groups
    ]
    own = _stamp(EVERY_SUITE, inputs, event)

    def over(said: Stamp) -> bool:
        """Another layout's, or of a suite that is gone. A job of some suites, or of other settings, knows only its own."""
        return said.suite not in kept and (
            said.suite in known or (not inputs.suite and said.home == own.home)
        )

    clear(client, number, author, own, over)
    return posted


def _wanted(name: str, suites: list[SuiteReport], inputs: Inputs, event: Event) -> Wanted:
    return Wanted(
        stamp=_stamp(name, inputs, event),
        when=inputs.comment,
        verdict=worst(suite.verdict for suite in suites),
        changed=any(changed(suite) for suite in suites),
    )


def changed(suite: SuiteReport) -> bool:
    """Whether there is anything to tell beyond a table that did not move."""
    moved = any(arm.lost or arm.won or arm.question_moves for arm in suite.comparison.values())
    return moved or any(finding.level not in (Level.NOTICE, Level.WARNING) for finding in suite.findings)


def _stamp(suite: str, inputs: Inputs, event: Event) -> Stamp:
    return Stamp(
        suite=suite,
        key=inputs.comment_key,
        head=event.head_sha,
        run=event.run_id,
        attempt=event.attempt,
        home=inputs.home,
    )


class _body:  # noqa: N801 - called once the comment that is there has been read
    """Renders the comment over the old one: a regression that is gone reads as resolved."""

    def __init__(
        self,
        report: Report,
        suites: list[SuiteReport],
        name: str,
        inputs: Inputs,
        event: Event,
        templates: Path | None,
        heading: str,
    ) -> None:
        self._report, self._suites = report, suites
        self._marker = _stamp(name, inputs, event).line()
        self._templates, self._heading = templates, heading

    def __call__(self, old: str | None) -> str:
        from gate.report import render

        budget = (render.BUDGET - len(self._heading.encode()) - 200) // len(self._suites)
        parts = []
        for position, suite in enumerate(self._suites):
            more = {
                "marker": self._marker if position == 0 else None,
                "budget": budget,
                "previous": _previous(old, suite.suite, position),
            }
            parts.append(self._rendered(suite, more))
        text = "\n".join(parts)
        if not self._heading:
            return text
        marker, _, rest = text.partition("\n")
        return f"{marker}\n{self._heading}\n\n{rest}"

    def _rendered(self, suite: SuiteReport, more: dict[str, Any]) -> str:
        """Under the repository's templates; where one of them is broken under the built-in ones, with a warning."""
        from gate.report import render

        folder = self._templates / suite.suite if self._templates is not None else None
        if folder is not None and folder.is_dir():
            try:
                return render.comment(self._report, suite, overrides=folder, **more)
            except GateError as fault:
                said = terminal(str(fault.problems[0])[:1000])
                print(command("warning", f"the templates of {suite.suite} are not used: {said}"), end="")
        return render.comment(self._report, suite, **more)


def _previous(old: str | None, suite: str, position: int) -> Verdict | None:
    """What the comment that is there says about a suite: each part of a combined one begins with a marker.

    The first one's is that of the whole comment.
    """
    from gate.report import render

    parts = [part for part in _PART.split(old or "") if part.strip()]
    part = next((one for one in parts if one.startswith(render.marker(suite))), "")
    if position == 0 and parts:
        part = parts[0]
    if RESOLVED in part.splitlines():
        # It stays resolved: the next push that changes nothing would otherwise rewrite the comment.
        return Verdict.REGRESSION
    return render.verdict_of(part)


def post_fault(client: GitHubClient, folder: Path, inputs: Inputs, event: Event) -> list[Posted]:
    """Nothing was measured: every comment of ours says so, or a new one does. An old green one may not stand."""
    assert event.pull is not None
    verdict, body = fault_of(folder)
    return post_everywhere(client, event.pull.number, inputs, event, verdict, body)


def post_everywhere(
    client: GitHubClient, number: int, inputs: Inputs, event: Event, verdict: Verdict, body: str
) -> list[Posted]:
    """The same text in each comment of ours, or in a new one where there is none."""
    author = inputs.comment_author or client.viewer()
    stamps = [
        _stamp(suite, inputs, event)
        for suite in dict.fromkeys(_suites_with_comments(client, number, author, inputs))
    ] or [_stamp(EVERY_SUITE, inputs, event)]
    return [
        post(
            client,
            number,
            Wanted(stamp=stamp, when=inputs.comment, verdict=verdict, changed=True),
            author,
            lambda _old, stamp=stamp: f"{stamp.line()}\n{body}",  # type: ignore[misc]
        )
        for stamp in stamps
    ]


def _suites_with_comments(client: GitHubClient, number: int, author: str, inputs: Inputs) -> list[str]:
    from gate.github.comment import read_stamp

    comments = client.comments(number)
    stamps = [read_stamp(comment.body) for comment in comments]
    return [
        stamp.suite
        for stamp in stamps
        if stamp is not None
        and (stamp.key, stamp.home) == (inputs.comment_key, inputs.home)
        and ours(comments, author, stamp)
    ]
