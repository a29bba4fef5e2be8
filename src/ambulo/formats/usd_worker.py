"""Reading USD in a process of its own.

USD's library is C++ that trusts its files: one byte turned in a crate may make it follow a wild address or ask for all
memory there is, and no Python handler sees that. So files are opened by a worker process, started at the first USD file
and kept for the next ones. If a file ends it, that file is refused and the caller lives on. The worker has its own
limits where the system knows them: processor time, and memory beyond what it has at rest.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from ambulo.errors import AmbuloError, FormatError, install_remedy

CPU_SECONDS = 1.0
CPU_SECONDS_A_MEGABYTE = 1.0
"""Processor time for one file. A crate of ten megabytes takes a tenth of a second."""
WALL_SECONDS = 30.0
"""By the clock, times ten where the processor's time cannot be limited."""
MEMORY_FREE = 32 * 2**20
MEMORY_A_BYTE = 10
"""Bytes a file may need beyond what the worker has at rest, beside ten times its own size. (Written-to memory; USD also
reserves addresses, in pieces of 128 MB, which cost nothing.)"""

_TOO_MUCH = "it asks for more memory than such a file can need"
_START = "from ambulo.formats.usd_worker import serve; serve()"


def read_stage(path: Path) -> dict[str, Any]:
    """What :func:`ambulo.formats.usd_stage.extract` says of a file.

    Raises:
        FormatError: it cannot be read, or its reading ended the worker.
        AmbuloError: ``pxr`` is not installed.
    """
    with _LOCK:
        return _client().ask(path)


class _Client:
    """The worker as its owner sees it."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        environment = dict(os.environ)
        environment["PYTHONPATH"] = os.pathsep.join(entry for entry in sys.path if entry)
        environment["PXR_WORK_THREAD_LIMIT"] = "1"
        environment["OPENBLAS_NUM_THREADS"] = environment["OMP_NUM_THREADS"] = "1"
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        hello = self._answer()
        if hello is None or "ready" not in hello:
            self.close()
            why = (hello or {}).get("missing", "the process that reads it does not start")
            raise AmbuloError(f"USD files need usd-core: {why}", remedy=install_remedy("formats"))

    def ask(self, path: Path) -> dict[str, Any]:
        size = path.stat().st_size
        assert self.process.stdin is not None
        timer = threading.Timer(WALL_SECONDS * (1 if _limits_known() else 10) + size / 1e6, self.process.kill)
        timer.start()
        try:
            self.process.stdin.write(json.dumps({"path": str(path.absolute()), "size": size}).encode() + b"\n")
            self.process.stdin.flush()
            answer = self._answer()
        except OSError:
            answer = None
        except BaseException:  # interrupted: its answer, still to come, must not be taken for that to the next question
            self.close()
            raise
        finally:
            timer.cancel()
        if answer is None:
            code = self.process.wait()
            self.close()
            raise FormatError(
                f"USD's own library gave up on this file ({_end(code)})",
                path=path,
                remedy="the file is damaged; export it again",
            )
        if "fault" in answer:
            raise FormatError(
                f"this USD file cannot be read: {answer['fault']}",
                path=path,
                joint=answer.get("joint"),
                frame=answer.get("frame"),
                remedy="export it again",
            )
        return answer

    def _answer(self) -> dict[str, Any] | None:
        import msgspec

        assert self.process.stdout is not None
        head = self.process.stdout.read(8)
        if len(head) < 8:
            return None
        size = int.from_bytes(head, "little")
        body = self.process.stdout.read(size)
        if len(body) < size:
            return None
        answer: dict[str, Any] = msgspec.msgpack.decode(body)
        return answer

    def close(self) -> None:
        """End the worker."""
        global _CLIENT
        if _CLIENT is self:
            _CLIENT = None
        if self.owner != os.getpid():
            return
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()


_LOCK = threading.Lock()
_CLIENT: _Client | None = None


def _client() -> _Client:
    """The worker of this process; one that a parent process started belongs to the parent."""
    global _CLIENT
    if _CLIENT is None or _CLIENT.owner != os.getpid() or _CLIENT.process.poll() is not None:
        _CLIENT = _Client()
        atexit.register(_CLIENT.close)
    return _CLIENT


def _limits_known() -> bool:
    return os.name == "posix"


def _end(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    import signal

    name = {int(known): known.name for known in signal.Signals}.get(-code, str(-code))
    return {"SIGVTALRM": "it took too long", "SIGKILL": "it took too long"}.get(name, name)


def serve() -> None:
    """The worker's own loop: a line with a path in, a length and a message out, until its input ends."""
    channel = os.fdopen(os.dup(1), "wb")
    # What USD prints must not come between.
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    try:
        from pxr import Usd, UsdGeom, UsdSkel  # noqa: F401
    except ImportError as error:
        _send(channel, {"missing": str(error)})
        return
    import numpy as np

    from ambulo.formats.usd_stage import StageFault, extract

    _send(channel, {"ready": True})
    for line in sys.stdin.buffer:
        request = json.loads(line)
        _limit(request["size"])
        try:
            answer = extract(request["path"])
        except StageFault as fault:
            message = _TOO_MUCH if "bad_alloc" in fault.message else fault.message
            answer = {"fault": message, "joint": fault.joint, "frame": fault.frame}
        except MemoryError:
            answer = {"fault": _TOO_MUCH}
        except Exception as error:  # pxr raises errors of its own for every kind of wrong value
            answer = {"fault": f"{type(error).__name__}: {str(error).strip().splitlines()[:1]}"}
        _limit(None)
        _send(channel, answer, lambda value: _packed(value, np))


def _packed(value: Any, np: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"shape": list(value.shape), "dtype": str(value.dtype), "data": value.tobytes()}
    raise TypeError(type(value).__name__)


def _send(channel: IO[bytes], message: dict[str, Any], hook: Any = None) -> None:
    import msgspec

    body = msgspec.msgpack.Encoder(enc_hook=hook).encode(message)
    channel.write(len(body).to_bytes(8, "little") + body)
    channel.flush()


def _limit(size: int | None) -> None:
    """Limits for one file, where the system knows any; None lifts them. Time that runs out ends the worker."""
    if not _limits_known():
        return
    import resource
    import signal

    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if size is None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))
        return
    signal.signal(signal.SIGVTALRM, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_SECONDS + CPU_SECONDS_A_MEGABYTE * size / 1e6)
    with suppress(OSError, ValueError):  # no /proc: memory stays unlimited there
        pages = int(Path("/proc/self/statm").read_text().split()[5])
        room = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY_FREE + MEMORY_A_BYTE * size
        resource.setrlimit(resource.RLIMIT_DATA, (room if hard < 0 else min(room, hard), hard))
