"""The generation stage on Orbit and on the small project, against a real server that answers by rules."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from generation_site import REFUSAL, Model, cites, generation_site
from small_project import REPOSITORY, Project

TABLE = """
[suite.docs.generate]
model = "m"
base_url = "{url}"
api = "{api}"
retries = 0
price_in_per_million = 1000.0
price_out_per_million = 2000.0
price_date = "2026-11-30"
"""


def first(question: str, passages: dict[str, str]) -> Any:
    """Cites the first passage, with its first line as the quote."""
    name = next(iter(passages))
    return cites(name, passages[name].splitlines()[0])


@pytest.fixture
def model() -> Iterator[Model]:
    with generation_site(first) as running:
        yield running


@pytest.fixture
def generating(project: Project, model: Model, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """A function that writes the table and runs with --generate; the report of the one suite."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    monkeypatch.setenv("GATE_CACHE", str(tmp_path / "cache"))
    plain = project.read("gate.toml")

    def run(
        more: str = "", api: str = "chat", flags: tuple[str, ...] = ("--generate",)
    ) -> tuple[int, Any, Any]:
        head, _, tail = plain.partition("[suite.docs.arms")
        table = TABLE.format(url=model.url, api=api) + more
        project.write("gate.toml", f"{head}{table}\n[suite.docs.arms{tail}")
        done = project.gate("run", "--json", "-", *flags)
        report = json.loads(done.out)
        return done.code, report["suites"][0], report["environment"]

    return run


def buckets(suite: Any) -> dict[str, str]:
    found: dict[str, str] = suite["arms"]["keyword"]["diagnosis"]["questions"]
    return found


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_an_answer_that_cites_the_gold_is_ok(generating: Any, model: Model, api: str) -> None:
    code, suite, environment = generating(api=api)
    assert code == 0, suite["findings"]
    assert buckets(suite) == {"qa-1": "ok", "qa-2": "ok"}
    answer = suite["arms"]["keyword"]["diagnosis"]["answers"]["qa-1"]
    assert answer["citations"][0]["page"] == "errors"
    assert answer["citations"][0]["found"] == "exact"
    spent = environment["spent"]["docs"]["generate"]
    assert spent["requests"] == 2
    assert spent["cost_usd"] > 0
    assert "2026-11-30" in spent["price"]
    assert model.site.requests[0].path == ("/v1/responses" if api == "responses" else "/v1/chat/completions")
    assert model.site.requests[0].headers["authorization"] == "Bearer sk-0123456789abcdef"


