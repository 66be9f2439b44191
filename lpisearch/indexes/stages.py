"""How long each stage of a build takes, and how much memory the process has held."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lpisearch.compute.spread import Traffic, traffic

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_KIBIBYTE = 1024


@dataclass(slots=True)
class Stages:
    """Times stages and announces each as it begins.

    Attributes
    ----------
    on_stage
        Called with the name of a stage.
    on_step
        Called with how many documents a stage has done, and of how many.
    seconds
        By stage, in the order in which they ran.
    processor_seconds
        The same of the processor: that of all cores, of this program and of those who work for it.
    traffic
        By stage, what went to other processes and back; of those alone in which something did.
    """

    on_stage: Callable[[str], None]
    on_step: Callable[[int, int], None] = lambda _done, _total: None
    seconds: dict[str, float] = field(default_factory=dict)
    processor_seconds: dict[str, float] = field(default_factory=dict)
    traffic: dict[str, Traffic] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Run a stage."""
        self.on_stage(name)
        begun, worked, went = time.perf_counter(), time.process_time(), traffic()
        yield
        moved = traffic() - went
        self._add(self.seconds, name, time.perf_counter() - begun)
        worked -= moved.processor_seconds
        self._add(self.processor_seconds, name, time.process_time() - worked)
        if moved.parts:
            moved = self.traffic.get(name, Traffic()) + moved
            rounded = round(moved.processor_seconds, 3)
            self.traffic[name] = replace(moved, processor_seconds=rounded)

    @staticmethod
    def _add(seconds: dict[str, float], name: str, more: float) -> None:
        seconds[name] = round(seconds.get(name, 0.0) + more, 3)


def peak_megabytes() -> float:
    """Return the most memory that this process has held; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0.0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    unit = 1 if sys.platform == "darwin" else _KIBIBYTE
    return round(peak * unit / 1e6, 1)
