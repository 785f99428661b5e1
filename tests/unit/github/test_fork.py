"""A fork's artifact: what of it counts, and what a hostile one can do, which is nothing."""

from __future__ import annotations

import io
import json
import re
import struct
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import comrak
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_project import Project

from gate.commands._project import load_metrics
from gate.errors import InputError
from gate.github import artifact, fork
from gate.github.client import Artifact
from gate.model.report import Report, SuiteReport
from gate.model.verdict import Level, Verdict
from gate.noise import marked
from gate.report import render
from gate.situation import Side
from gate.store import accepted, baselines, config
from gate.summary import whole_report

METRICS = load_metrics()
COMMIT = "c" * 40


def packed(files: dict[str, bytes | str] | None = None, *, report: object = None, **how: Any) -> bytes:
    """A zip with these files; `report` is its report.json."""
    made = dict(files or {})
    if report is not None:
        made["report.json"] = report if isinstance(report, bytes | str) else json.dumps(report)
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED, **how) as opened:
        for name, content in made.items():
            opened.writestr(name, content)
    return into.getvalue()


@pytest.fixture
def base(project: Project) -> fork.Base:
    return base_of(project)


def base_of(project: Project) -> fork.Base:
    """The base's side as its committed files say it."""

    def show(path: str) -> str | None:
        listed = project.git("ls-tree", "--name-only", "main", path)
        return project.git("show", f"main:{path}") if listed.strip() else None

    found = config.parse(show("gate.toml") or "", "gate.toml", "gate.toml")
    sides = {}
    for name, suite in found.suite.items():
        text, entries = show(suite.baseline), show(accepted.path_beside(suite.baseline))
        sides[name] = Side(
            suite,
            baselines.parse(text, suite.baseline, name, METRICS) if text else None,
            accepted.parse(entries, "accepted") if entries else (),
        )
    return fork.Base(sides, COMMIT)


def measured(project: Project) -> dict[str, Any]:
    """The report that the gate leaves in the artifact of a pull request's run."""
    done = project.gate("run", "--base", "main", "--json", "-")
    assert done.out, done.err
    found: dict[str, Any] = json.loads(done.out)
    return found


def judged(report: object, base: fork.Base) -> SuiteReport:
    theirs = artifact.read_artifact(packed(report=report), METRICS)
    (found,) = fork.judge(theirs, base, METRICS)
    return found


def codes(suite: SuiteReport, level: Level | None = None) -> list[str]:
    return [finding.code for finding in suite.findings if level in (None, finding.level)]


def comment(suite: SuiteReport) -> str:
    return render.comment(whole_report([suite]), suite)


# -- what counts


def test_an_honest_artifact_of_nothing_new_passes(project: Project, base: fork.Base) -> None:
    found = judged(measured(project), base)
    assert (found.verdict, codes(found)) == (Verdict.PASS, [])
    assert found.baseline is not None
    assert found.baseline.commit == COMMIT
    assert found.comparison["keyword"].n == 6


def test_the_table_is_the_one_that_the_gate_itself_makes(project: Project, base: fork.Base) -> None:
    project.edit("docs/errors.md", "E101 means that the widget is jammed. Shake it.", "Nothing here.")
    project.edit("docs/errors.md", "## E101 WidgetJam", "## Gone")
    report = measured(project)
    own = report["suites"][0]
    found = judged(report, base).model_dump(mode="json")
    assert own["verdict"] == "regression"
    for key in ("verdict", "cases_version", "page_changes", "k", "pool", "context", "split", "metrics"):
        assert found[key] == own[key], key
    assert found["comparison"] == own["comparison"]
    for key in ("n", "recall", "mrr", "hit", "by_kind", "cases", "diagnosis"):
        assert found["arms"]["keyword"][key] == own["arms"]["keyword"][key], key


def test_scores_verdicts_and_comparisons_of_the_artifact_are_not_believed(
    project: Project, base: fork.Base
) -> None:
    project.remove("docs/config.md")
    report = measured(project)
    suite = report["suites"][0]
    assert suite["verdict"] == "regression"
    report["verdict"] = suite["verdict"] = "pass"
    suite["comparison"], suite["findings"], suite["baseline"] = {}, [], None
    suite["arms"]["keyword"]["recall"] = 1.0
    suite["arms"]["keyword"]["by_kind"] = {}
    suite["metrics"] = ["hit"]
    found = judged(report, base)
    assert "q-04" in [move.id for move in found.comparison["keyword"].lost]
    assert found.arms["keyword"].recall < 1.0  # type: ignore[attr-defined]
    assert found.metrics == ("recall",)


