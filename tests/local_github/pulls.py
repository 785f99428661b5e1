"""Pull requests in step with the git repositories behind them."""

from __future__ import annotations

from local_github.state import Issue, Pull, Repository, World
from local_github.wire import ApiError, Context, invalid


def sync(repository: Repository, issue: Issue) -> Pull:
    """An open pull request follows its branch; `refs/pull/N/head` and `/merge` follow it, as on GitHub."""
    pull = issue.pull
    assert pull is not None
    if issue.state != "open":
        return pull
    head = _bring(repository, pull.head_repository, pull.head_ref)
    if head:
        pull.head_sha = head
    base = repository.git.branch(pull.base_ref)
    if base is None:
        return pull
    repository.git.set_ref(f"refs/pull/{issue.number}/head", pull.head_sha)
    if pull.merge_of != (base, pull.head_sha):
        pull.merge_of = (base, pull.head_sha)
        pull.merge_sha = repository.git.merge(base, pull.head_sha, f"Merge {pull.head_sha} into {base}")
        pull.mergeable = pull.merge_sha is not None
    if pull.merge_sha:
        repository.git.set_ref(f"refs/pull/{issue.number}/merge", pull.merge_sha)
    return pull


def _bring(repository: Repository, head: Repository, ref: str) -> str | None:
    sha = head.git.branch(ref)
    if sha and head is not repository:
        repository.git.fetch(head.git, f"refs/heads/{ref}")
    return sha


def head_of(world: World, repository: Repository, spec: str) -> tuple[Repository, str]:
    """`branch` or `owner:branch` as repository and branch."""
    owner, colon, branch = spec.partition(":")
    if not colon:
        return repository, spec
    for one in world.network(repository):
        if one.owner.lower() == owner.lower():
            return one, branch
    raise invalid({"resource": "PullRequest", "field": "head", "code": "invalid"})


def open_pull(
    context: Context, *, title: str, body: str | None, head: str, base: str, draft: bool = False
) -> Issue:
    """Open one, or say in GitHub's words why not."""
    world, repository = context.world, context.repo
    source, branch = head_of(world, repository, head)
    if repository.git.branch(base) is None:
        raise invalid({"resource": "PullRequest", "field": "base", "code": "invalid"})
    sha = _bring(repository, source, branch)
    if sha is None:
        raise invalid({"resource": "PullRequest", "field": "head", "code": "invalid"})
    for issue, other in repository.pulls():
        if issue.state == "open" and (other.head_repository, other.head_ref, other.base_ref) == (
            source,
            branch,
            base,
        ):
            said = f"A pull request already exists for {source.owner}:{branch}."
            raise invalid({"resource": "PullRequest", "code": "custom", "message": said})
    if not repository.git.between(f"refs/heads/{base}", sha):
        said = f"No commits between {base} and {branch}"
        raise invalid({"resource": "PullRequest", "code": "custom", "message": said})
    now = world.clock.tick()
    number = max(repository.issues, default=0) + 1
    issue = Issue(world.next_id(), number, title, body, context.login, now, now)
    issue.pull = Pull(source, branch, base, sha, draft=draft)
    repository.issues[number] = issue
    sync(repository, issue)
    return issue


def merge(context: Context, issue: Issue, *, message: str | None = None, sha: str | None = None) -> str:
    """Merge with a merge commit."""
    pull = sync(context.repo, issue)
    if issue.state != "open" or not pull.mergeable:
        raise ApiError(405, "Pull Request is not mergeable")
    if sha and sha != pull.head_sha:
        raise ApiError(409, "Head branch was modified. Review and try the merge again.")
    base = context.repo.git.branch(pull.base_ref) or ""
    words = message or f"Merge pull request #{issue.number} from {pull.head_repository.owner}/{pull.head_ref}"
    pull.merge_sha = context.repo.git.merge(base, pull.head_sha, words)
    assert pull.merge_sha is not None
    context.repo.git.set_ref(f"refs/heads/{pull.base_ref}", pull.merge_sha)
    now = context.world.clock.tick()
    issue.state, issue.closed_at, issue.updated_at = "closed", now, now
    pull.merged, pull.merged_at, pull.merged_by = True, now, context.login
    return pull.merge_sha
