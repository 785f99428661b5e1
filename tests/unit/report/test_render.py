"""Comments: their order, their size, what survives a cut, and overrides that try more than they may."""

from __future__ import annotations

import re
import time
from pathlib import Path

import comrak
import pytest
from golden.build import World, judged, measurement
from golden.scenarios import BASE, SCENARIOS, banners, good, hostile, regression
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gate.errors import GateError, InputError
from gate.model.report import Report
from gate.model.verdict import Finding, Level, Verdict
from gate.report import render
from gate.report.folder import template_folder
from gate.report.loading import PUBLIC, block_names
from gate.store.canonical import dumps

EXTENDS = '{% extends "gate/comment.md.j2" %}\n'


def large(cases: int = 2000) -> Report:
    """Every case of a large set lost, in one kind."""
    pages = {f"page-{n:05d}": f"{n:016x}" for n in range(cases)}
    names = list(pages)
    rows = tuple((f"rq-{n:05d}", f"what about number {n}", "semantic", (names[n],)) for n in range(cases))
    ranked = {f"rq-{n:05d}": (names[n], names[n - 1], names[n - 2], names[n - 3]) for n in range(cases)}
    fallen = {name: (*order[1:], order[0]) for name, order in ranked.items()}
    before = World(cases=rows, pages=pages, arms=("keyword",), ranked={"keyword": ranked})
    return judged(before.but(ranked={"keyword": fallen}), before)


LARGE = large()


def test_two_thousand_lost_cases_fit_and_say_what_is_missing() -> None:
    begun = time.process_time()
    text = render.comment(LARGE, "orbit")
    assert time.process_time() - begun < 5
    assert len(text.encode()) <= render.BUDGET
    assert "regression: semantic of keyword dropped, 2,000 of 2,000 cases lost" in text
    assert "#### Lost cases: 2,000" in text
    shown = len(
        re.findall(r"^\| `rq-", text.partition("#### Lost cases")[2].partition("<details>")[0], re.MULTILINE)
    )
    assert shown > 100
    assert f"{2000 - shown:,} more rows left out here; the full report is in the artifact." in text
    assert "2,000 more rows left out here" in text.partition("All misses")[2]


@settings(max_examples=8, deadline=None)
@given(st.integers(2_000, 80_000))
def test_any_budget_is_kept_and_used(budget: int) -> None:
    text = render.comment(LARGE, "orbit", budget=budget)
    assert len(text.encode()) <= budget
    assert "semantic of keyword dropped" in text
    if budget >= 10_000:
        assert "| keyword | 2000 |" in text
        assert "`rq-00000`" in text
        assert len(text.encode()) > budget - 1_000


def test_a_tiny_budget_leaves_the_verdict() -> None:
    text = render.comment(LARGE, "orbit", budget=10)
    assert "regression: semantic of keyword dropped" in text
    assert len(text) < 500


def test_the_least_important_goes_first() -> None:
    report = regression()
    whole = render.comment(report, "orbit")
    less = render.comment(report, "orbit", budget=len(whole.encode()) - 100)
    assert "Slices: 4" in less
    assert "`de`" not in less
    assert less.count("`rq-") == whole.count("`rq-")


def test_many_kinds_become_rows() -> None:
    kinds = 30
    cases = tuple((f"rq-{n:03d}", f"query {n}", f"kind_{n:02d}", ("errors",)) for n in range(kinds))
    before = BASE.but(cases=cases)
    after = before.answers("keyword", **{"rq_007": ("install", "limits", "paint", "errors")})
    text = render.comment(judged(after, before), "orbit")
    assert "| arm | kind | n | recall@3 |" in text
    assert "**kind_07 ▼**" in text


def test_a_great_many_kinds_still_fit() -> None:
    cases = tuple((f"rq-{n:04d}", f"query {n}", f"kind_{n:04d}", ("errors",)) for n in range(800))
    before = BASE.but(cases=cases)
    fallen = {f"rq_{n:04d}": ("install", "limits", "paint", "errors") for n in range(800)}
    text = render.comment(judged(before.answers("keyword", **fallen), before), "orbit")
    assert len(text.encode()) <= render.BUDGET
    assert "kind_0000" in text


