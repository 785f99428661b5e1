"""Templates and their overrides.

An override is a file of the same name in a folder of the user's. It begins with `{% extends "gate/comment.md.j2" %}`
and replaces blocks. It runs in a sandbox, reaches no file outside its folder, and cannot touch what stands outside
every block: the marker, the verdict, the counts and the banners. Files that begin with an underscore are parts that
an override may import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from jinja2 import BaseLoader, Environment, StrictUndefined, TemplateNotFound, TemplateSyntaxError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from gate.errors import InputError, Problem, did_you_mean, raise_all
from gate.report.columns import aligned
from gate.report.compiled import CompiledTemplates
from gate.report.folder import template_folder
from gate.report.parts import Cells, Section

OWN = "gate/"
PUBLIC = ("comment.md.j2", "compare.md.j2", "compare.txt.j2", "console.txt.j2", "summary.md.j2")
# What the built-in templates read outside their blocks; an override may not give these names another value.
RESERVED = frozenset({"head", "view", "md", "tx", "caller"})
_LARGEST = 1_000_000
_COLOURS = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}


class Loader(BaseLoader):
    """`gate/NAME` is the built-in; NAME is the user's file, else the built-in."""

    def __init__(self, overrides: Path | None) -> None:
        self._own, self._overrides = template_folder(), overrides

    def get_source(self, environment: Environment, template: str) -> tuple[str, str, Callable[[], bool]]:  # noqa: ARG002
        path = self.user_file(template) or self._built_in(template)
        if path is None:
            raise TemplateNotFound(template)
        return path.read_text(encoding="utf-8"), str(path), lambda: True

    def _built_in(self, name: str) -> Path | None:
        path = (self._own / name.removeprefix(OWN)).resolve()
        return path if path.is_relative_to(self._own.resolve()) and path.is_file() else None

    def user_file(self, name: str) -> Path | None:
        """The user's file of that name, if it is a plain file inside the override folder."""
        if self._overrides is None or name.startswith(OWN):
            return None
        root = self._overrides.resolve()
        path = (root / name).resolve()
        inside = path.is_relative_to(root) and path.is_file()
        return path if inside and path.stat().st_size <= _LARGEST else None


def environment(overrides: Path | None, *, colour: bool = False) -> Environment:
    """The environment of every rendering. With `overrides` they are all checked first, before anything is rendered."""
    loader = Loader(overrides)
    made = ImmutableSandboxedEnvironment(
        loader=loader,
        undefined=StrictUndefined,
        autoescape=False,  # every string of a view is escaped for its medium when the view is built
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=CompiledTemplates() if overrides is None else None,
    )
    del made.globals["lipsum"], made.filters["random"]  # the same report is always the same bytes
    made.filters["columns"] = _columns
    made.filters["paint"] = _paint if colour else _leave
    if overrides is not None:
        raise_all(list(_problems(made, loader, overrides)))
    return made


def _columns(section: Section[Cells], indent: int = 0) -> str:
    """A section's cells as aligned lines."""
    return "\n".join(" " * indent + line for line in aligned(section.head, section.rows, section.align))


def _paint(text: str, colour: str) -> str:
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if text else text


def _leave(text: str, colour: str) -> str:  # noqa: ARG001 - the same call as _paint
    return text


def _problems(made: Environment, loader: Loader, overrides: Path) -> Iterator[Problem]:
    if not overrides.is_dir():
        yield Problem(str(overrides), "no such folder of templates", "Name a folder that holds *.j2 files.")
        return
    for path in sorted(overrides.glob("*.j2")):
        if path.name.startswith("_"):
            continue
        if path.name not in PUBLIC:
            todo = f"{did_you_mean(path.name, PUBLIC)} Parts that others import begin with an underscore."
            yield Problem(str(path), "there is no template of this name to override", todo)
        elif loader.user_file(path.name) is None:
            yield Problem(
                str(path),
                "is not a plain file inside this folder, or is too large",
                "Put the file itself there.",
            )
        else:
            try:
                tree = made.parse(path.read_text(encoding="utf-8"), path.name)
            except TemplateSyntaxError as fault:
                yield Problem(
                    f"{path}:{fault.lineno}", fault.message or "is not a template", "Mend the template."
                )
            except UnicodeDecodeError:
                yield Problem(str(path), "is not UTF-8", "Save it as UTF-8.")
            else:
                yield from _tree_problems(made, path, tree)


def _tree_problems(made: Environment, path: Path, tree: nodes.Template) -> Iterator[Problem]:
    parent = f"{OWN}{path.name}"
    known = _blocks(made, parent)
    extends = tree.find(nodes.Extends)
    named = extends.template if extends is not None else None
    if not (isinstance(named, nodes.Const) and named.value == parent):
        yield Problem(
            f"{path}:1", "does not extend the built-in template", f'Begin with {{% extends "{parent}" %}}.'
        )
        return
    for block in tree.find_all(nodes.Block):
        if block.name not in known:
            yield Problem(
                f"{path}:{block.lineno}", f"no such block ({block.name!r})", did_you_mean(block.name, known)
            )
    for node in tree.body:
        if not _harmless(node):
            yield Problem(
                f"{path}:{node.lineno}",
                "only blocks, macros, imports and set may stand outside a block",
                "Put the text into a block.",
            )
        for name in sorted(_names(node) & RESERVED):
            yield Problem(f"{path}:{node.lineno}", f"the name {name!r} is taken", "Choose another name.")


def _harmless(node: nodes.Node) -> bool:
    if isinstance(node, nodes.Output):
        return all(isinstance(part, nodes.TemplateData) and not part.data.strip() for part in node.nodes)
    kinds = (
        nodes.Extends,
        nodes.Block,
        nodes.Macro,
        nodes.Import,
        nodes.FromImport,
        nodes.Assign,
        nodes.AssignBlock,
    )
    return isinstance(node, kinds)


def _names(node: nodes.Node) -> set[str]:
    """The names that a statement at the top of an override gives a value."""
    if isinstance(node, nodes.Macro):
        return {node.name}
    if isinstance(node, nodes.Import):
        return {node.target}
    if isinstance(node, nodes.FromImport):
        return {name if isinstance(name, str) else name[1] for name in node.names}
    if isinstance(node, nodes.Assign | nodes.AssignBlock):
        target = node.target
        found = [target, *target.find_all(nodes.Name)]
        return {name.name for name in found if isinstance(name, nodes.Name)}
    return set()


def _blocks(made: Environment, name: str) -> set[str]:
    """The blocks of a built-in template and of those it extends."""
    loader = made.loader
    assert loader is not None
    own = name if name.startswith(OWN) else f"{OWN}{name}"
    tree = made.parse(loader.get_source(made, own)[0])
    found = {block.name for block in tree.find_all(nodes.Block)}
    extends = tree.find(nodes.Extends)
    if extends is not None and isinstance(extends.template, nodes.Const):
        found |= _blocks(made, extends.template.value)
    return found


def block_names(template: str) -> tuple[str, ...]:
    """The blocks a user may override in one of the `PUBLIC` templates, sorted."""
    if template not in PUBLIC:
        raise InputError(Problem(template, "no such template", did_you_mean(template, PUBLIC)))
    return tuple(sorted(_blocks(environment(None), template)))
