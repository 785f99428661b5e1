"""Writing the comment: read what is there, decide, read again, write once, and leave exactly one of ours."""

from __future__ import annotations

from collections.abc import Callable

from gate.github.client import GitHubClient, GitHubError
from gate.github.comment import Decision, Remark, Stamp, Step, When, decide, ours
from gate.model.frozen import Frozen
from gate.model.verdict import Verdict


class Posted(Frozen):
    """What became of the comment. `url` is empty where there is none."""

    step: Step
    why: str
    url: str = ""


class Wanted(Frozen):
    """What the comment should say, given the verdict of the one that is there (None where there is none)."""

    stamp: Stamp
    when: When
    verdict: Verdict
    changed: bool


def post(
    client: GitHubClient,
    number: int,
    wanted: Wanted,
    author: str,
    body_for: Callable[[str | None], str],
) -> Posted:
    """Create or update our comment on pull request `number`. `body_for` renders it over the old body.

    Two runs may race: whatever they write, the oldest comment of ours stays and the others are deleted, so both end
    with the same one. A 404 on update means that somebody deleted it in between; then it is created.
    """
    decision, existing, body = _decide(client, number, wanted, author, body_for)
    if decision.step is Step.NOTHING:
        return Posted(step=decision.step, why=decision.why, url=existing.url if existing is not None else "")
    if existing is not None:
        try:
            written = client.update_comment(number, existing.id, body)
        except GitHubError as fault:
            if fault.status != 404:
                raise
            written = client.create_comment(number, body)
    else:
        written = client.create_comment(number, body)
    kept = _leave_one(client, number, wanted, author, written, body)
    return Posted(step=decision.step, why=decision.why, url=kept.url)


def _decide(
    client: GitHubClient, number: int, wanted: Wanted, author: str, body_for: Callable[[str | None], str]
) -> tuple[Decision, Remark | None, str]:
    found = ours(client.comments(number), author, wanted.stamp)
    existing = found[0] if found else None
    body = body_for(existing.body if existing is not None else None)
    # Read last: what was true before rendering may not be true now.
    head = client.pull(number).head_sha
    decision = decide(
        existing, body, wanted.stamp, wanted.when, wanted.verdict, changed=wanted.changed, current_head=head
    )
    return decision, existing, body


def _leave_one(
    client: GitHubClient, number: int, wanted: Wanted, author: str, written: Remark, body: str
) -> Remark:
    """Delete our own duplicates: the oldest stays, with the newest text."""
    found = ours(client.comments(number), author, wanted.stamp)
    if len(found) < 2:
        return written
    oldest = found[0]
    for duplicate in found[1:]:
        try:
            client.delete_comment(number, duplicate.id)
        except GitHubError as fault:
            if fault.status != 404:
                raise
    if oldest.id != written.id and written.id in {comment.id for comment in found}:
        return client.update_comment(number, oldest.id, body)
    return oldest


def approved(client: GitHubClient, number: int, head: str) -> bool:
    """Whether somebody with write access approves this very commit. The latest review of each person counts."""
    latest: dict[str, tuple[str, str]] = {}
    for review in client.reviews(number):
        if review.state in ("APPROVED", "CHANGES_REQUESTED", "DISMISSED"):
            latest[review.author] = (review.state, review.commit)
    return any(
        state == "APPROVED" and commit == head and client.may_write(author)
        for author, (state, commit) in latest.items()
        if author
    )


def clear(client: GitHubClient, number: int, author: str, stamp: Stamp) -> None:
    """Delete our comments with this suite and key: what they told of is over."""
    for comment in ours(client.comments(number), author, stamp):
        client.delete_comment(number, comment.id)
