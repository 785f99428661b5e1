"""gate.toml: found, read, and every fault of it named once, in the right table, with the nearest name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gate.errors import InputError
from gate.model.accepted import AcceptedFile
from gate.model.settings import Settings
from gate.store import config, faults


def suite(**values: Any) -> dict[str, Any]:
    """A whole config of one suite; None takes a key out."""
    whole = {"corpus": "docs", "cases": "cases.jsonl", "arms": {"keyword": {"type": "bm25"}}, **values}
    return {"suite": {"docs": {key: value for key, value in whole.items() if value is not None}}}


def said(table: dict[str, Any]) -> list[str]:
    with pytest.raises(InputError) as fault:
        config.check(table, "gate.toml")
    return [str(problem) for problem in fault.value.problems]


def test_short_forms_are_written_out() -> None:
    found = config.check(suite(), "gate.toml").suite["docs"]
    assert found.cases == ("cases.jsonl",)
    assert found.baseline == "baselines/docs.json"
    assert (found.k, found.pool, found.context, found.split) == (5, 20, 6, "test")
    assert found.policy.rule == "any-drop"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"suites": {}}, "gate.toml: unknown key 'suites'. Did you mean 'suite'?"),
        (suite(spilt="test"), "gate.toml [suite.docs]: unknown key 'spilt'. Did you mean 'split'?"),
        (suite(corpus=None, corpsu="docs"), "gate.toml [suite.docs]: unknown key 'corpsu'. Did you mean 'corpus'?"),
        (suite(arms={"a": {"tpye": "bm25"}}), "gate.toml [suite.docs.arms.a]: unknown key 'tpye'. Did you mean 'type'?"),
        (suite(corpus=None), "gate.toml [suite.docs]: 'corpus' is missing. Add it: corpus = ..."),
        (suite(arms={}), "gate.toml [suite.docs]: has no arm. Add a table [suite.SUITE.arms.NAME] with a type."),
        (suite(arms={"a b": {"type": "x"}}), "gate.toml [suite.docs.arms]: 'a b' cannot be a name. Use letters, digits,"),
        (suite(cases=["a", 3]), "gate.toml [suite.docs]: value 2 of 'cases' is not a text (3). Write it in quotes."),
        (suite(split="deb"), "gate.toml [suite.docs]: 'split' cannot be 'deb'. Did you mean 'dev'?"),
        (suite(split=5), "gate.toml [suite.docs]: 'split' cannot be 5. Known: 'all', 'dev', 'test'."),
        (suite(policy={"accept": "haed"}), "gate.toml [suite.docs.policy]: 'accept' cannot be 'haed'. Did you mean 'head'?"),
        (suite(k=0), "gate.toml [suite.docs]: 'k' is below 1 (0). Write 1 or more."),
    ],
)  # fmt: skip
def test_a_fault_is_named_once_in_its_table(table: dict[str, Any], message: str) -> None:
    found = said(table)
    assert len(found) == 1, found
    assert found[0].startswith(message)


def test_a_key_like_no_other_gets_the_list_of_all() -> None:
    assert said({**suite(), "qqq": 1}) == ["gate.toml: unknown key 'qqq'. Known: 'suite'."]


def test_all_faults_of_a_file_are_named_at_once() -> None:
    found = said({**suite(k="5", spilt="test", corpus=None), "zzz": 1})
    assert len(found) == 4, found


@pytest.mark.parametrize("value", ["5", 5.5, 5.0, True, None, [5]])
def test_numbers_are_never_read_from_anything_else(value: Any) -> None:
    table = suite()
    table["suite"]["docs"]["k"] = value
    found = said(table)
    assert len(found) == 1, found
    assert "'k' is not a whole number (" in found[0]


def test_a_union_is_named_once() -> None:
    from gate.arms.bm25 import Settings as Bm25

    with pytest.raises(InputError) as fault:
        config.typed(Bm25, {"type": "bm25", "chunker": 5}, "gate.toml [suite.docs.arms.keyword]")
    assert [str(problem) for problem in fault.value.problems] == [
        "gate.toml [suite.docs.arms.keyword]: 'chunker' is not a text or a table (5). Write it in quotes."
    ]


def test_an_entry_of_a_list_of_tables_is_named_by_its_number() -> None:
    entry = {"name": "q", "reason": "x", "baseline_sha256": "0" * 64, "what": "kind"}
    with pytest.raises(InputError) as fault:
        config.typed(AcceptedFile, {"accepted": [entry, {**entry, "raeson": "y"}]}, "x.accepted.toml")
    assert [str(problem) for problem in fault.value.problems] == [
        "x.accepted.toml, entry 2: unknown key 'raeson'. Did you mean 'reason'?"
    ]


def test_the_keys_of_a_place_come_from_the_settings_classes() -> None:
    assert faults._keys(Settings, ()) == ["suite"]
    assert "corpus" in faults._keys(Settings, ("suite", "any"))
    assert faults._keys(Settings, ("suite", "any", "arms", "any")) == ["gate", "required", "type"]
    assert "metrics" in faults._keys(Settings, ("suite", "any", "policy"))
    assert "reason" in faults._keys(AcceptedFile, ("accepted", 3))
    assert faults._keys(Settings, ("suite", "any", "k")) == []
    assert faults._keys(Settings, ("nowhere",)) == []


def test_the_nearest_config_upwards_is_found_but_not_beyond_the_repository(tmp_path: Path) -> None:
    (tmp_path / "gate.toml").write_text("")
    deep = tmp_path / "repository" / "a" / "b"
    deep.mkdir(parents=True)
    assert config.find(deep) == tmp_path / "gate.toml"
    (tmp_path / "repository" / ".git").mkdir()
    with pytest.raises(InputError, match=r"no gate\.toml and no \[tool\.gate\]"):
        config.find(deep)
    (tmp_path / "repository" / "pyproject.toml").write_text("[tool.gate.suite.docs]\n")
    assert config.find(deep) == tmp_path / "repository" / "pyproject.toml"


@pytest.mark.parametrize(
    "text", ["", "[project]\n", 'tool = "gate"\n', "[[tool]]\ngate = 1\n", "[tool.other]\nx = 'gate'\n"]
)
def test_a_pyproject_without_the_table(text: str) -> None:
    assert config.has_tool_table(text, "pyproject.toml") is False


@pytest.mark.parametrize(
    "text", ["[tool.gate]\n", "tool.gate.suite = {}\n", "tool = {gate = {}}\n", '["tool"."gate"]\n']
)
def test_a_pyproject_with_the_table_however_it_is_written(text: str) -> None:
    assert config.has_tool_table(text, "pyproject.toml") is True
