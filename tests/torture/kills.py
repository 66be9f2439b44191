"""Kills at random moments, and at every call that writes: the library is the old or the new one."""

import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.torture.scene import Scene, forked, judged, shuffled, state, tried

WRITES = "write,pwrite64,pwritev,fsync,fdatasync,rename,renameat2,unlink,ftruncate,mkdir,link"
_ATTACHED_SECONDS = 10.0


@contextmanager
def scene() -> Iterator[Scene]:
    """Give a scene in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="lpisearch-torture-"))
    try:
        yield Scene.make(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def at_random(tries: int, seed: int, until: float) -> dict[str, Counter[str]]:
    """Kill each verb at moments of chance; return what became of the library, by verb."""
    chance = random.Random(seed)  # noqa: S311 (moments, not secrets)

    def killed(work: Callable[[], object], span: float) -> int:
        child = forked(work)
        time.sleep(chance.uniform(0, span))
        os.kill(child, signal.SIGKILL)
        return os.waitpid(child, 0)[1]

    with scene() as made:
        spans = {name: _span(made, name) for name in made.verbs}
        return over(made, tries, chance, until, lambda name, work: killed(work, spans[name]))


def at_writes(tries: int, seed: int, until: float) -> dict[str, Counter[str]]:
    """Kill each verb at one of its calls that write, from the first to the last."""
    return injected("signal=SIGKILL", tries, seed, until)


def injected(
    fault: str, tries: int, seed: int, until: float, among: str = WRITES
) -> dict[str, Counter[str]]:
    """Let strace put a fault in the place of some calls, at one after the other."""
    chance = random.Random(seed)  # noqa: S311 (moments, not secrets)
    calls: Counter[str] = Counter()

    def faulty(name: str, work: Callable[[], object]) -> int:
        calls[name] += 1
        status = _traced(work, f"inject={among}:{fault}:when={calls[name]}")
        if os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0:
            calls[name] = 0  # it has no more such calls: from the first one again
        return status

    with scene() as made:
        return over(made, tries, chance, until, faulty)


def can_trace() -> bool:
    """Tell whether strace is there, and may look into a process of ours."""
    if shutil.which("strace") is None:
        return False
    rule = "inject=write:signal=SIGKILL:when=1"
    try:
        return os.WIFSIGNALED(_traced(lambda: os.write(1, b""), rule))
    except (OSError, RuntimeError):
        return False


def over(
    made: Scene,
    tries: int,
    chance: random.Random,
    until: float,
    cut_short: Callable[[str, Callable[[], object]], int],
) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {name: Counter() for name in made.verbs}
    afters = {name: made.after(name) for name in made.verbs}
    before = state(made.folder / "library.db")
    for number in range(tries):
        if time.monotonic() > until:
            break
        name = shuffled(made.verbs, chance)[0]
        library = made.copy("tried")
        status = cut_short(name, tried(made.verbs[name], library))
        outcome = judged(library, before, afters[name], made.verbs[name])
        if outcome == "kept":
            outcome = _ended(status)
        counts[name][outcome.split(":")[0]] += 1
        if ":" in outcome:
            print(f"{name}, try {number}: {outcome}")  # noqa: T201 (a person watches)
    return counts


def _ended(status: int) -> str:
    if os.WIFSIGNALED(status):
        return "killed"
    return {0: "done", 3: "stated"}.get(os.WEXITSTATUS(status), "unstated")


def _span(made: Scene, name: str) -> float:
    """Return how long a verb takes here, so that moments of chance fall into it."""
    library = made.copy("timed")
    begun = time.monotonic()
    os.waitpid(forked(tried(made.verbs[name], library)), 0)
    return time.monotonic() - begun


def _traced(work: Callable[[], object], rule: str) -> int:
    """Do some work in another process, under a rule of strace; return how it ended."""
    hold, release = os.pipe()

    def held() -> None:
        os.close(release)
        os.read(hold, 1)
        work()

    child = forked(held)
    os.close(hold)
    tracer = subprocess.Popen(
        ["strace", "-f", "-qq", "-p", str(child), "-o", os.devnull, "-e", rule],
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_until_attached(child)
        os.write(release, b"x")
    finally:
        os.close(release)
        status = os.waitpid(child, 0)[1]
        tracer.wait()
    return status


def _wait_until_attached(child: int) -> None:
    deadline = time.monotonic() + _ATTACHED_SECONDS
    while time.monotonic() < deadline:
        if "TracerPid:\t0\n" not in Path(f"/proc/{child}/status").read_text(encoding="ascii"):
            return
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    raise RuntimeError("strace does not look into it")