def test_a_run_may_call_itself_worse_never_better(project: Project, base: fork.Base) -> None:
    report = measured(project)
    for verdict in ("invalid", "not_measured", "regression", "partial"):
        report["suites"][0]["verdict"] = verdict
        found = judged(report, base)
        assert (found.verdict.value, codes(found)) == (verdict, ["run-says-so"])
        assert "own run ended as" in comment(found)
    report["suites"][0]["verdict"] = "unjudged"
    assert judged(report, base).verdict is Verdict.PASS


def test_added_cases_do_not_decide(project: Project, base: fork.Base) -> None:
    new = {"id": "q-20", "query": "blue widget", "relevant_doc_ids": ["guide"], "kind": "brand_new"}
    project.cases.append(new)
    project.save_cases()
    report = measured(project)
    report["suites"][0]["verdict"] = "pass"  # as after a refresh of the fork's own baseline
    found = judged(report, base)
    assert (found.verdict, codes(found)) == (Verdict.PASS, ["cases-changed"])
    assert "1 added: q-20" in comment(found)
    assert "q-20" not in found.labels
    assert "brand_new" not in found.arms["keyword"].by_kind


def test_a_removed_case_is_invalid(project: Project, base: fork.Base) -> None:
    del project.cases[0]
    project.save_cases()
    report = measured(project)
    report["suites"][0]["verdict"] = "pass"
    found = judged(report, base)
    assert found.verdict is Verdict.INVALID
    assert codes(found, Level.INVALID) == ["cases-lacking"]
    assert "no answer to 1 of the base's 6 cases (q-02)" in comment(found)


def test_another_query_under_the_same_id_is_no_answer(project: Project, base: fork.Base) -> None:
    project.case("q-02")["query"] = "an easier one"
    project.save_cases()
    report = measured(project)
    report["suites"][0]["verdict"] = "pass"
    found = judged(report, base)
    assert codes(found, Level.INVALID) == ["cases-lacking"]
    assert "q-02" not in [row.id for row in found.arms["keyword"].cases]


def test_labels_and_kinds_are_the_base_s(project: Project, base: fork.Base) -> None:
    project.remove("docs/config.md")
    project.case("q-04")["relevant_doc_ids"] = ["news"]
    project.case("q-06")["relevant_doc_ids"] = ["api"]
    for case in project.cases:
        case["kind"] = "other"
    project.save_cases()
    report = measured(project)
    report["suites"][0]["verdict"] = "pass"
    found = judged(report, base)
    assert [move.id for move in found.comparison["keyword"].lost] == ["q-04", "q-06"]
    assert sorted(found.arms["keyword"].by_kind) == ["exact_term", "semantic"]
    assert codes(found, Level.BANNER) == ["cases-changed"]


def test_other_settings_are_scored_again_where_that_can_be(project: Project, base: fork.Base) -> None:
    project.edit("gate.toml", "k = 2", "k = 7")
    report = measured(project)
    report["suites"][0]["verdict"] = "pass"
    found = judged(report, base)
    assert (found.k, codes(found)) == (2, ["settings-changed"])
    assert "k 2 -&gt; 7" in comment(found) or "k 2 -> 7" in comment(found)


@pytest.mark.parametrize(("old", "new"), [("pool = 8", "pool = 7"), ("k = 2", 'k = 2\nsplit = "all"')])
def test_other_settings_are_invalid_where_not(project: Project, base: fork.Base, old: str, new: str) -> None:
    project.edit("gate.toml", old, new)
    report = measured(project)
    report["suites"][0]["verdict"] = "pass"
    found = judged(report, base)
    assert found.verdict is Verdict.INVALID
    assert "settings-not-comparable" in codes(found, Level.INVALID)
    assert found.comparison == {}
    assert comment(found)


def test_a_missing_arm_is_invalid_and_an_unknown_one_is_only_named(project: Project, base: fork.Base) -> None:
    report = measured(project)
    arms = report["suites"][0]["arms"]
    arms["@everyone <b>"] = arms.pop("keyword")
    found = judged(report, base)
    assert found.verdict is Verdict.INVALID
    assert "arm-absent" in codes(found, Level.INVALID)
    assert "arm-unknown" in codes(found, Level.NOTICE)
    assert list(found.arms) == []
    assert "@everyone" not in comment(found)


