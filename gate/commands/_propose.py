"""Refreshing a baseline in the Action, second job: open a pull request with what the first one measured.

This job has a token that writes, so it runs nothing of the user's and believes nothing of what the first job left: the
baselines are parsed and checked against themselves; which suites there are, where their files lie and what is lowered
follows from the default branch, read through the API; the reason is this job's own input.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gate.commands._handover import AGAIN, NOT_LEFT, baseline_left, commit_left, file_of
from gate.commands._refresh import Change, change_report, reason_of
from gate.commands._remote import Found, find_settings
from gate.commands._step import Outputs, event_of, faulty, folder_of
from gate.commands._step_publish import append_summary
from gate.errors import GateError, InputError, NotMeasuredError, Problem, did_you_mean, raise_all
from gate.github.client import GitHubError
from gate.github.inputs import Inputs, read_inputs
from gate.github.propose import (
    BODY_BUDGET,
    WORKFLOW_LOGIN,
    Opened,
    Proposer,
    Target,
    Text,
    branch_name,
    commit_message,
    compare_link,
)
from gate.github.tree import path_inside
from gate.github.workflow import command, mask
from gate.model.verdict import Exit, Verdict
from gate.model.wording import listed
from gate.report.escape import code, plain, terminal
from gate.report.fault import problem_list
from gate.store import accepted, baselines
from gate.store.text import decode

if TYPE_CHECKING:
    from gate.github.event import Event
    from gate.model.measurement import Measurement
    from gate.model.metric import Metrics
    from gate.model.settings import SuiteSettings
    from gate.model.verdict import Finding

TITLE = "Refresh the baseline of"
REASON_SHOWN = 600
NO_REASON = "no reason given"
NAMED = 20
VERSIONS = 20
"""How far back the drift of a baseline is looked at; a version takes up to three requests."""


class Candidate(NamedTuple):
    """One suite, ready to be proposed. `files`: what differs from the base's tree; None is a file to remove. `drift`: what
    it and the refreshes before it lowered in sum.
    """

    suite: str
    change: Change
    target: Target
    files: dict[str, bytes | None]
    drift: tuple[Finding, ...] = ()


def run_propose(environment: Mapping[str, str]) -> int:
    """Open or update one pull request for each suite. What fails is this step's outcome: an output, not an exit."""
    token = environment.get("GATE_TOKEN", "")
    sys.stdout.write(mask(token))
    outputs, folder = Outputs(environment), folder_of(environment)
    try:
        inputs, event = read_inputs(environment), event_of(environment)
        proposal = _Proposal(Proposer(token, event.repository, event.api_url), inputs, event, folder)
        try:
            proposal.make()
        except GitHubError as fault:
            todo = "The job needs 'contents: write' and 'pull-requests: write'."
            raise NotMeasuredError(Problem("GitHub", str(fault).removesuffix("."), todo)) from None
        finally:
            outputs.set("comment-url", next(iter(proposal.urls), ""))
            append_summary(environment.get("GITHUB_STEP_SUMMARY"), proposal.summary)
    except GateError as fault:
        lines = problem_list(fault.problems, NAMED)
        append_summary(
            environment.get("GITHUB_STEP_SUMMARY"), f"### ⛔ not every baseline was proposed\n\n{lines}"
        )
        return faulty(fault, outputs, folder, "not every baseline was proposed")
    outputs.set("verdict", Verdict.UNJUDGED.value)
    outputs.set("exit-code", str(int(Exit.PASS)))
    return 0


