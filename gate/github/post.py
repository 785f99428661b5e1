"""Writing the comment: read what is there, decide, read again, write once, and leave exactly one of ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gate.github.client import GitHubClient, GitHubError
from gate.github.comment import (
    Remark,
    Stamp,
    Step,
    When,
    content,
    decide,
    ours,
    read_stamp,
    same_login,
)
from gate.model.frozen import Frozen
from gate.model.verdict import Verdict

# How often the sweep looks again when somebody deletes comments meanwhile.
ROUNDS = 3


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

    Two runs may race: whatever they write, the oldest comment of ours stays with the text of the newest run, and the
    others are deleted, so both end with the same one. A 404 on update means that somebody deleted it in between; then
    it is created.
    """
    found = ours(client.comments(number), author, wanted.stamp)
    body = body_for(found[0].body if found else None)
    # Read last: what was true before rendering may not be true now.
    again = ours(client.comments(number), author, wanted.stamp)
    if again != found:
        found = again
        body = body_for(found[0].body if found else None)
    head = client.pull(number).head_sha
    decision = decide(
        found, body, wanted.stamp, wanted.when, wanted.verdict, changed=wanted.changed, current_head=head
    )
    if decision.step is Step.NOTHING:
        return Posted(step=decision.step, why=decision.why, url=found[0].url if found else "")
    written = _write(client, number, wanted, author, found, body)
    kept = _leave_one(client, number, wanted, author, written, body)
    return Posted(step=decision.step, why=decision.why, url=kept.url)


def _write(
    client: GitHubClient, number: int, wanted: Wanted, author: str, found: Sequence[Remark], body: str
) -> Remark:
    if found:
        try:
            return client.update_comment(number, found[0].id, body)
        except GitHubError as fault:
            if fault.status != 404:
                raise
    try:
        written = client.create_comment(number, body)
    except GitHubError as fault:
        if 0 < fault.status < 500:
            raise
        # No answer came: it is not sent twice, but it may stand there.
        there = _found_again(client, number, wanted, author, body)
        if there is None:
            raise
        return there
    if not same_login(written.author, author):
        # The next run would not find it again, and each would leave another one.
        client.delete_comment(number, written.id)
        raise GitHubError(
            f"comments are written as '{written.author}', not as '{author}'; mend the input 'comment-author'"
        )
    return written


def _found_again(client: GitHubClient, number: int, wanted: Wanted, author: str, body: str) -> Remark | None:
    try:
        found = ours(client.comments(number), author, wanted.stamp)
    except GitHubError:
        return None
    return next(
        (one for one in found if read_stamp(one.body) == wanted.stamp and content(one.body) == content(body)),
        None,
    )


def _leave_one(
    client: GitHubClient, number: int, wanted: Wanted, author: str, written: Remark, body: str
) -> Remark:
    """Delete our own duplicates: the oldest stays, with the text of the newest run."""
    for _ in range(ROUNDS):
        found = ours(client.comments(number), author, wanted.stamp)
        if not found:
            return written
        text, newest = body, wanted.stamp
        for comment in found:
            stamp = read_stamp(comment.body)
            if stamp is not None and stamp.newer_than(newest):
                text, newest = comment.body, stamp
        oldest = found[0]
        try:
            if read_stamp(oldest.body) != newest or content(oldest.body) != content(text):
                oldest = client.update_comment(number, oldest.id, text)
        except GitHubError as fault:
            if fault.status != 404:
                raise
            continue  # somebody deleted it just now: the next one is the oldest
        for duplicate in found[1:]:
            _delete(client, number, duplicate)
        return oldest
    return written


def _delete(client: GitHubClient, number: int, comment: Remark) -> None:
    try:
        client.delete_comment(number, comment.id)
    except GitHubError as fault:
        if fault.status != 404:
            raise


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


def clear(client: GitHubClient, number: int, author: str, own: Stamp, over: Callable[[Stamp], bool]) -> None:
    """Delete our comments with the key of `own` that are `over`: what they told of is gone. A newer run's are left alone."""
    found = [
        comment
        for comment in client.comments(number)
        if same_login(comment.author, author)
        and (said := read_stamp(comment.body)) is not None
        and said.key == own.key
        and over(said)
        and not said.newer_than(own)
    ]
    if found and client.pull(number).head_sha == own.head:
        for comment in found:
            _delete(client, number, comment)
