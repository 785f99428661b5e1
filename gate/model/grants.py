"""Which secret may go where. A pull request's gate.toml can name an endpoint; it cannot make us send it a key.

In the Action, and wherever a base decides, a secret goes only to an origin that the base's gate.toml or the Action's
own inputs pair it with. On a person's own machine without a base the working tree's file is theirs, and all is granted.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlsplit

# Where the OpenAI SDK speaks to unless it is told otherwise.
PROVIDER = "https://api.openai.com/v1"
_PORTS = {"http": 80, "https": 443}


class Grant(NamedTuple):
    """The environment variable `name` may be sent to `origin`."""

    name: str
    origin: str


class Grants(NamedTuple):
    """`pairs` is None where everything is granted."""

    pairs: frozenset[Grant] | None = None

    def allow(self, name: str, url: str) -> bool:
        """Whether the variable `name` may be sent to the origin of `url`."""
        return self.pairs is None or Grant(name, origin(url)) in self.pairs


EVERYTHING = Grants()
NOTHING = Grants(frozenset())


def origin(url: str) -> str:
    """`scheme://host:port` in lower case, with the usual port written out; empty for what is no http(s) address."""
    try:
        parts = urlsplit(url.strip())
        port = parts.port
    except ValueError:
        return ""
    scheme = parts.scheme.lower()
    if scheme not in _PORTS or not parts.hostname:
        return ""
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{scheme}://{host.lower()}:{port or _PORTS[scheme]}"
