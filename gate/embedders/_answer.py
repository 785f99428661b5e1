"""Reading an answer of the embeddings API: unit vectors in the order asked, or what is wrong with the whole of it."""

from __future__ import annotations

import base64
import binascii
from typing import Any

# Of a vector's largest value: beyond these its square is no float64.
_SHORTEST, _LONGEST = 1e-150, 1e150


def read(answer: Any, number: int, dimensions: int | None) -> Any:
    """The unit vectors (number x d, float32) of an answer in the order asked; ValueError says what is wrong with it."""
    import numpy as np

    from gate.embedders._cached import unit

    rows = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(rows, list):
        raise ValueError("it is no JSON object with a list 'data'")
    if len(rows) != number:
        raise ValueError(f"{len(rows)} vectors for {number} texts")
    order = [row.get("index") if isinstance(row, dict) else None for row in rows]
    if any(index is not None for index in order):
        if sorted(map(str, order)) != sorted(map(str, range(number))):
            raise ValueError("its indexes are not those of the texts")
    else:
        order = list(range(number))  # some servers leave the index out; the order is then all there is
    vectors: list[Any] = [None] * number
    for index, row in zip(order, rows, strict=True):
        vectors[int(index or 0)] = _vector(row.get("embedding") if isinstance(row, dict) else None)
    lengths = {len(vector) for vector in vectors}
    if len(lengths) > 1:
        raise ValueError(f"vectors of different lengths ({', '.join(map(str, sorted(lengths)))})")
    if dimensions is not None and lengths != {dimensions}:
        raise ValueError(f"vectors of {lengths.pop()} dimensions where {dimensions} were asked for")
    found = np.asarray(vectors, dtype=np.float64)
    if not np.isfinite(found).all():
        raise ValueError("a vector has a value that is no finite number")
    if not found.any(axis=1).all():
        raise ValueError("a vector is all zeros")
    largest = np.abs(found).max(axis=1)
    if largest.min() < _SHORTEST or largest.max() > _LONGEST:
        raise ValueError("a vector is too long or too short to be made one of length 1")
    return unit(found)


def _vector(value: Any) -> Any:
    """One embedding as numbers: a list, or base64 of little-endian float32."""
    import numpy as np

    if isinstance(value, str):
        try:
            raw = base64.b64decode(value, validate=True)
        except (binascii.Error, ValueError):
            raise ValueError("a vector is no base64") from None
        if not raw or len(raw) % 4:
            raise ValueError("a vector's base64 is no list of float32")
        return np.frombuffer(raw, dtype="<f4").astype(np.float64)
    numbers = isinstance(value, list) and all(
        isinstance(one, int | float) and not isinstance(one, bool) for one in value
    )
    if not numbers or not value:
        raise ValueError("a vector is no list of numbers")
    try:
        return np.asarray(value, dtype=np.float64)
    except OverflowError:  # JSON has whole numbers of any size
        raise ValueError("a vector has a value that is no finite number") from None
