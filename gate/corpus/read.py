"""From a path to a corpus, and from a corpus to chunks: which reader, which chunker, and their faults in our words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gate import registry
from gate.errors import InputError, Problem, did_you_mean
from gate.model.page import Chunk, Corpus, Page
from gate.store.text import missing, read_bytes, told, unreadable

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError


def read_corpus(path: Path, shown: str, reader: str | None = None, root: Path | None = None) -> Corpus:
    """Read the corpus at `path` with the named reader, or with the one that accepts the path.

    Args:
        path: a folder of Markdown, a BEIR folder or `corpus.jsonl`, or a file of chunks.
        shown: the path as messages write it.
        reader: a name in `gate/corpus/readers`, or `package.module:name`.
        root: put in front of the import path while an outside reader is imported.

    Raises:
        InputError: with every problem of the corpus.
    """
    shown = shown.rstrip("/") or shown
    try:
        if not path.exists():
            raise InputError(missing(path, shown))
        special = not (path.is_file() or path.is_dir())
    except OSError as fault:
        raise InputError(unreadable(shown, fault)) from fault
    if special:
        read_bytes(path, shown)  # says what it is: a device, a pipe
    if reader is None:
        reader = _reader_for(path, shown)
    module = registry.load("readers", reader, shown, root)
    if ":" not in reader:
        corpus: Corpus = module.read(path, shown)
        return corpus
    return _checked(
        _guarded(getattr(module, "read", module), f"reader {reader!r}", shown, path, shown), reader, shown
    )


def _reader_for(path: Path, shown: str) -> str:
    names = registry.names("readers")
    found = [name for name in names if registry.load("readers", name, shown).accepts(path)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(f"'{name}'" for name in found or names)
    if found:
        raise InputError(Problem(shown, f"can be read in {len(found)} ways", f"Name a 'reader': {known}."))
    if path.is_dir():
        return "markdown"  # it says what the folder lacks
    raise InputError(Problem(shown, "no reader knows this kind of file", f"Name a 'reader': {known}."))


def _checked(value: Any, reader: str, shown: str) -> Corpus:
    """What an outside reader returned, if it is a corpus with pages whose ids are unique."""
    if not isinstance(value, Corpus):
        raise InputError(Problem(shown, f"reader {reader!r} returned {type(value).__name__}, not a Corpus"))
    if not value.pages:
        raise InputError(Problem(shown, f"reader {reader!r} found no pages"))
    if len(value.by_id) != len(value.pages):
        seen: set[str] = set()
        twice = next(page.doc_id for page in value.pages if page.doc_id in seen or seen.add(page.doc_id))  # type: ignore[func-returns-value]
        raise InputError(Problem(shown, f"reader {reader!r} returned page '{twice}' twice"))
    return value


def cut(
    corpus: Corpus, chunker: str | Mapping[str, Any] | None, where: str, root: Path | None = None
) -> tuple[Chunk, ...]:
    """The chunks of a corpus, page by page.

    Args:
        corpus: the pages.
        chunker: a name, a table with `type` and the chunker's options, or None for the corpus's own way.
        where: begins a message about the chunker, for example `gate.toml: suite.orbit.arms.keyword.chunker`.
        root: put in front of the import path while an outside chunker is imported.

    Raises:
        InputError: an unknown chunker or option, a value of the wrong type, or a chunker that gives a page no chunk.
    """
    name, module, settings = _chunker(corpus, chunker, where, root)
    chunk: Callable[[Page, Any], Any] = getattr(module, "chunk", module)
    chunks: list[Chunk] = []
    for page in corpus.pages:
        found: Sequence[str | Chunk]
        if ":" in name:
            found = _texts(_guarded(chunk, f"chunker {name!r}", where, page, settings), name, page, where)
        else:
            found = _own(chunk, page, settings, where)
        chunks.extend(
            one if isinstance(one, Chunk) else Chunk(f"{page.doc_id}#{position}", page.doc_id, one)
            for position, one in enumerate(found)
        )
    if len({one.chunk_id for one in chunks}) != len(chunks):
        raise InputError(Problem(where, f"chunker {name!r} returned a chunk_id twice"))
    return tuple(chunks)


def chunker_key(
    corpus: Corpus, chunker: str | Mapping[str, Any] | None, where: str, root: Path | None = None
) -> str:
    """Equal for two ways to write the same chunker: its name, and all of its options with their defaults."""
    name, _, settings = _chunker(corpus, chunker, where, root)
    options = settings if isinstance(settings, Mapping) else settings.model_dump(mode="json")
    return json.dumps([name, options], sort_keys=True, default=str)


def _chunker(
    corpus: Corpus, chunker: str | Mapping[str, Any] | None, where: str, root: Path | None
) -> tuple[str, Any, Any]:
    """(name, module, settings)"""
    name, options = _named(corpus.chunker if chunker is None else chunker, where)
    module = registry.load("chunkers", name, where, root)
    model = getattr(module, "Settings", None)
    return name, module, options if model is None else _settings(model, {**options, "type": name}, where)


def _own(chunk: Callable[[Page, Any], Any], page: Page, settings: Any, where: str) -> Sequence[str | Chunk]:
    """Call a chunker of ours; what it refuses stands in the place that names it."""
    try:
        found: Sequence[str | Chunk] = chunk(page, settings)
    except InputError as fault:
        problems = [Problem(where, f"{one.where}: {one.what}", one.todo) for one in fault.problems]
        raise InputError(problems) from fault
    return found


def _named(chunker: object, where: str) -> tuple[str, dict[str, Any]]:
    if isinstance(chunker, str):
        return chunker, {}
    if not isinstance(chunker, Mapping):
        todo = "Write a name, or a table with 'type'."
        raise InputError(Problem(where, f"the chunker is neither a name nor a table ({told(chunker)})", todo))
    name = chunker.get("type")
    if not isinstance(name, str):
        known = ", ".join(f"'{one}'" for one in registry.names("chunkers"))
        what = (
            "the chunker has no 'type'"
            if name is None
            else f"the chunker's 'type' is not a string ({told(name)})"
        )
        raise InputError(Problem(where, what, f"Known: {known}."))
    return name, {str(key): value for key, value in chunker.items() if key != "type"}


def _settings(model: type[BaseModel], options: Mapping[str, Any], where: str) -> Any:
    from pydantic import ValidationError

    try:
        return model.model_validate(dict(options))
    except ValidationError as fault:
        raise InputError(_problems(fault, model, where)) from fault


_WANTED = {
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "a string",
    "list_type": "a list",
    "dict_type": "a table",
}


def _problems(fault: ValidationError, model: type[BaseModel], where: str) -> list[Problem]:
    problems = []
    for error in fault.errors(include_url=False):
        option = ".".join(str(part) for part in error["loc"])
        context = error.get("ctx", {})
        if error["type"] == "extra_forbidden":
            known = [one for one in model.model_fields if one != "type"]
            todo = did_you_mean(option, known) if known else "This chunker has no options."
            problems.append(Problem(where, f"unknown option {option!r}", todo))
        elif error["type"] == "missing":
            problems.append(Problem(where, f"option {option!r} is missing"))
        elif error["type"] == "value_error":
            problems.append(Problem(where, str(context.get("error", error["msg"]))))
        elif error["type"] in _WANTED:
            what = f"option {option!r} is not {_WANTED[error['type']]} ({told(error['input'])})"
            problems.append(Problem(where, what))
        elif "ge" in context or "le" in context:
            bound = f"below {context['ge']}" if "ge" in context else f"over {context['le']}"
            problems.append(Problem(where, f"option {option!r} is {bound} ({told(error['input'])})"))
        else:
            problems.append(Problem(where, f"option {option!r}: {error['msg']} ({told(error['input'])})"))
    return problems


def _guarded(call: Any, name: str, where: str, *arguments: Any) -> Any:
    """Call the user's own code; what it raises is a fault of the input, with the page it happened on."""
    if not callable(call):
        raise InputError(Problem(where, f"{name} is not callable ({type(call).__name__})"))
    try:
        return call(*arguments)
    except InputError:
        raise
    except Exception as fault:
        on = f" on page '{arguments[0].doc_id}'" if isinstance(arguments[0], Page) else ""
        what = f"{name} failed{on} ({type(fault).__name__}: {fault})"
        raise InputError(Problem(where, what, "See '--debug' for the traceback.")) from fault


def _texts(value: Any, name: str, page: Page, where: str) -> list[str | Chunk]:
    """What an outside chunker returned for one page, if it is at least one text."""
    found = list(value) if isinstance(value, Iterable) and not isinstance(value, (str, bytes)) else None
    if found is None or not all(isinstance(one, (str, Chunk)) for one in found):
        raise InputError(
            Problem(where, f"chunker {name!r} did not return a list of strings for page '{page.doc_id}'")
        )
    if any(isinstance(one, Chunk) and one.doc_id != page.doc_id for one in found):
        raise InputError(
            Problem(where, f"chunker {name!r} returned a chunk of another page for '{page.doc_id}'")
        )
    if not found:
        raise InputError(Problem(where, f"chunker {name!r} returned no chunk for page '{page.doc_id}'"))
    return found