def test_a_case_that_failed_is_not_measured(project: Project, base: fork.Base) -> None:
    report = measured(project)
    arm = report["suites"][0]["arms"]["keyword"]
    arm["failed"] = {"q-02": "boom ::error::x"}
    found = judged(report, base)
    assert (found.verdict, codes(found)) == (Verdict.NOT_MEASURED, ["arm-not-measured", "no-secrets"])


def test_other_suites_are_only_named_and_absent_ones_are_invalid(project: Project, base: fork.Base) -> None:
    report = measured(project)
    report["suites"][0]["suite"] = "@everyone"
    found = judged(report, base)
    assert (found.suite, found.verdict) == ("docs", Verdict.INVALID)
    assert codes(found) == ["suite-absent", "suite-unknown"]
    assert "@everyone" not in comment(found)


def test_a_suite_whose_absence_the_base_accepts(project: Project, base: fork.Base) -> None:
    side = base.sides["docs"]
    assert side.baseline is not None
    entry = accepted.parse(
        f'[[accepted]]\nwhat = "suite"\nname = "docs"\nreason = "moved"\nbaseline_sha256 = "{side.baseline.sha256()}"\n',
        "accepted",
    )
    report = measured(project)
    report["suites"] = []
    found = judged(report, fork.Base({"docs": side._replace(accepted=entry)}, COMMIT))
    assert (found.verdict, codes(found, Level.BANNER)) == (Verdict.PASS, ["suite-absent"])


def test_a_base_without_a_baseline_is_invalid(project: Project, base: fork.Base) -> None:
    side = base.sides["docs"]._replace(baseline=None)
    found = judged(measured(project), fork.Base({"docs": side}, COMMIT))
    assert (found.verdict, found.baseline) == (Verdict.INVALID, None)
    assert codes(found, Level.INVALID) == ["no-baseline"]


def test_a_policy_on_a_metric_without_scores_is_told(project: Project, base: fork.Base) -> None:
    side = base.sides["docs"]
    policy = side.settings.policy.model_copy(update={"metrics": ("recal",)})
    side = side._replace(settings=side.settings.model_copy(update={"policy": policy}))
    with pytest.raises(InputError, match="decides on 'recal'"):
        judged(measured(project), fork.Base({"docs": side}, COMMIT))


# -- which artifact


def artifacts(*names: str, expired: bool = False) -> list[Artifact]:
    return [Artifact(id=number, name=name, expired=expired) for number, name in enumerate(names, 1)]


def test_the_newest_attempt_is_taken() -> None:
    found = artifacts(
        "retrieval-gate--gate-2", "retrieval-gate--gate-10", "retrieval-gate--gate-9", "coverage-11"
    )
    assert artifact.choose(found, "").id == 2


def test_a_key_tells_the_jobs_of_a_matrix_apart() -> None:
    found = artifacts("retrieval-gate-en-gate-1", "retrieval-gate-de-gate-1")
    assert artifact.choose(found, "de").id == 2
    with pytest.raises(
        InputError, match=r"is not the only one \(retrieval-gate-de-gate, retrieval-gate-en-gate\)"
    ):
        artifact.choose(found, "")
    with pytest.raises(InputError, match=r"named 'retrieval-gate-fr-\.\.\.'"):
        artifact.choose(found, "fr")


@pytest.mark.parametrize(
    "names",
    [(), ("coverage",), ("retrieval-gate",), ("retrieval-gate-x",), ("retrieval-gate--gate-",), ("retrieval-gate--gate-" + "9" * 10,),
     ("x-retrieval-gate--gate-1",)],
)  # fmt: skip
def test_no_artifact(names: tuple[str, ...]) -> None:
    with pytest.raises(InputError, match="is missing"):
        artifact.choose(artifacts(*names), "")


def test_an_expired_artifact() -> None:
    with pytest.raises(InputError, match=r"has expired\. Run the pull request's workflow again"):
        artifact.choose(artifacts("retrieval-gate--gate-1", expired=True), "")


# -- hostile zips