@pytest.mark.parametrize("name", SCENARIOS)
def test_the_same_report_is_the_same_bytes(name: str) -> None:
    first, second = SCENARIOS[name](), SCENARIOS[name]()
    assert render.comment(first, "orbit") == render.comment(second, "orbit")
    again = Report.model_validate_json(dumps(first.as_json(), sort=False))
    assert render.comment(again, "orbit") == render.comment(first, "orbit")


@pytest.mark.parametrize("name", SCENARIOS)
def test_no_loose_ends(name: str) -> None:
    report = SCENARIOS[name]()
    for text in (
        render.comment(report, "orbit"),
        render.console(report, colour=False),
        render.summary(report),
    ):
        assert "\n\n\n" not in text
        assert text.endswith("\n")
        assert not re.search(r"[ \t]$", text, re.MULTILINE)
        assert "None" not in text
        assert "\x1b" not in text


@pytest.mark.parametrize("name", SCENARIOS)
def test_it_renders_as_it_should_on_github(name: str) -> None:
    extensions = comrak.ExtensionOptions()
    for extension in ("table", "autolink", "strikethrough", "tasklist", "tagfilter", "alerts"):
        setattr(extensions, extension, True)
    options = comrak.RenderOptions()
    options.unsafe_ = True
    out = comrak.render_markdown(
        render.comment(SCENARIOS[name](), "orbit"), extension_options=extensions, render_options=options
    )
    tags = set(re.findall(r"<([a-z0-9]+)", re.sub(r"<!--.*?-->", "", out)))
    assert tags <= {
        "h3", "h4", "pre", "p", "strong", "code", "table", "thead", "tbody", "tr", "th", "td", "br", "sub", "ul", "li", "div",
        "details", "summary",
    }  # fmt: skip
    assert out.count("<details>") == out.count("</details>")
    for row in re.findall(r"<table>(.*?)</table>", out, re.DOTALL):
        widths = {
            len(re.findall(r"<t[hd][ >]", line))
            for line in row.split("</tr>")
            if "<t" in line.replace("<tr", "")
        }
        assert len(widths - {0}) == 1
    # A table that was not recognised would leave its delimiter row behind.
    assert "| ---" not in out


def test_the_marker_is_the_first_line_and_inert() -> None:
    line = render.marker("a --> b", "k@y")
    assert line == "<!-- retrieval-gate suite=a%20%2D%2D%3E%20b key=k%40y -->"
    text = render.comment(good(), "orbit", marker=line)
    assert text.split("\n")[0] == line
    assert render.comment(good(), "orbit").split("\n")[0] == render.marker("orbit")
    for bad in ("no comment", "<!-- a -->\n<!-- b -->", "<!-- a --> b -->", "<!-- a"):
        with pytest.raises(ValueError, match="marker"):
            render.comment(good(), "orbit", marker=bad)


def test_the_verdict_of_an_earlier_comment() -> None:
    for name, scenario in SCENARIOS.items():
        report = scenario()
        assert render.verdict_of(render.comment(report, "orbit")) is report.suites[0].verdict, name
    assert render.verdict_of("something else") is None
    assert render.verdict_of("<!-- retrieval-gate verdict=great -->") is None


def test_a_regression_that_is_gone_reads_as_resolved() -> None:
    assert "**Resolved:" in render.comment(good(), "orbit", previous=Verdict.REGRESSION)
    assert "Resolved" not in render.comment(good(), "orbit", previous=Verdict.PASS)
    assert "Resolved" not in render.comment(regression(), "orbit", previous=Verdict.REGRESSION)


def test_an_unknown_suite() -> None:
    with pytest.raises(ValueError, match="no suite 'nope'"):
        render.comment(good(), "nope")


# Overrides