class _Proposal:
    """The work of the step, suite by suite. `urls`: the pull requests, in the order of gate.toml."""

    def __init__(self, client: Proposer, inputs: Inputs, event: Event, folder: Path) -> None:
        self._client, self._inputs, self._event, self._folder = client, inputs, event, folder
        self._reason = reason_of(inputs)
        self.urls: list[str] = []
        self._said: list[str] = []

    @property
    def summary(self) -> str:
        return "\n".join(["### Refreshed baselines", "", *self._said]) if self._said else ""

    def make(self) -> None:
        from gate.commands._project import load_metrics

        metrics = load_metrics()
        candidates = self._candidates(metrics)
        viewer = self._viewer()
        problems: list[Problem] = []
        for candidate in candidates:
            try:
                self._propose(candidate, metrics, viewer)
            except InputError as fault:
                problems += fault.problems
        raise_all(problems)

    # -- what there is to propose

    def _candidates(self, metrics: Metrics) -> list[Candidate]:
        """Every suite whose baseline the first job left, all checked before anything is written."""
        client, default = self._client, self._client.default_branch()
        trunk = client.branch(default)
        if trunk is None:
            raise InputError(Problem(f"branch '{default}'", "does not exist yet", "Push a commit first."))
        rules = find_settings(client, trunk.sha, self._inputs, default)
        base, base_sha = self._base(default, trunk.sha)
        shapes = rules if base_sha == trunk.sha else find_settings(client, base_sha, self._inputs, base)
        wanted = self._inputs.suite or tuple(rules.settings.suite)
        unknown = [name for name in wanted if name not in rules.settings.suite]
        raise_all(
            [
                Problem(f"suite '{name}'", f"{default} has none of that name", did_you_mean(name, rules.settings.suite))
                for name in unknown
            ]
        )  # fmt: skip
        found: list[Candidate] = []
        problems: list[Problem] = []
        for name in dict.fromkeys(wanted):
            try:
                now = baseline_left(self._folder, name, metrics)
                if now is None:
                    if name in self._inputs.suite:
                        problems.append(Problem(file_of(name), NOT_LEFT, AGAIN))
                    continue
                target = Target(
                    suite=name,
                    name=branch_name(name, self._inputs.pull_request),
                    base=base,
                    base_sha=base_sha,
                    default_branch=default,
                )
                shape = shapes.settings.suite.get(name, rules.settings.suite[name])
                raise_all(list(_misfits(now, shape, f"{shapes.shown} of {base}")))
                found.append(self._candidate(now, rules, shape, target, trunk.sha, metrics))
            except InputError as fault:
                problems += fault.problems
        raise_all(problems)
        if not found:
            what = f"holds no new baseline of {', '.join(wanted)}"
            raise NotMeasuredError(
                Problem("artifact of the measuring job", what, "Download it into the same folder.")
            )
        return found

    def _base(self, default: str, default_sha: str) -> tuple[str, str]:
        """The branch that the proposal goes into: the default branch, or the pull request that was measured."""
        number = self._inputs.pull_request
        if not number:
            ref = self._event.ref
            if ref and ref != f"refs/heads/{default}":
                what = f"was measured, and a baseline is proposed to '{default}'"
                todo = f"Start the workflow on '{default}', or name a pull request."
                raise InputError(Problem(ref.removeprefix("refs/heads/"), what, todo))
            return default, default_sha
        pull = self._client.pull(number)
        where = f"pull request #{number}"
        if not pull.open:
            raise InputError(Problem(where, "is closed", "Name an open one."))
        if pull.head_repo.lower() != self._event.repository.lower():
            todo = "Its author takes the artifact of the measuring job: gate baseline --from-report FILE."
            raise InputError(Problem(where, "comes from a fork, whose branch cannot be written", todo))
        # Held against the branch as it is now, what was measured of another commit would be nobody's baseline.
        measured = commit_left(self._folder)
        if measured != pull.head_sha:
            what = f"was measured at {measured[:10]}, and its head is {pull.head_sha[:10]} now"
            raise InputError(Problem(where, what, "Start the workflow again."))
        return pull.head_ref, pull.head_sha

    def _candidate(
        self,
        now: Measurement,
        rules: Found,
        shape: SuiteSettings,
        target: Target,
        trunk: str,
        metrics: Metrics,
    ) -> Candidate:
        from gate.commands._lowered import explained_from, would_lower

        client = self._client
        path = path_inside(rules.folder, rules.settings.suite[target.suite].baseline)
        beside = accepted.path_beside(path)
        committed = client.file(trunk, path)
        before = None
        if committed is not None:
            try:
                before = baselines.parse(decode(committed, path), path, target.suite, metrics)
            except InputError as fault:
                # It is about to be replaced; what the new one lowers cannot be told, so a person must say why.
                if self._reason is None:
                    raise InputError(
                        [*fault.problems, Problem(path, "would be replaced without a comparison", _GIVE)]
                    ) from None
        old = client.file(target.base_sha, beside)
        recorded = accepted.parse(decode(old, beside), beside) if old is not None else ()
        digest = before.sha256() if before is not None else ""
        valid = [entry for entry in recorded if entry.baseline_sha256 == digest]
        entries, unexplained = explained_from(
            now, before, valid, self._reason, rules.settings.suite[target.suite], metrics
        )
        if unexplained:
            raise InputError(would_lower(path, unexplained, _GIVE))
        wanted: dict[str, bytes | None] = {path: baselines.dumps(now).encode()}
        if entries or old is not None:
            wanted[beside] = accepted.dumps(entries).encode() if entries else None
        files = {name: data for name, data in wanted.items() if client.file(target.base_sha, name) != data}
        drift = self._drift(now, path, rules.settings.suite[target.suite], trunk, metrics) if files else []
        change = Change(now, before, path, entries, shape, trunk)
        return Candidate(target.suite, change, target, files, tuple(drift))

    def _drift(
        self, now: Measurement, path: str, rules: SuiteSettings, trunk: str, metrics: Metrics
    ) -> list[Finding]:
        """What the refreshes of the default branch and this one lowered in sum. It hinders no proposal."""
        from gate.commands._drift import drift_findings, parsed
        from gate.drift import SERIES, Version

        series = []
        try:
            found = self._client.versions(trunk, path, VERSIONS)
            for commit, day in found[::-1] if len(found) >= SERIES else ():
                old = parsed(self._text_at(commit, path), now.suite, metrics)
                series += [Version(commit, day, old)] if old is not None else []
        except GitHubError as fault:
            print(command("notice", f"the baseline's history could not be read ({fault})"), end="")
            return []
        return drift_findings(series, now.suite, rules, now)

    def _text_at(self, commit: str, path: str) -> str:
        """An old version of a file; empty where there is none that can be read."""
        try:
            return decode(self._client.file(commit, path) or b"", path)
        except InputError:
            return ""

    # -- proposing it

    def _viewer(self) -> str:
        """Our own login; unknown where GitHub does not say, and then nothing is claimed about checks."""
        try:
            return self._client.viewer()
        except GitHubError:
            return ""

    def _propose(self, candidate: Candidate, metrics: Metrics, viewer: str) -> None:
        suite, target = candidate.suite, candidate.target
        if not candidate.files:
            self._say(suite, f"nothing changed, {target.base} has this baseline already")
            return
        text = self._text(candidate, metrics, viewer)
        # git shows a message as it is: what does nothing in the pull request's Markdown would be in the way here.
        why = terminal(self._reason, REASON_SHOWN) if self._reason else NO_REASON
        paragraphs = f"Why: {why}\n\nMeasured twice by {self._event.run_url}"
        pushed = self._client.push(target, candidate.files, commit_message(text.title, paragraphs, suite))
        opened = self._client.propose(target, text, viewer)
        if not opened.url:
            self._linked(suite, target, opened)
            return
        self.urls.append(opened.url)
        done = "opened" if opened.created else "updated" if pushed.changed else "up to date"
        said = f"{done}: {opened.url}{f' ({opened.why})' if opened.why else ''}"
        self._say(
            suite, said, f"{done}: [#{opened.number}]({opened.url}){f' ({opened.why})' if opened.why else ''}"
        )

    def _linked(self, suite: str, target: Target, opened: Opened) -> None:
        """The branch is there, the pull request is for a person to open."""
        link = compare_link(self._event.server_url, self._event.repository, target)
        print(
            command(
                "warning",
                f"{suite}: the branch {target.name} is pushed, but this token may open no pull request "
                f"({opened.why}). Open it by hand: {link}",
            ),
            end="",
        )
        self._said.append(
            f"- {code(suite)}: pushed to {code(target.name)}, but this token may open no pull request "
            f"({plain(opened.why)}). [Open it by hand]({link})."
        )

    def _say(self, suite: str, said: str, shown: str = "") -> None:
        print(f"{suite}: {terminal(said)}")
        self._said.append(f"- {code(suite)}: {shown or plain(said)}")

    @property
    def _why(self) -> str:
        return plain(self._reason, REASON_SHOWN) if self._reason else NO_REASON

    def _text(self, candidate: Candidate, metrics: Metrics, viewer: str) -> Text:
        from gate.report import render
        from gate.summary import whole_report

        marker = render.marker(candidate.suite, "refresh")
        suite = change_report(candidate.change, metrics, findings=candidate.drift)
        top = "\n\n".join(self._intro(candidate, viewer))
        budget = BODY_BUDGET - len(top.encode()) - 10
        table = render.comment(whole_report([suite]), suite, marker=marker, budget=budget)
        _, _, rest = table.partition("\n")
        lowered = len(candidate.change.lowered)
        title = f"{TITLE} {candidate.suite}"
        if lowered:
            title += f" (lowers {lowered} case{'s' if lowered > 1 else ''})"
        return Text(title=title, body=f"{marker}\n\n{top}\n\n{rest}", marker=marker)

    def _intro(self, candidate: Candidate, viewer: str) -> Iterator[str]:
        """What a reviewer reads above the table, paragraph by paragraph."""
        change, event = candidate.change, self._event
        sha = candidate.target.base_sha if self._inputs.pull_request else event.sha
        at = f" of {code(sha[:12])}" if sha else ""
        run = f"[this run]({event.run_url})" if event.run_id else "a run"
        yield f"This records what {run} measured{at}, twice, as the baseline of the suite {code(candidate.suite)}."
        yield f"**Why:** {self._why}"
        if change.before is None:
            yield "The committed baseline is missing or cannot be read, so what this one lowers cannot be told."
        if change.lowered:
            names = [code(f"{entry.name} ({entry.arm})") for entry in change.lowered]
            count = f"{len(names)} case{'s' if len(names) > 1 else ''}"
            yield (
                f"**It lowers {count}**, accepted with a reason in {code(accepted.path_beside(change.path))}: "
                f"{_some(names)}."
            )
        for finding in candidate.drift:
            yield f"> [!WARNING]\n> {plain(finding.text)}. {plain(finding.todo)}"
        for arm, one in change.now.arms.items():
            if one.unstable:
                names = [code(name) for name in one.unstable]
                yield (
                    f"Unstable under {code(arm)}, scored differently the second time: {_some(names)}."
                )  # fmt: skip
        if viewer == WORKFLOW_LOGIN:
            yield (
                "> [!NOTE]\n> The workflow's own token opened this, so checks on it wait for somebody's approval, or must "
                "be started by hand (close and reopen it). With the token of a GitHub App as the input `token` they "
                "start by themselves."
            )


_GIVE = "Give the reason with the input 'reason' of this job too."


def _some(names: list[str]) -> str:
    return listed(names, NAMED)


def _misfits(now: Measurement, shape: SuiteSettings, where: str) -> Iterator[Problem]:
    """How a baseline differs from what gate.toml says is measured: then it is not this suite's, or from another day."""
    shown, todo = file_of(now.suite), AGAIN
    if now.settings != shape.meaning:
        yield Problem(shown, f"was measured under other settings than {where} has", todo)
    lacking = [name for name in shape.arms if name not in now.arms]
    foreign = [name for name in now.arms if name not in shape.arms]
    if lacking:
        yield Problem(shown, f"lacks the arm '{lacking[0]}' of {where}", todo)
    if foreign:
        yield Problem(shown, f"has the arm '{foreign[0]}', which {where} has not", todo)