def refused(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        artifact.read_artifact(data, METRICS)
    return str(caught.value)


def test_not_a_zip() -> None:
    for data in (
        b"",
        b"PK",
        b"hello",
        b"\x00" * 1000,
        packed(report="{}")[:-10],
        b"PK\x05\x06" + b"\xff" * 18,
    ):
        assert "no readable zip" in refused(data) or "no report.json" in refused(data)


def test_a_zip_bomb_is_not_unpacked() -> None:
    into = io.BytesIO()
    with (
        zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as opened,
        opened.open("report.json", "w", force_zip64=True) as stream,
    ):
        for _ in range(160):
            stream.write(bytes(1_000_000))
    data = into.getvalue()
    assert len(data) < artifact.PACKED_LIMIT
    tracemalloc.start()
    assert "unpacks to more than 100,000,000 bytes" in refused(data)
    assert tracemalloc.get_traced_memory()[1] < 5_000_000
    tracemalloc.stop()


def test_a_bomb_that_lies_about_its_size_is_cut_there() -> None:
    data = bytearray(packed(report=b"0" * 5_000_000))
    for signature, at in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        place = data.index(signature) + at
        struct.pack_into("<I", data, place, 10)
    assert "no readable zip" in refused(bytes(data))


def test_many_files_that_are_large_together() -> None:
    assert "unpacks to more than" in refused(
        packed({f"{n}": bytes(5_000_000) for n in range(30)}, report="{}")
    )


def test_an_artifact_over_the_limit_is_not_opened() -> None:
    assert "is larger than 20,000,000 bytes" in refused(b"PK" * 10_000_001)


@pytest.mark.parametrize("count", [50, 10_000, 100_000])
def test_many_entries(count: int) -> None:
    assert "more than 50 files" in refused(
        packed(dict.fromkeys((str(n) for n in range(count)), b""), report="{}")
    )


HOSTILE_NAMES = (
    "../report.json", "/report.json", "C:\\report.json", "..\\report.json", "./report.json", "a/../report.json",
    "REPORT.JSON", "report.json/", "report.json\x01", "\u202ereport.json", "../../../../etc/cron.d/x", "~/.ssh/config",
)  # fmt: skip


def test_no_name_is_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in HOSTILE_NAMES:
        assert "holds no report.json" in refused(packed({name: "{}"}))
    assert list(tmp_path.iterdir()) == []


def test_foreign_files_beside_the_report_are_nothing(project: Project, base: fork.Base) -> None:
    data = packed(dict.fromkeys(HOSTILE_NAMES, b"x"), report=measured(project))
    assert artifact.read_artifact(data, METRICS).suites[0].suite == "docs"


def test_a_report_twice() -> None:
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w") as opened, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        opened.writestr("report.json", "{}")
        opened.writestr("report.json", "{}")
    assert "more than one report.json" in refused(into.getvalue())


@pytest.mark.parametrize("mode", [0o120777, 0o040755, 0o010644, 0o020666, 0o140777])
def test_a_report_that_is_no_file(mode: int) -> None:
    info = zipfile.ZipInfo("report.json")
    info.external_attr = mode << 16
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w") as opened:
        opened.writestr(info, "/etc/passwd")
    assert "no plain file" in refused(into.getvalue())


def test_an_encrypted_report_and_an_odd_packing() -> None:
    data = bytearray(packed(report="{}"))
    struct.pack_into("<H", data, data.index(b"PK\x01\x02") + 8, 1)
    assert "no plain file" in refused(bytes(data))
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_LZMA) as opened:
        opened.writestr("report.json", "{}")
    assert "packed in an unusual way" in refused(into.getvalue())


@settings(max_examples=300)
@given(st.data())
def test_any_bytes_are_a_report_or_refused(data: st.DataObject) -> None:
    whole = bytearray(
        packed({"x": b"y"}, report='{"schema": "retrieval-gate/report/1", "verdict": "pass", "suites": []}')
    )
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] = data.draw(st.integers(0, 255))
    try:
        assert isinstance(artifact.read_artifact(bytes(whole), METRICS), Report)
    except InputError:
        return


# -- hostile reports


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "null", "[]", "7", '"text"', "NaN", "{}", b"\xff\xfe{\x00", b"\x00", b"\xff", "[" * 200_000, '{"a":' * 200_000,
        '{"schema": "retrieval-gate/report/2", "verdict": "pass", "suites": []}',
        '{"schema": "retrieval-gate/baseline/1"}',
        '{"schema": "retrieval-gate/report/1", "verdict": "pass", "suites": [], "more": 1}',
        '{"schema": "retrieval-gate/report/1", "verdict": "great", "suites": []}',
        '{"schema": "retrieval-gate/report/1", "verdict": "pass", "suites": {}}',
        '{"schema": "retrieval-gate/report/1", "verdict": "pass", "suites": [' + "9" * 5000 + "]}",
        "version https://git-lfs.github.com/spec/v1\n",
    ],
)  # fmt: skip
def test_what_is_no_report(text: str | bytes) -> None:
    said = refused(packed(report=text))
    assert len(said) < 2000