def test_the_second_run_costs_nothing_and_asks_nothing(
    generating: Any, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, before, _ = generating()
    asked = len(model.site.requests)
    monkeypatch.delenv("OPENAI_API_KEY")
    _, after, environment = generating()
    assert len(model.site.requests) == asked
    assert environment["spent"]["docs"]["generate"]["cost_usd"] == 0.0
    assert environment["spent"]["docs"]["generate"]["cached"] == 2
    assert after["arms"]["keyword"]["diagnosis"] == before["arms"]["keyword"]["diagnosis"]


@pytest.mark.parametrize(
    "reply",
    [
        REFUSAL,
        None,
        {"answered": True, "answer": "Yes.", "citations": []},
        cites("guide#0", "Paint"),
        cites("nowhere#7"),
        {"answered": False, "answer": "No.", "citations": [{"passage": "errors#1", "quote": ""}]},
    ],
    ids=["refused", "sdk-refusal", "no-citation", "other-page", "unknown-passage", "refused-with-citation"],
)
def test_what_does_not_cite_the_gold_is_generation(generating: Any, model: Model, reply: Any) -> None:
    model.rule = lambda question, passages: reply
    code, suite, _ = generating()
    assert code == 0, "a bucket is a warning unless the policy says otherwise"
    assert buckets(suite)["qa-1"] == "generation"


def test_citations_outside_the_context_and_wrong_quotes_are_flagged(
    project: Project, generating: Any, model: Model
) -> None:
    model.rule = lambda question, passages: {
        "answered": True,
        "answer": "x",
        "citations": [
            {"passage": next(iter(passages)), "quote": "these words stand nowhere"},
            {"passage": "secret#1", "quote": "x"},
            {"passage": next(iter(passages)), "quote": next(iter(passages.values())).upper()},
        ],
    }
    _, suite, _ = generating()
    done = project.gate("diagnose", "--generate")
    assert "qa-1 quotes errors#" in done.out
    assert "qa-1 cites secret#1, which was not in the context" in done.out
    assert "answered 2 questions, 2 from the cache: 0 tokens, 0 USD" in done.out
    traces = json.loads(project.gate("diagnose", "--generate", "--json", "-").out)["suites"]["docs"]["traces"]
    trace = traces["keyword"]["qa-1"]
    assert trace["context"] == trace["pool"][:3]
    assert trace["cached"]
    found = suite["arms"]["keyword"]["diagnosis"]["answers"]["qa-1"]["citations"]
    assert [one["found"] for one in found] == ["absent", "none", "folded"]
    assert [one["page"] for one in found] == ["errors", None, "errors"]


def test_a_model_without_schemas_falls_back_to_json_and_is_repaired_once(
    generating: Any, model: Model
) -> None:
    model.structured = False

    def rule(question: str, passages: dict[str, str]) -> Any:
        name = next(iter(passages))
        if question.startswith("repair: "):
            return "Here you are:\n```json\n" + json.dumps(cites(name)) + "\n```"
        return '{"answered": "perhaps"}'

    model.rule = rule
    code, suite, _ = generating("concurrency = 1\n")
    assert code == 0
    assert set(buckets(suite).values()) == {"ok"}
    assert model.repairs == 2
    schemas = [request for request in model.site.requests if "response_format" in request.body]
    assert len(schemas) == 1, "a server that does not know schemas is not asked for one again"


def test_what_stays_unreadable_is_not_measured(generating: Any, model: Model) -> None:
    model.structured = False
    model.rule = lambda question, passages: "I would rather chat."
    code, suite, _ = generating()
    assert code == 3
    assert suite["verdict"] == "not_measured"
    assert "also after one repair" in json.dumps(suite["arms"]["keyword"]["failed_questions"])


def test_a_schema_only_setting_does_not_fall_back(generating: Any, model: Model) -> None:
    model.structured = False
    code, suite, _ = generating('structured = "schema"\n')
    assert code == 3
    assert "json_schema is not supported" in json.dumps(suite["arms"]["keyword"]["failed_questions"])


def test_without_a_key_the_questions_are_not_measured(
    generating: Any, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    code, suite, _ = generating()
    assert code == 3
    assert "OPENAI_API_KEY is not set" in json.dumps(suite["arms"]["keyword"]["failed_questions"])
    assert model.site.requests == []


def test_the_cap_holds(generating: Any, model: Model) -> None:
    """Held against the most that a question can cost, before it is asked."""
    code, suite, environment = generating("max_cost_usd = 0.5\nmax_tokens = 100\n")
    assert code == 3
    assert "max_cost_usd = 0.5 could be passed" in json.dumps(suite["arms"]["keyword"]["failed_questions"])
    assert model.site.requests == []
    code, suite, environment = generating("max_cost_usd = 50.0\nmax_tokens = 100\n")
    assert code == 0
    assert 0 < environment["spent"]["docs"]["generate"]["cost_usd"] < 50


def test_without_the_flag_nothing_is_asked(generating: Any, model: Model) -> None:
    _, suite, _ = generating(flags=())
    assert model.site.requests == []
    assert buckets(suite) == {"qa-1": "reached_context", "qa-2": "reached_context"}
    _, suite, _ = generating("always = true\n", flags=())
    assert set(buckets(suite).values()) == {"ok"}


def test_answers_on_one_side_only_are_no_move(project: Project, generating: Any, model: Model) -> None:
    """The committed baseline has the offline buckets only."""
    model.rule = lambda question, passages: REFUSAL
    _, suite, _ = generating()
    assert suite["comparison"]["keyword"]["question_moves"] == []
    assert project.gate("baseline", "--generate").code == 0
    project.commit("with answers")
    model.rule = first
    project.write("docs/errors.md", project.read("docs/errors.md") + "\n")
    _, suite, _ = generating("temperature = 0.5\n")
    assert [(move["before"], move["after"]) for move in suite["comparison"]["keyword"]["question_moves"]] == [
        ("generation", "ok"),
        ("generation", "ok"),
    ]
    _, suite, _ = generating(flags=())
    assert suite["comparison"]["keyword"]["question_moves"] == []


def test_the_flag_without_a_table_and_wrong_tables_are_said(project: Project) -> None:
    done = project.gate("run", "--generate")
    assert done.code == 2
    assert "there is no table [suite.docs.generate]" in done.err
    plain = project.read("gate.toml")
    for more, said in (
        ('model = "m"\nmax_cost_usd = 1.0\n', "price_in_per_million"),
        ('model = "m"\narm = "keywrod"\n', "'keyword'"),
        ('model = "m"\nprompt = "nowhere.txt"\n', "no such file"),
        ('modle = "m"\n', "model"),
    ):
        project.write("gate.toml", plain + f"\n[suite.docs.generate]\n{more}")
        done = project.gate("check")
        assert done.code == 2
        assert said in done.err


def test_all_four_buckets_occur_on_orbit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """A rule that cites the first passage refuses nothing: where the gold came later, the answer is generation."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    monkeypatch.setenv("GATE_CACHE", str(tmp_path / "cache"))
    project = Project(tmp_path / "orbit", capsys)
    for name in ("datasets/orbit/eval/qa_gold.jsonl", "datasets/orbit/eval/retrieval_queries.jsonl"):
        project.write(name, (REPOSITORY / name).read_bytes())
    for page in (REPOSITORY / "datasets/orbit/docs").glob("*.md"):
        project.write(f"datasets/orbit/docs/{page.name}", page.read_bytes())
    with generation_site(first) as model:
        config = f"""
[suite.orbit]
corpus = "datasets/orbit/docs"
cases = "datasets/orbit/eval/retrieval_queries.jsonl"
qa = "datasets/orbit/eval/qa_gold.jsonl"
pool = 10
context = 3
[suite.orbit.generate]
model = "m"
base_url = "{model.url}"
price_in_per_million = 1.0
price_out_per_million = 1.0
price_date = "2026-11-30"
[suite.orbit.arms.keyword]
type = "bm25"
"""
        project.write(
            "datasets/orbit/docs/testing.md", (REPOSITORY / "datasets/orbit/docs/testing.md").read_bytes()
        )
        project.write("gate.toml", config)
        for run in range(2):
            done = project.gate("run", "--generate", "--no-baseline", "--split", "all", "--json", "-")
            report = json.loads(done.out)
            counts = report["suites"][0]["arms"]["keyword"]["diagnosis"]["counts"]
            assert sum(counts.values()) == 29, "one question has no answer in the docs"
            assert counts["retrieval"] > 0
            assert counts["ranking"] > 0
            assert counts["generation"] > 0
            assert counts["ok"] > 0
            cost = report["environment"]["spent"]["orbit"]["generate"]["cost_usd"]
            assert (cost > 0) == (run == 0)
            asked = len(model.site.requests)
            if run == 0:
                before = asked
        assert asked == before, "the second run asks nothing"


def test_kept_answers_are_shown_and_pruned(generating: Any, project: Project) -> None:
    generating()
    assert "\n2 answers of a model, 0.0 MB in " in project.gate("cache", "stats").out
    assert project.gate("cache", "prune", "--max-mb", "1").out.startswith("removed 0 vectors and 0 answers\n")
    assert project.gate("cache", "prune", "--all").out.startswith("removed 0 vectors and 2 answers\n")
    assert "answers of a model" not in project.gate("cache", "stats").out


def test_answers_that_cannot_be_kept_are_said(generating: Any, project: Project, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "answers").write_text("", encoding="utf-8")
    code, suite, _ = generating()
    assert (code, buckets(suite)) == (0, {"qa-1": "ok", "qa-2": "ok"})
    assert project.gate("run", "--generate").err.count("answers are not kept in") == 1


def test_a_wrong_word_for_no_cache(
    generating: Any, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    generating()
    monkeypatch.setenv("GATE_NO_CACHE", "yes")
    done = project.gate("run", "--generate")
    assert done.code == 2
    assert "GATE_NO_CACHE: is neither 1 nor queries ('yes')" in done.err


def cut_off(api: str) -> tuple[int, dict[str, str], Any]:
    """An answer that ends at max_tokens, with what it took."""
    body = {
        "id": "c", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": '{"answ'}}],
        "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100},
    }  # fmt: skip
    return (200, {}, body)


def test_what_an_unusable_answer_cost_is_counted(generating: Any, model: Model) -> None:
    """1,000 tokens in at 1,000 USD a million and 100 out at 2,000: 1.20 USD for each of two requests."""
    model.rule = lambda question, passages: cut_off("chat")
    code, suite, environment = generating('structured = "schema"\n')
    assert code == 3
    assert "LengthFinishReasonError" in json.dumps(suite["arms"]["keyword"]["failed_questions"])
    spent = environment["spent"]["docs"]["generate"]
    assert (spent["requests"], spent["tokens"], round(spent["cost_usd"], 9)) == (2, 2200, 2.4)


@pytest.mark.parametrize("reply", ["no JSON at all", '{"answered": 1}'])
def test_the_cap_holds_where_answers_do_not_fit(generating: Any, model: Model, reply: str) -> None:
    model.rule = lambda question, passages: reply
    code, _, environment = generating("max_cost_usd = 2.0\nmax_tokens = 100\nconcurrency = 1\n")
    assert code == 3
    spent = environment["spent"]["docs"]["generate"]
    asked = len(model.site.requests)
    words = (
        sum(len(request.body["messages"][1]["content"].split()) for request in model.site.requests)
        * 1000
        / 1e6
        + asked * len(reply.split()) * 2000 / 1e6
    )
    assert spent["requests"] == asked
    assert abs(spent["cost_usd"] - words) < 1e-9, "every answered request is counted"
    assert spent["cost_usd"] <= 2.0


def test_both_requests_of_a_repair_are_counted(generating: Any, model: Model) -> None:
    model.structured = False
    model.rule = lambda question, passages: (
        first(question, passages) if question.startswith("repair") else "no JSON at all"
    )
    _, _, environment = generating("concurrency = 1\n")
    assert model.repairs == 2
    spent = environment["spent"]["docs"]["generate"]
    assert (spent["requests"], spent["texts"]) == (2 * 2 + 1, 2), "the first one asked for the schema"
    asked = [request for request in model.site.requests if "response_format" not in request.body]
    words = sum(len(request.body["messages"][1]["content"].split()) for request in asked)
    assert spent["tokens"] > words


def test_an_interrupt_waits_for_no_answer(generating: Any, model: Model) -> None:
    """As the Action's time limit raises it, in the main thread."""
    import signal
    import time

    class Over(BaseException):
        pass

    def raises(*_: object) -> None:
        raise Over

    def slow(question: str, passages: dict[str, str]) -> Any:
        time.sleep(8)
        return first(question, passages)

    model.rule = slow
    before = signal.signal(signal.SIGALRM, raises)
    start = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 1.5)
    try:
        with pytest.raises((Over, json.JSONDecodeError)):
            generating()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - start < 6
