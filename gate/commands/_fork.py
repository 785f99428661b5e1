"""The step of `mode: comment`: on workflow_run, posts what a fork's own run measured, judged under the base's rules.

It checks nothing out, uses no cache, and takes from the fork nothing but the rankings in its report, and the losses that it
accepts once a maintainer has approved them. The pull request is found through the API, never from the artifact.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gate.commands._comment import post_everywhere, post_report
from gate.commands._remote import find_settings
from gate.commands._step import Outputs, event_of
from gate.commands._step_publish import append_summary
from gate.commands._upstream import approved_losses, template_folders
from gate.errors import GateError, InputError, Problem, did_you_mean, raise_all
from gate.github import artifact, fork
from gate.github.base import find_base
from gate.github.client import GitHubError, PullState
from gate.github.event import Pull
from gate.github.inputs import Inputs, read_inputs
from gate.github.tree import Tree, path_inside
from gate.github.workflow import command, mask
from gate.model.verdict import Exit, Verdict, of_fault
from gate.report.escape import terminal
from gate.report.fault import fault_text

if TYPE_CHECKING:
    from gate.commands._remote import Found
    from gate.github.event import Event
    from gate.github.post import Posted
    from gate.model.measurement import Measurement
    from gate.model.metric import Metrics
    from gate.model.report import Report
    from gate.model.verdict import Finding
    from gate.situation import Run, Side, Situation

NOT_VERIFIED = "measured by the fork's own run, not verified"


def run_fork(environment: Mapping[str, str]) -> int:
    """Find the pull request, judge the artifact, post. The fork's own check has its verdict: this job ends with 0.

    What cannot be posted about (another workflow's run, two pull requests) or believed (a hostile artifact) is refused
    with 2; a GitHub that does not answer is a 3. Other faults end as they say themselves.
    """
    token = environment.get("GATE_TOKEN", "")
    sys.stdout.write(mask(token))
    outputs = Outputs(environment)
    try:
        code = _run(environment, outputs, token)
    except GateError as fault:
        for problem in fault.problems[:10]:
            print(command("error", terminal(str(problem)[:1000])), end="")
        outputs.set("verdict", of_fault(fault.exit_code).value)
        code = fault.exit_code
    except GitHubError as fault:
        print(command("error", f"the run's report could not be read ({fault})"), end="")
        outputs.set("verdict", Verdict.NOT_MEASURED.value)
        code = int(Exit.NOT_MEASURED)
    outputs.set("exit-code", str(code))
    return code


def _run(environment: Mapping[str, str], outputs: Outputs, token: str) -> int:
    inputs, event = read_inputs(environment), event_of(environment)
    run = expected(event, inputs)
    if event.commented_itself:
        print("comment: nothing, the run had a token of this repository and has commented itself")
        return 0
    client = Tree(token, event.repository, event.api_url)
    pulls = find_pulls(client, event)
    if not pulls:
        print("comment: nothing, no open pull request has this commit as its head any more")
        return 0
    heading = f"**{NOT_VERIFIED}**"
    pull = pulls[0]
    try:
        _only_one(pulls)
        report = judged(client, event, inputs, pull, run)
    except GateError as fault:
        for one in pulls:
            _post_refusal(client, event, inputs, one, heading, fault)
        raise
    outputs.set("verdict", report.verdict.value)
    log = f"{event.server_url}/{event.repository}/actions/runs/{run}"
    _summarise(environment, report, f"{heading} · [its log]({log})")
    print(f"verdict {report.verdict.value}, {NOT_VERIFIED}")
    try:
        with tempfile.TemporaryDirectory(prefix="gate-templates-") as folder:
            templates = template_folders(client, inputs, Path(folder))
            posted = post_report(client, report, inputs, event, pull.number, templates, heading)
    except (GitHubError, GateError) as fault:
        print(
            command("warning", f"the comment could not be written; the job summary has it ({fault})"), end=""
        )
        return 0
    _log(posted)
    outputs.set("comment-url", next((one.url for one in posted if one.url), ""))
    return 0


def expected(event: Event, inputs: Inputs) -> int:
    """The id of the run that has ended, if it is one to post about."""
    run = event.finished
    if event.name != "workflow_run" or run is None or not event.repository:
        said = event.name or "a run outside GitHub"
        raise InputError(Problem("mode 'comment'", f"belongs to workflow_run, not to {said}"))
    problems = []
    if run.event != "pull_request":
        problems.append(Problem("workflow_run", f"the finished run was for {run.event!r}, not pull_request"))
    if run.path != inputs.expected_workflow:
        what = f"the finished run was of {run.path!r}, not of {inputs.expected_workflow!r}"
        problems.append(Problem("workflow_run", what, "Name the gate's workflow with the input 'workflow'."))
    if not (run.head_owner and run.head_branch and run.head_sha and run.head_repo):
        problems.append(
            Problem("workflow_run", "does not say whose branch was measured", "Is the fork gone?")
        )
    raise_all(problems)
    return run.id


def find_pulls(client: Tree, event: Event) -> list[PullState]:
    """The open pull request whose head this run measured; none where it is closed or has moved on, and more than one
    where the same branch asks to be merged into several.
    """
    run = event.finished
    assert run is not None
    return [
        pull
        for pull in client.open_pulls(run.head_owner, run.head_branch)
        if pull.open
        and pull.head_sha == run.head_sha
        and pull.head_ref == run.head_branch
        and pull.head_repo.lower() == run.head_repo.lower()
    ]


def _only_one(pulls: Sequence[PullState]) -> None:
    """Which of several was measured nobody knows; an old green comment may stand on none of them."""
    if len(pulls) > 1:
        numbers = ", ".join(f"#{pull.number}" for pull in pulls)
        what = f"several open pull requests have this commit as their head ({numbers})"
        todo = "Close all but one; it is not known which was measured."
        raise InputError(Problem("workflow_run", what, todo))


def judged(client: Tree, event: Event, inputs: Inputs, pull: PullState, run: int) -> Report:
    """The fork's rankings under the base's rules. Nothing of the artifact is believed but those."""
    from gate.commands._project import load_metrics
    from gate.summary import whole_report

    metrics = load_metrics()
    chosen = artifact.choose(client.artifacts(run), inputs.comment_key)
    data = client.artifact_zip(chosen.id, artifact.PACKED_LIMIT)
    try:
        theirs = artifact.read_artifact(data, metrics)
    except GateError:
        raise
    except Exception as fault:  # whatever a hostile file does to a parser is the file's fault
        raise artifact.refused(f"cannot be read ({type(fault).__name__})") from fault
    commit = base_commit(client, event, pull, theirs)
    found = find_settings(client, commit, inputs, pull.base_ref)
    base, policies = _base(client, commit, found, inputs, metrics)
    base = base._replace(approved=approved_losses(client, pull, found, base))
    try:
        suites = fork.judge(theirs, base, metrics, policies)
    except GateError:
        raise
    except Exception as fault:
        raise artifact.refused(f"cannot be judged ({type(fault).__name__})") from fault
    return whole_report(suites)


class _History:
    """What the API knows of the history (gate.github.base.History)."""

    def __init__(self, client: Tree) -> None:
        self._client = client

    def parents(self, commit: str) -> list[str]:
        """Empty where GitHub has no such commit: a pull request may name the merge of an earlier head."""
        try:
            return self._client.parents(commit) if commit else []
        except GitHubError as fault:
            if fault.status in (404, 422):
                return []
            raise

    def merge_base(self, one: str, other: str) -> str | None:
        return self._client.merge_base(other, one)


def base_commit(client: Tree, event: Event, pull: PullState, theirs: Report) -> str:
    """The commit whose rules decide: found as for a pull request's own run (DESIGN section 6), through the API.

    The base branch may have gone on since the run. Where the run says that it was held against another commit that
    GitHub itself names as the base, that one is taken.
    """
    as_event = event.model_copy(
        update={
            "name": "pull_request",
            "sha": pull.merge_sha,
            "pull": Pull(
                number=pull.number,
                head_sha=pull.head_sha,
                head_ref=pull.head_ref,
                head_repo=pull.head_repo,
                base_sha=pull.base_sha,
                base_ref=pull.base_ref,
                fork=True,
            ),
        }
    )
    history = _History(client)
    found = find_base(as_event, history)
    if found.commit is None:
        raise InputError(Problem("workflow_run", "the pull request's base is not known"))
    said = {suite.baseline.commit for suite in theirs.suites if suite.baseline is not None}
    if said and found.commit not in said:
        for other in (pull.base_sha, history.merge_base(pull.head_sha, pull.base_sha)):
            if other in said and other is not None:
                return other
    return found.commit


def _base(
    client: Tree, commit: str, found: Found, inputs: Inputs, metrics: Metrics
) -> tuple[fork.Base, dict[str, fork.Policies]]:
    """The base's suites with their baselines and accepted losses, and their policies."""
    known = found.settings.suite
    raise_all(
        [
            Problem("input 'suite'", f"no such suite ({name!r})", did_you_mean(name, known))
            for name in inputs.suite
            if name not in known
        ]
    )
    sides = {
        name: _side(client, commit, found, name, metrics) for name in known if name in (inputs.suite or known)
    }
    policies = {name: _policies(found, name, side, metrics) for name, side in sides.items()}
    return fork.Base(sides, commit), policies


def _side(client: Tree, commit: str, found: Found, name: str, metrics: Metrics) -> Side:
    from gate.situation import Side
    from gate.store import accepted, baselines
    from gate.store.text import decode

    settings = found.settings.suite[name]

    def text(path: str) -> str | None:
        data = client.file(commit, path_inside(found.folder, path))
        return decode(data, path) if data is not None else None

    written = text(settings.baseline)
    where = f"{settings.baseline} at {commit[:10]}"
    baseline: Measurement | None = None
    if written is not None:
        baseline = baselines.parse(written, where, name, metrics)
    beside = accepted.path_beside(settings.baseline)
    entries = text(beside)
    return Side(settings, baseline, accepted.parse(entries, beside) if entries is not None else ())


def _policies(found: Found, name: str, side: Side, metrics: Metrics) -> fork.Policies:
    """The base's policy as `gate run` applies it. One of the user's own code is not there: nothing is checked out."""
    from gate.commands._judge import policy_findings
    from gate.commands._load import Suite
    from gate.commands._project import Project
    from gate.model.page import Corpus
    from gate.store import config
    from gate.store.cases import CaseSet

    where = f"{found.shown} [suite.{name}]"
    if ":" in side.settings.policy.rule:
        what = f"the policy {side.settings.policy.rule!r} is code that is not checked out here"
        raise InputError(Problem(where, what, "In 'mode: comment' only the gate's own rules can decide."))
    project = Project(config.Config(found.settings, Path(), found.shown), None, found.settings, metrics)
    suite = Suite(
        name=name,
        settings=side.settings,
        arms={},
        corpus=Corpus(()),
        cases=CaseSet((), ()),
        questions=None,
        head=side,
        base=side,
    )

    def policies(run: Run, situation: Situation) -> Iterator[Finding]:
        return policy_findings(project, suite, run, situation)

    return policies


def _summarise(environment: Mapping[str, str], report: Report, heading: str) -> None:
    from gate.report import render

    append_summary(environment.get("GITHUB_STEP_SUMMARY"), f"{heading}\n\n{render.summary(report)}")


def _post_refusal(
    client: Tree, event: Event, inputs: Inputs, pull: PullState, heading: str, fault: GateError
) -> None:
    """Nothing could be judged: every comment of ours says so. An old green one may not stand."""
    verdict = of_fault(fault.exit_code)
    body = f"{heading}\n\n{fault_text(fault, 'nothing could be judged')}"
    try:
        posted = post_everywhere(client, pull.number, inputs, event, verdict, body)
    except GitHubError as again:
        print(command("warning", f"the comment could not be written ({again})"), end="")
        return
    _log(posted)


def _log(posted: list[Posted]) -> None:
    for one in posted:
        print(f"comment: {one.step.value}, {one.why} {one.url}")