@pytest.mark.parametrize("part", ["{},", "[],", "0,", '{"a":0},', '"",'])
def test_millions_of_faults_do_not_fill_the_memory(part: str) -> None:
    start = '{"schema": "retrieval-gate/report/1", "verdict": "pass", "suites": ['
    text = start + part * (40_000_000 // len(part)) + "0]}"
    assert "far more values than any run" in refused(packed(report=text))
    said = refused(packed(report=start + part * 100_000 + "0]}"))
    assert "the artifact: does not fit the schema. " in said


def deep(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


Edit = Callable[[dict[str, Any]], object]
EDITS: dict[str, tuple[Edit, str]] = {
    "a score that does not follow": (lambda s: arm(s)["cases"][0].update(recall=0.123), "contradicts itself"),
    "a page twice": (lambda s: arm(s)["cases"][0].update(ranked=["a", "a"], at=[1, 2]), "contradicts itself"),
    "positions that do not fit": (lambda s: arm(s)["cases"][0].update(at=[2, 1]), "contradicts itself"),
    "a position beyond the pool": (lambda s: arm(s)["cases"][0].update(ranked=["a"], at=[10**6]), "contradicts itself"),
    "a position of nothing": (lambda s: arm(s)["cases"][0].update(ranked=["a"], at=[0]), "does not fit the schema"),
    "another kind of one label": (lambda s: label(s).update(kind="other"), "contradicts itself"),
    "another label": (lambda s: label(s).update(relevant={"news": 1}), "contradicts itself"),
    "no label": (lambda s: label(s).update(relevant={}), "does not fit the schema"),
    "a case left out": (lambda s: s["labels"].pop("q-02"), "contradicts itself"),
    "a row left out": (lambda s: arm(s)["cases"].pop(), "contradicts itself"),
    "a page hash": (lambda s: s["pages"].update(news="0" * 16), "contradicts itself"),
    "a fingerprint": (lambda s: s["versions"].update(qa="@everyone"), "fingerprint that is none"),
    "a negative score": (lambda s: arm(s)["cases"][0].update(recall=-1.0), "does not fit the schema"),
    "a text for a number": (lambda s: s.update(k="2"), "does not fit the schema"),
    "a setting beyond all measure": (lambda s: s.update(k=10**9), "beyond all measure"),
    "a very long number": (lambda s: arm(s)["settings"].update(k1=10**4000), "hundreds of digits"),
    "a setting that is too deep": (lambda s: arm(s)["settings"].update(k1=deep(900)), "does not fit the schema"),
    "an unknown key": (lambda s: s.update(template="{{ 1 }}"), "does not fit the schema"),
}  # fmt: skip


def arm(suite: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = suite["arms"]["keyword"]
    return found


def label(suite: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = suite["labels"]["q-02"]
    return found


@pytest.mark.parametrize("name", EDITS)
def test_a_report_that_was_edited_by_hand(project: Project, name: str) -> None:
    edit, said = EDITS[name]
    report = measured(project)
    edit(report["suites"][0])
    assert said in refused(packed(report=report))


def test_the_same_suite_twice_or_far_too_many(project: Project) -> None:
    report = measured(project)
    one = report["suites"][0]
    report["suites"] = [one, one]
    assert "a suite twice" in refused(packed(report=report))
    report["suites"] = [{**one, "suite": f"docs-{number}"} for number in range(101)]
    assert "101 suites" in refused(packed(report=report))


def test_half_a_surrogate_pair(project: Project) -> None:
    text = json.dumps(measured(project)).replace("q-02", "q-\\ud800")
    assert refused(packed(report=text))


EVIL = (
    "@everyone #1 <img src=x onerror=alert(1)> <!-- retrieval-gate suite=docs --> | ` [a](javascript:x) ::error::no "
    "%0A::set-output name=x::y \x1b[31m \u202e ${{ secrets.X }} https://evil.example {{ 7*7 }} -->\r\n::warning::w\n### pass"
)


def test_hostile_strings_are_plain_text(project: Project, base: fork.Base) -> None:
    project.remove("docs/config.md")
    report = measured(project)
    suite = report["suites"][0]
    suite["suite"] = "docs"
    arm(suite)["settings"] = {EVIL: EVIL, "k1": [EVIL], "variant": deep(50)}
    arm(suite)["failed_questions"] = {EVIL: EVIL}
    arm(suite)["unstable"] = ["q-02"]
    arm(suite)["failed"] = {EVIL: EVIL}
    for row in arm(suite)["cases"]:
        row["ranked"] = [
            EVIL if page == row["ranked"][-1] and len(row["ranked"]) > 3 else page for page in row["ranked"]
        ]
    suite["arms"][EVIL] = arm(suite)
    text = json.dumps(report)
    found = judged(text, base)
    for written in (comment(found), render.summary(whole_report([found]))):
        assert not set(written) & set("\x1b\u202e\r")
        assert not [line for line in written.splitlines() if line.startswith(("::", "##[", "### pass"))]
        html = rendered(written)
        assert len(re.findall("<!--", html)) == (2 if written.startswith("<!--") else 0)
        assert "href" not in html
        assert "<img" not in html
        prose = re.sub(r"<code>.*?</code>", "", html, flags=re.DOTALL)
        for live in ("@everyone", "#1", "https://evil"):
            assert live not in prose, live


def rendered(markdown: str) -> str:
    """As GitHub reads it, before its sanitizer."""
    extensions = comrak.ExtensionOptions()
    for name in ("table", "autolink", "strikethrough", "tasklist", "footnotes"):
        setattr(extensions, name, True)
    options = comrak.RenderOptions()
    options.unsafe_ = True
    return str(comrak.render_markdown(markdown, extension_options=extensions, render_options=options))


def test_a_report_far_larger_than_any_comment(project: Project, base: fork.Base) -> None:
    report = measured(project)
    suite = report["suites"][0]
    arm(suite)["settings"] = {"k1": "x" * 5_000_000, **{f"{n}" * 50: n for n in range(5000)}}
    arm(suite)["failed_questions"] = {f"qa-{n}" * 100: "y" * 100 for n in range(20_000)}
    found = judged(report, base)
    assert len(comment(found).encode()) <= render.BUDGET


# -- a noisy arm


def noisy_base(project: Project) -> fork.Base:
    """The base, whose baseline knows the arm as unstable."""
    base = base_of(project)
    side = base.sides["docs"]
    assert side.baseline is not None
    return fork.Base({"docs": side._replace(baseline=marked(side.baseline, [("keyword", "q-04")]))}, COMMIT)


def lost_once(project: Project) -> dict[str, Any]:
    """A run that lost q-02, and found it when it measured again."""
    before = measured(project)["suites"][0]["arms"]["keyword"]["cases"]
    text = project.read("docs/errors.md")
    project.write("docs/errors.md", text.replace("E101", "the first code").replace("WidgetJam", "the jam"))
    report = measured(project)
    [row] = [one for one in before if one["id"] == "q-02"]
    kept = {name: value for name, value in row.items() if name not in ("id", "kind", "query", "missing")}
    report["suites"][0]["arms"]["keyword"]["again"] = {"q-02": kept}
    report["suites"][0]["verdict"] = report["verdict"] = "pass"
    return report


def test_a_loss_that_the_forks_run_did_not_confirm_is_flaky_here_too(project: Project) -> None:
    report = lost_once(project)
    suite = judged(report, noisy_base(project))
    assert "flaky" in codes(suite, Level.WARNING)
    flaky = {move.id for move in suite.comparison["keyword"].lost if move.flaky}
    assert flaky == {"q-02"}
    assert suite.comparison["keyword"].dropped_kinds == ()
    stable = judged(report, base_of(project))
    assert stable.comparison["keyword"].dropped_kinds == ("exact_term",), "the base says which arm is noisy"
    assert "flaky" not in codes(stable)


@pytest.mark.parametrize(
    "row", [{"ranked": ["a"], "at": []}, {"ranked": ["a", "a"], "at": [1, 2]}, {"ranked": ["a"], "at": [99]}]
)
def test_a_second_measurement_that_cannot_be_is_refused(project: Project, row: dict[str, Any]) -> None:
    report = lost_once(project)
    report["suites"][0]["arms"]["keyword"]["again"]["q-02"] |= row
    with pytest.raises(InputError, match="a second measurement"):
        artifact.read_artifact(packed(report=report), METRICS)
