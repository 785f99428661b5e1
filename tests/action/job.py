"""One workflow job of a user, run by the real `act` on the real action.yml, against a GitHub on loopback.

`Site` is a repository with a local GitHub around it; `Site.run` runs a job for an event and gives back what an onlooker
sees: exit code, outputs, annotations, log, summary, artifacts, and the requests that GitHub got.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from local_github.caller import Caller
from local_github.server import LocalGitHub
from local_github.state import Comment, Repository
from local_github.transport import Exchange
from small_project import REPOSITORY, Project

ACTION = REPOSITORY / "action.yml"
STAND_INS = Path(__file__).with_name("stand-ins")
NAME = "acme/widget"
US = "github-actions[bot]"
TOKEN = "ghs_the_token_of_the_workflow"
READ_ONLY = "ghs_a_token_that_may_only_read"
KEY = "sk-the-key-of-the-measuring-step"
EVENTS = (
    "pull_request", "pull_request_target", "pull_request_review", "pull_request_review_comment", "issue_comment", "merge_group", "push", "schedule", "workflow_dispatch", "workflow_run",
)  # fmt: skip
LONGEST_SECONDS = 120


def find_act() -> str | None:
    """The `act` on the path, or the one that was installed beside this interpreter."""
    beside = Path(sys.executable).parent / "act"
    return shutil.which("act") or (str(beside) if beside.exists() else None)


def action_copy(target: Path) -> Path:
    """The action as its own checkout holds it: what a runner downloads, without what a developer's folder has beside."""
    target.mkdir()
    for name in ("action.yml", "pyproject.toml"):
        shutil.copy2(REPOSITORY / name, target)
    for name in ("gate", "templates", "requirements"):
        shutil.copytree(REPOSITORY / name, target / name, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def pins(text: str) -> dict[str, str]:
    """`owner/name@ref` of every third-party action that a workflow or action uses -> its `owner/name`."""
    used = re.findall(r"\buses\W+([\w.-]+/[\w.-]+)[\w./-]*@([\w.-]+)", text)
    return {f"{name}@{ref}": name for name, ref in used}


@dataclass(frozen=True)
class Annotation:
    """`::error file=...::message` as GitHub takes it."""

    level: str
    message: str
    properties: dict[str, str]


def command(raw: str) -> Annotation:
    """A command as GitHub's runner reads it; act takes a later `::` for the end of the properties."""
    found = re.match(r"\s*::([\w-]+)(?: (.*?))?::(.*)", raw.rstrip("\r\n"))
    assert found is not None, raw
    pairs = [pair.split("=", 1) for pair in (found[2] or "").split(",") if "=" in pair]
    return Annotation(found[1], _plain(found[3]), {key: _plain(value, ":,") for key, value in pairs})


def _plain(text: str, more: str = "") -> str:
    for sign in (*more, "\r", "\n", "%"):
        text = text.replace(f"%{ord(sign):02X}", sign)
    return text


@dataclass
class Ran:
    """What one job did."""

    job: str
    records: list[dict[str, Any]]
    outputs: dict[str, str]
    exits: dict[str, int]
    """Step -> exit status of the steps that failed."""
    artifacts: Path
    requests: list[Exchange]
    stderr: str

    @property
    def exit_code(self) -> int:
        """The status of the last step that failed; 0 where the job succeeded."""
        assert (self.job == "success") == (not self.exits), (self.job, self.exits)
        return list(self.exits.values())[-1] if self.exits else 0

    @property
    def annotations(self) -> list[Annotation]:
        return [one for one in map(command, self._raw) if one.level in ("error", "warning", "notice")]

    @property
    def _raw(self) -> list[str]:
        """The workflow commands that were carried out, as they were written."""
        return [
            record["raw"]
            for record in self.records
            if "raw" in record and record.get("command") not in ("ignored", "set-output")
        ]

    @property
    def log(self) -> str:
        """What stands in the log as text: neither a command nor a line about a step."""
        return "".join(
            record.get("raw", record["msg"])
            for record in self.records
            if record.get("raw_output") or record.get("command") == "ignored"
        )

    @property
    def everything(self) -> str:
        """All that act was told, but for the masks themselves (and act's own word for them)."""
        return json.dumps([record for record in self.records if record.get("command") != "add-mask"])

    @property
    def summary(self) -> str:
        return "".join(record["content"] for record in self.records if record.get("command") == "summary")

    @property
    def commands(self) -> set[str]:
        """The names of the workflow commands that were carried out; the random tokens are left out."""
        tokens = {record["arg"] for record in self.records if record.get("command") == "stop-commands"}
        assert all(re.fullmatch(r"[0-9a-f]{32}", token) for token in tokens)
        return {command(raw).level for raw in self._raw} - tokens

    @property
    def writes(self) -> list[str]:
        """Every request that could have changed something on GitHub."""
        return [
            f"{one.method} {one.path}"
            for one in self.requests
            if one.method not in ("GET", "HEAD", "OPTIONS")
            and one.path != "/graphql"
            and not one.path.endswith("/git-upload-pack")
        ]

    def artifact(self) -> Path:
        """The folder of the one artifact."""
        found = list(self.artifacts.iterdir())
        assert len(found) == 1, found
        return found[0]

    def report(self) -> dict[str, Any]:
        return json.loads((self.artifact() / "report.json").read_text(encoding="utf-8"))

    def findings(self, level: str) -> set[str]:
        return {
            finding["code"]
            for suite in self.report()["suites"]
            for finding in suite["findings"]
            if finding["level"] == level
        }


@dataclass
class Site:
    """acme/widget on a local GitHub, a clone of it to work in (`project`), and where jobs run."""

    github: LocalGitHub
    repository: Repository
    project: Project
    folder: Path
    action: Path
    act: str
    numbers: Any = field(default_factory=lambda: itertools.count(7001))

    # -- what people do

    def push(self, branch: str = "change", to: Path | None = None) -> str:
        """Commit the work tree and push it; the new head."""
        sha = self.project.commit()
        self.project.git("push", "--quiet", "--force", str(to or "origin"), f"HEAD:refs/heads/{branch}")
        return sha

    def open_pull(self, head: str = "change", **more: Any) -> int:
        return self.github.add_pull(self.repository, head, **more).number

    def get(self, path: str) -> Any:
        """What the API says, as somebody who may see everything."""
        return Caller(self.github.api, "ghp_octocat")("GET", path).body

    def comments(self, number: int, author: str | None = US) -> list[Comment]:
        """The comments of one author, oldest first; None for all."""
        found = self.repository.issues[number].comments
        return [comment for comment in found if author in (None, comment.author)]

    def comment(self, number: int) -> str:
        """The one comment of ours."""
        (only,) = self.comments(number)
        return only.body

    # -- what GitHub Actions does

    def pull_event(self, number: int) -> dict[str, Any]:
        pull = self.get(f"/repos/{NAME}/pulls/{number}")
        return {"action": "synchronize", "number": number, "pull_request": pull, **self.repository_event()}

    def repository_event(self) -> dict[str, Any]:
        return {"repository": self.get(f"/repos/{NAME}"), "sender": {"login": "octocat"}}

    def run_pull(self, number: int, **more: Any) -> Ran:
        """A `pull_request` job on the merge commit, checked out as actions/checkout does it."""
        event = self.pull_event(number)
        more = {"ref": f"refs/pull/{number}/merge", "sha": event["pull_request"]["merge_commit_sha"], **more}
        return self.run("pull_request", event, **more)

    def run(
        self,
        event: str,
        payload: Mapping[str, Any],
        *,
        ref: str,
        sha: str,
        inputs: Mapping[str, str] | None = None,
        token: str = TOKEN,
        actor: str = "octocat",
        depth: int = 2,
        checkout: str = "",
        run: int | None = None,
        more: Mapping[str, str] | None = None,
        text: str = "",
    ) -> Ran:
        """`checkout`: the `ref` input of actions/checkout. `more`: variables of the workflow's `env`. `text`: a whole
        workflow of somebody else's, in place of ours.
        """
        number = run or next(self.numbers)
        place = self.folder / f"job-{number}"
        artifacts, caches = place / "artifacts", self.folder / "caches"
        for folder in (place / ".github" / "workflows", artifacts, caches):
            folder.mkdir(parents=True, exist_ok=True)
        (place / "event.json").write_text(json.dumps(payload), encoding="utf-8")
        text = text or json.dumps(workflow(inputs or {}, depth, checkout, more or {}))
        (place / ".github" / "workflows" / "gate.yml").write_text(text, encoding="utf-8")
        variables = {
            "GITHUB_REPOSITORY": NAME,
            "GITHUB_SERVER_URL": self.github.url,
            "GITHUB_API_URL": self.github.api,
            "GITHUB_GRAPHQL_URL": self.github.graphql,
            "GITHUB_REF": ref,
            "SHA_REF": sha,  # act's own name for GITHUB_SHA
            "GITHUB_RUN_ID": str(number),
            "STAND_IN_ENVIRONMENT": sys.prefix,
            "STAND_IN_ARTIFACTS": str(artifacts),
            "STAND_IN_CACHES": str(caches),
            "STAND_IN_OUTPUTS": str(place / "outputs.json"),
        }
        replaced = {**pins(ACTION.read_text(encoding="utf-8")), **pins(text)}
        overrides = {
            f"{pin}={self.action if name.endswith('/retrieval-gate') else STAND_INS / name}"
            for pin, name in replaced.items()
        }
        command = [
            self.act, event, "--json", "--insecure-secrets", "--no-cache-server", "--action-offline-mode",
            "--no-skip-checkout", "-P", "ubuntu-latest=-self-hosted", "-a", actor, "-e", str(place / "event.json"),
            "--action-cache-path", str(place / "runner"), "-s", f"GITHUB_TOKEN={token}",
            *itertools.chain.from_iterable(("--env", f"{key}={value}") for key, value in variables.items()),
            *itertools.chain.from_iterable(("--local-repository", one) for one in sorted(overrides)),
        ]  # fmt: skip
        self.github.clear_log()
        done = subprocess.run(
            command, cwd=place, env=machine(place), capture_output=True, text=True, timeout=LONGEST_SECONDS, check=False
        )  # fmt: skip
        return self._seen(done, place, token)

    def _seen(self, done: subprocess.CompletedProcess[str], place: Path, token: str) -> Ran:
        records = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        results = [record["jobResult"] for record in records if "jobResult" in record]
        assert results, done.stdout + done.stderr
        exits = {}
        for record in records:
            status = re.search(r"(?:exit status |exitcode ')(\d+)", record["msg"])
            if status and record["level"] == "error" and "raw" not in record and "raw_output" not in record:
                exits["/".join(record.get("stepID", ["job"]))] = int(status[1])
        outputs = place / "outputs.json"
        ran = Ran(
            job=results[-1],
            records=records,
            outputs=json.loads(outputs.read_text(encoding="utf-8")) if outputs.exists() else {},
            exits=exits,
            artifacts=place / "artifacts",
            requests=list(self.github.log),
            stderr=done.stderr,
        )
        assert obeyed_elsewhere(records) == []
        # In no run may a secret reach log, summary or outputs. act itself is told not to hide them.
        for secret in (token, KEY):
            assert secret not in ran.everything
            assert all(secret.encode() not in path.read_bytes() for path in files(ran.artifacts))
        shutil.rmtree(place / "runner", ignore_errors=True)
        return ran


def obeyed_elsewhere(records: list[dict[str, Any]]) -> list[str]:
    """Lines of the log that act takes for text and GitHub's own runner would obey.

    That one looks behind white space for `::`, and for the older `##[command]` anywhere in a line.
    """
    found, silent = [], None
    for record in records:
        command = record.get("command")
        if command == "stop-commands":
            silent = record["arg"]
        elif silent is not None and command == silent:
            silent = None
        elif record.get("raw_output") and silent is None:
            line = record["msg"].strip()
            if re.match(r"::[\w-]+[^:]*::", line) or re.search(r"##\[[\w-]+[^\]]*\]", line):
                found.append(line)
    return found


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def machine(home: Path) -> dict[str, str]:
    """The runner's environment: nothing of the machine that runs the tests but where programs are."""
    return {"PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8"}


def workflow(inputs: Mapping[str, str], depth: int, checkout: str, more: Mapping[str, str]) -> dict[str, Any]:
    """A user's workflow with the action in it, and a step that keeps the action's outputs. JSON is YAML."""
    return {
        "name": "gate",
        "on": list(EVENTS),
        "permissions": {"contents": "read", "pull-requests": "write"},
        "env": dict(more),
        "jobs": {
            "gate": {
                "runs-on": "ubuntu-latest",
                "steps": [
                    {
                        "uses": "actions/checkout@v7",
                        "with": {"fetch-depth": str(depth), "ref": checkout, "persist-credentials": "false"},
                    },
                    {"id": "gate", "uses": "retrieval-gate/retrieval-gate@v1", "with": dict(inputs)},
                    {
                        "if": "always()",
                        "env": {"OUTPUTS": "${{ toJSON(steps.gate.outputs) }}"},
                        "run": 'printf "%s" "$OUTPUTS" > "$STAND_IN_OUTPUTS"',
                    },
                ],
            }
        },
    }
