"""The hybrid arm: reciprocal rank fusion of other arms of the suite (Cormack, Clarke and Buettcher, SIGIR 2009).

    score(c) = sum over the legs that found c, in the order listed, of weight / (k0 + rank of c in the leg)

over each leg's first `pool` hits, equal scores in order of first appearance. What is fused is chunks where all legs cut
the corpus in the same way, else pages: chunk ids of different chunkers mean different texts, and those of a user's own
code are unknown to us. The rank of what comes more than once in a leg is its best one; ranks count all hits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, model_validator

from gate.errors import InputError, Problem
from gate.harness import check_hits, told
from gate.model.ranking import Arm, Hit, Materials
from gate.model.settings import ArmSettings, Name

Weight = Annotated[float, Field(gt=0.0, le=1e6)]


class Settings(ArmSettings):
    """`of`: the arms to fuse. `weights`: one per arm, 1 when absent. `k0`: how little the first ranks stand out.

    `unit`: what is fused, "chunk" or "page"; by itself where absent (see above). "chunk" is for arms of your own whose
    chunk ids mean the same; it is refused for arms that are known to cut differently.
    """

    of: tuple[Name, ...] = Field(min_length=2)
    weights: tuple[Weight, ...] | None = None
    k0: Annotated[float, Field(ge=0.0, le=1e6)] = 60.0
    unit: Literal["chunk", "page"] | None = None

    @model_validator(mode="after")
    def _weights_fit(self) -> Settings:
        if len(set(self.of)) != len(self.of):
            raise ValueError(f"'of' names an arm twice ({', '.join(self.of)}); give it a weight of 2 instead")
        if self.weights is not None and len(self.weights) != len(self.of):
            raise ValueError(f"'weights' has {len(self.weights)} numbers for {len(self.of)} arms in 'of'")
        return self


class LegError(RuntimeError):
    """An arm that is fused could not be built, or failed on this query."""


def legs(settings: Settings) -> tuple[str, ...]:
    """The arms that this one asks."""
    return settings.of


def embedded(*_: object) -> bool:
    """As far as the arms that it asks are (gate.commands._base_tree.embedded_arms)."""
    return True


def build(materials: Materials, settings: Settings) -> FusedArm:
    """Build the legs, or take them as they are built already."""
    built: dict[str, Arm] = {}
    for name in settings.of:
        try:
            built[name] = materials.arm(name)
        except InputError:
            raise
        except Exception as fault:  # whatever a user's package raises is why the leg is not there
            raise LegError(_told(name, fault)) from fault
    return FusedArm(built, settings, by_chunk=_by_chunk(materials, settings))


def _by_chunk(materials: Materials, settings: Settings) -> bool:
    cuts = [materials.cut_of(name) for name in settings.of]
    if settings.unit != "chunk":
        return settings.unit is None and None not in cuts and len(set(cuts)) == 1
    known = {cut: name for name, cut in zip(settings.of, cuts, strict=True) if cut is not None}
    if len(known) > 1:
        one, other, *_ = known.values()
        what = f"unit is 'chunk', but '{one}' and '{other}' cut the corpus differently"
        where = getattr(materials, "place", "rrf")
        raise InputError(Problem(where, what, "Take 'unit' out, or give them the same chunker."))
    return True


class FusedArm:
    """Reciprocal rank fusion. `Hit.ranks` has the rank in each leg that found the hit (or a chunk of its page)."""

    tolerance = 1e-12  # the sums of the same fractions in another order

    def __init__(self, built: Mapping[str, Arm], settings: Settings, *, by_chunk: bool) -> None:
        self._legs = built
        self._weights = settings.weights or (1.0,) * len(built)
        self._k0 = settings.k0
        self._by_chunk = by_chunk

    def prepare(self, queries: Sequence[str], pool: int) -> None:
        """Tell the legs. A leg that is an arm of the suite as well has been told, and says nothing twice."""
        for leg in self._legs.values():
            prepare = getattr(leg, "prepare", None)
            if prepare is not None:
                prepare(queries, pool)

    def search(self, query: str, pool: int) -> Sequence[Hit]:
        """The fused hits. LegError, with the leg's name and reason, where one of them fails."""
        found: dict[str, _Fused] = {}
        for (name, leg), weight in zip(self._legs.items(), self._weights, strict=True):
            for rank, hit in enumerate(_asked(name, leg, query, pool), 1):
                one = found.setdefault(hit.chunk_id if self._by_chunk else hit.doc_id, _Fused(hit))
                if name not in one.ranks:
                    one.add(name, rank, hit, weight / (self._k0 + rank))
        best = sorted(found.values(), key=lambda one: -one.score)[:pool]
        return [Hit(one.hit.chunk_id, one.hit.doc_id, one.hit.text, one.score, one.ranks) for one in best]


class _Fused:
    """What is known of one chunk or page so far. `hit`: the best ranked leg's; the first leg's of equal ones."""

    __slots__ = ("hit", "ranks", "score")

    def __init__(self, hit: Hit) -> None:
        self.hit = hit
        self.score = 0.0
        self.ranks: dict[str, int] = {}

    def add(self, leg: str, rank: int, hit: Hit, share: float) -> None:
        if all(rank < other for other in self.ranks.values()):
            self.hit = hit
        self.ranks[leg] = rank
        self.score += share


def _asked(name: str, leg: Arm, query: str, pool: int) -> Iterable[Hit]:
    try:
        return check_hits(leg.search(query, pool))[:pool]
    except Exception as fault:
        raise LegError(_told(name, fault)) from fault


def _told(name: str, fault: Exception) -> str:
    return f"leg '{name}': {told(fault)}"