def override(tmp_path: Path, text: str, name: str = "comment.md.j2") -> Path:
    (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def test_a_block_can_be_replaced_and_extended(tmp_path: Path) -> None:
    folder = override(
        tmp_path,
        EXTENDS
        + "{% block next %}{{ super() }}\nAsk in the channel about {{ view.suite }}.\n\n{% endblock %}",
    )
    text = render.comment(regression(), "orbit", overrides=folder)
    assert "Ask in the channel about orbit." in text
    assert "If a loss is meant" in text
    assert text.partition("####")[0] == render.comment(regression(), "orbit").partition("####")[0]
    assert "Ask in the channel about orbit." in render.summary(regression(), overrides=folder)
    assert "Ask in the channel" not in render.console(regression(), colour=False, overrides=folder)


def test_every_template_can_be_overridden(tmp_path: Path) -> None:
    for name in PUBLIC:
        override(
            tmp_path, f'{{% extends "gate/{name}" %}}\n{{% block footer %}}\nMINE\n{{% endblock %}}\n', name
        )
    report = good()
    systems = list(report.suites[0].arms.items())
    for text in (
        render.comment(report, "orbit", overrides=tmp_path),
        render.summary(report, overrides=tmp_path),
        render.console(report, colour=False, overrides=tmp_path),
        render.compare_markdown(systems, k=3, overrides=tmp_path),
        render.compare_console(systems, k=3, colour=False, overrides=tmp_path),
    ):
        assert "MINE" in text


def test_parts_of_the_users_own(tmp_path: Path) -> None:
    override(tmp_path, "{% macro hello(name) %}Hello {{ name }}{% endmacro %}", "_parts.md.j2")
    text = (
        EXTENDS + '{% import "_parts.md.j2" as mine %}{% block footer %}{{ mine.hello("you") }}{% endblock %}'
    )
    assert "Hello you" in render.comment(good(), "orbit", overrides=override(tmp_path, text))


BROKEN = {
    "unknown block": (
        EXTENDS + "{% block losts %}x{% endblock %}",
        "no such block ('losts'). Did you mean 'lost'?",
    ),
    "the verdict is no block": (EXTENDS + "{% block verdict %}x{% endblock %}", "no such block ('verdict')"),
    "no extends": ("{{ view.suite }}", "does not extend the built-in template"),
    "another parent": ('{% extends "gate/console.txt.j2" %}', "does not extend the built-in template"),
    "a computed parent": ("{% extends view.suite %}", "does not extend the built-in template"),
    "the head replaced": (EXTENDS + '{% set head = "### all is well" %}', "the name 'head' is taken"),
    "the view replaced": (EXTENDS + '{% set view = "x" %}', "the name 'view' is taken"),
    "many at once": (EXTENDS + '{% set a, head = "x", "y" %}', "the name 'head' is taken"),
    "a macro called head": (EXTENDS + "{% macro head() %}{% endmacro %}", "the name 'head' is taken"),
    "a conditional around it": (
        EXTENDS + '{% if 1 %}{% set head = "x" %}{% endif %}',
        "only blocks, macros, imports",
    ),
    "text before": ("green " + EXTENDS, "only blocks, macros, imports"),
    "text after": (EXTENDS + "hello", "only blocks, macros, imports"),
    "syntax": (EXTENDS + "{% block lost %}", "comment.md.j2:2"),
    "undefined": (
        EXTENDS + "{% block lost %}\n{{ view.nope }}{% endblock %}",
        "comment.md.j2:3: UndefinedError",
    ),
    "undefined name": (EXTENDS + "{% block lost %}{{ nope }}{% endblock %}", "'nope' is undefined"),
    "a fault": (EXTENDS + "{% block lost %}{{ 1 / 0 }}{% endblock %}", "comment.md.j2:2: ZeroDivisionError"),
    "the sandbox": (EXTENDS + "{% block lost %}{{ view.__class__.__mro__ }}{% endblock %}", "SecurityError"),
    "the sandbox, by format": (
        EXTENDS + '{% block lost %}{{ "{0.__class__}".format(view) }}{% endblock %}',
        "SecurityError",
    ),
    "a frozen view": (EXTENDS + "{% block lost %}{% set view.verdict = 1 %}{% endblock %}", "comment.md.j2"),
    "a file outside": (
        EXTENDS + '{% block lost %}{% include "../secret.j2" %}{% endblock %}',
        "TemplateNotFound",
    ),
    "an absolute file": (
        EXTENDS + '{% block lost %}{% include "/etc/hostname" %}{% endblock %}',
        "TemplateNotFound",
    ),
    "out of ours": (
        EXTENDS + '{% block lost %}{% include "gate/../pyproject.toml" %}{% endblock %}',
        "TemplateNotFound",
    ),
    "a link": (EXTENDS + '{% block lost %}{% include "_link.j2" %}{% endblock %}', "TemplateNotFound"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_an_override_may_not_do(name: str, tmp_path: Path) -> None:
    text, message = BROKEN[name]
    (tmp_path / "secret.j2").write_text("SECRET")
    folder = tmp_path / "templates"
    folder.mkdir()
    (folder / "_link.j2").symlink_to(tmp_path / "secret.j2")
    with pytest.raises(InputError) as caught:
        render.comment(regression(), "orbit", overrides=override(folder, text))
    assert message in str(caught.value)
    assert str(folder) in str(caught.value)


def test_all_problems_of_the_overrides_at_once(tmp_path: Path) -> None:
    override(tmp_path, "x", "coment.md.j2")
    override(tmp_path, EXTENDS + "{% block a %}{% endblock %}{% block b %}{% endblock %}")
    with pytest.raises(InputError) as caught:
        render.comment(good(), "orbit", overrides=tmp_path)
    assert len(caught.value.problems) == 3
    assert "Did you mean 'comment.md.j2'?" in str(caught.value)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder of templates"):
        render.comment(good(), "orbit", overrides=tmp_path / "nope")


def test_a_template_that_is_a_link_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("SECRET")
    folder = tmp_path / "templates"
    folder.mkdir()
    (folder / "comment.md.j2").symlink_to(tmp_path / "secret")
    with pytest.raises(InputError, match="not a plain file inside"):
        render.comment(good(), "orbit", overrides=folder)


@pytest.mark.parametrize("template", PUBLIC)
def test_block_names(template: str) -> None:
    assert "table" in block_names(template)
    assert not {"verdict", "head", "banners", "marker"} & set(block_names(template))
    with pytest.raises(InputError):
        block_names("nope.j2")


def test_templates_never_come_from_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "templates").mkdir()
    monkeypatch.chdir(tmp_path)
    assert template_folder() == Path(render.__file__).resolve().parents[2] / "templates"


def test_the_installed_package_comes_before_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gate").mkdir()
    (tmp_path / "templates").mkdir()
    monkeypatch.setattr("gate.__file__", str(tmp_path / "gate" / "__init__.py"))
    for project in ("", "[project]\nname = 'other'\n", "not toml ["):
        (tmp_path / "pyproject.toml").write_text(project)
        with pytest.raises(GateError, match="templates are missing"):
            template_folder()
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'retrieval-gate'\n")
    assert template_folder() == tmp_path.resolve() / "templates"
    (tmp_path / "gate" / "templates").mkdir()
    assert template_folder() == tmp_path.resolve() / "gate" / "templates"


# The console and the summary


def test_colour_only_where_asked() -> None:
    plain, painted = render.console(regression(), colour=False), render.console(regression(), colour=True)
    assert "\x1b[31mregression:" in painted
    assert re.sub(r"\x1b\[\d+m", "", painted) == plain


def test_a_long_console_report_ends_with_the_verdict() -> None:
    last = render.console(regression(), colour=False).rstrip("\n").split("\n")[-1]
    assert last.startswith("regression: keyword dropped on exact_term")


def test_a_console_shows_the_top_of_long_lists() -> None:
    text = render.console(LARGE, colour=False)
    assert len(text.split("\n")) < 250
    assert "1,960 more rows left out here; --json and --markdown have all of them." in text


def test_a_summary_holds_more_than_a_comment_and_less_than_a_megabyte() -> None:
    text = render.summary(LARGE)
    assert render.BUDGET < len(text.encode()) < 1_000_000
    assert "`rq-01999`" in text


def test_a_summary_of_several_suites_begins_with_their_verdicts() -> None:
    one = good().suites[0]
    other = hostile().suites[0].model_copy(update={"suite": "other"})
    report = Report(verdict=Verdict.REGRESSION, suites=(one, other))
    text = render.summary(report)
    assert text.startswith("## ❌ regression: 2 suites\n")
    assert "| orbit | ✅ pass: 7 cases" in text
    assert text.index("Suite **orbit**") < text.index("Suite **other**")
    console = render.console(report, colour=False).rstrip("\n").split("\n")
    assert console[-2].startswith("orbit: pass: 7 cases")
    assert console[-1].startswith("other: regression: ")


def test_several_systems_in_one_table() -> None:
    arms = regression().suites[0].arms
    text = render.compare_markdown(list(arms.items()), k=3)
    assert "| system | n | recall@3 | MRR | hit@3 |" in text
    assert "| keyword | 7 | **0.64** |" in text
    console = render.compare_console(list(arms.items()), k=3, colour=False)
    assert console.split("\n")[0] == "Systems side by side"
    assert "0.64+" in console


# What a verdict says


def test_a_head_with_a_hundred_hostile_findings_still_fits() -> None:
    noise = "\\|&" * 300
    more = [
        Finding(level=level, code="x", text=noise, todo=noise, arm="keyword")
        for level in (Level.INVALID, Level.BANNER, Level.NOT_MEASURED, Level.WARNING)
        for _ in range(100)
    ]
    report = judged(BASE, BASE, more=more)
    text = render.comment(report, "orbit")
    assert len(text.encode()) <= render.BUDGET
    assert "more rows left out here" in text


@pytest.mark.parametrize(
    ("level", "text"),
    [
        (Level.INVALID, "invalid: something is off"),
        (Level.NOT_MEASURED, "not measured: something is off"),
        (Level.REGRESSION, "regression: something is off"),
        (Level.PARTIAL, "partial: something is off"),
    ],
)
def test_a_finding_of_an_unknown_code_is_quoted(level: Level, text: str) -> None:
    report = judged(BASE, BASE, more=[Finding(level=level, code="new", text="something is off")])
    assert f" {text}" in render.comment(report, "orbit").split("\n")[2]


def test_accepted_losses_stand_in_the_comment() -> None:
    text = render.comment(banners(), "orbit")
    assert "accepted: max_payload_kb is gone in 4.0" in text
    assert "already lost on the base" in text
    assert "vector (shown only)" in text
    assert "hybrid (shown only, new)" in text
    assert "### ✅ pass: 7 cases, nothing dropped but 2 accepted losses" in text


def test_a_tiny_drop_is_visible_in_the_table() -> None:
    """3,000 cases, one of them lost: 1.0000 -> 0.9997, never 1.00 -> 1.00."""
    cases = tuple((f"rq-{n:04d}", f"query {n}", "semantic", ("errors",)) for n in range(3000))
    before = BASE.but(cases=cases, arms=("keyword",))
    text = render.comment(
        judged(before.answers("keyword", rq_0007=("paint", "queue", "retry")), before), "orbit"
    )
    assert "1.0000 -> 0.9997" in text
    assert "3000/3000 -> 2999/3000" in text


def test_counts_of_pages_agree_with_the_rows() -> None:
    """The counts beside recall are derived from the moves; they must be what the two measurements hold."""
    report = regression()
    before = BASE.answers("vector", rq_008=("install", "paint", "polish", "queue"))
    for arm, rows in ((name, measurement(before).arms[name].rows) for name in ("keyword", "vector")):
        found = sum(
            page in row.ranked[:3]
            for name, row in rows.items()
            for page in measurement(before).cases[name].relevant
        )
        line = next(
            line for line in render.comment(report, "orbit").split("\n") if line.startswith(f"| {arm} | 7")
        )
        assert f"<sub>{found}/10 ->" in line


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
def test_any_pair_of_worlds_renders(data: st.DataObject) -> None:
    """Random rankings, pages that come and go: every report renders in both media, within its budget."""
    pages = sorted(BASE.pages)
    order = st.permutations(pages).map(lambda names: tuple(names[:6]))
    names = [case[0].replace("-", "_") for case in BASE.cases]

    def world() -> World:
        answers = data.draw(st.dictionaries(st.sampled_from(names), st.one_of(order, st.just(("",)))))
        gone = data.draw(st.sets(st.sampled_from(pages), max_size=3))
        edited = data.draw(st.sets(st.sampled_from(pages), max_size=3))
        hashes = {
            page: ("e" * 16 if page in edited else sha)
            for page, sha in BASE.pages.items()
            if page not in gone
        }
        return BASE.but(pages=hashes).answers("keyword", **answers)

    report = judged(
        world(),
        world(),
        policy={"metrics": data.draw(st.sampled_from([("recall",), ("rr", "recall"), ("hit",)]))},
    )
    text = render.comment(report, "orbit")
    assert len(text.encode()) <= render.BUDGET
    assert ("▼" in text) == (report.verdict is Verdict.REGRESSION)
    render.console(report, colour=True)
