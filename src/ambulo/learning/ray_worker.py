"""What runs on the machines of a Ray cluster while it trains: the workers, and who starts and hears them."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from ambulo import __version__
from ambulo.database.fingerprints import DATABASE_ROOMS, code_fingerprint
from ambulo.errors import AmbuloError
from ambulo.learning.carried_files import Mirror, Piece, at_home, place
from ambulo.learning.progress import TrainProgress

TRAINING_ROOMS = (*DATABASE_ROOMS, "control", "learning")
"""Packages whose code decides what a training makes."""

_MIRROR_SECONDS = 1.0


class Order(NamedTuple):
    """What is trained.

    Attributes:
        project: its folder, absolute, where the training was asked for.
        model: folder of the model, below it.
        token: file in the project's folder by which a machine sees that it shares it.
        secret: content of that file.
        cuda: whether each worker has a GPU.
        options: of :func:`ambulo.learning.lmm_training.train_lmm`.
    """

    project: Path
    model: Path
    token: Path
    secret: str
    cuda: bool
    options: dict[str, Any]

    @property
    def is_here(self) -> bool:
        """Whether this machine sees the project's files."""
        try:
            return self.token.read_text() == self.secret
        except OSError:
            return False


class Machine(NamedTuple):
    """What a machine of the cluster is like.

    Attributes:
        is_here: it sees the project's files.
        code: fingerprint of its code.
        ambulo: its version.
        torch: its version; None where it is not installed.
    """

    is_here: bool
    code: str
    ambulo: str
    torch: str | None


class Failed(NamedTuple):
    """A worker's own error."""

    rank: int
    error: AmbuloError


class FileSent(NamedTuple):
    """A file of the model, of a worker that does not see the project's folder."""

    name: str
    data: bytes | None


class Trainer:
    """An actor that starts the workers, and on which they write what they have to tell until it is fetched.

    It lies on the cluster, so that a program far away need not keep up with Ray Train's own.
    """

    def __init__(self) -> None:
        self._told: list[Any] = []
        self._stopped = False
        self._lock = threading.Lock()

    def train(self, order: Order, workers: int, pieces: Sequence[Piece]) -> dict[int, str]:
        """Train with so many workers, and wait for them. The other methods are called meanwhile.

        Returns:
            What ended each worker that failed, by rank; -1 is none of them but what started them.
        """
        import ray
        from ray.train import RunConfig, ScalingConfig
        from ray.train.torch import TorchTrainer

        own = ray.get_runtime_context().current_actor
        with tempfile.TemporaryDirectory(prefix="ambulo-") as storage:
            trainer = TorchTrainer(
                train_worker,
                train_loop_config={"order": order, "pieces": pieces, "trainer": own},
                scaling_config=ScalingConfig(num_workers=workers, use_gpu=order.cuda),
                run_config=RunConfig(name="ambulo", storage_path=storage),
            )
            try:
                trainer.fit()
            except Exception as error:  # of kinds that the program that waits may not know
                failures: dict[int, Any] = getattr(error, "worker_failures", None) or {-1: error}
                return {rank: _told(failure) for rank, failure in failures.items()}
        return {}

    def tell(self, message: Any) -> bool:
        """Keep a message. Returns whether the training shall stop."""
        with self._lock:
            # Only the newest progress of a network counts; nobody may fetch for a while.
            if isinstance(message, TrainProgress):
                self._told = [m for m in self._told if not (isinstance(m, TrainProgress) and m.name == message.name)]
            self._told.append(message)
        return self._stopped

    def fetch(self) -> list[Any]:
        """All messages since the last call."""
        with self._lock:
            told, self._told = self._told, []
        return told

    def stop(self) -> None:
        """Ask the workers to stop."""
        self._stopped = True


def look(order: Order) -> Machine:
    """See what this machine is like."""
    try:
        import torch

        version = str(torch.__version__)
    except ImportError:
        version = None
    return Machine(order.is_here, code_fingerprint(TRAINING_ROOMS), __version__, version)


def _told(failure: Any) -> str:
    """The last line of a traceback, or all of a short text."""
    lines = [line.strip() for line in str(failure).splitlines() if line.strip()]
    text = lines[-1] if "Traceback" in str(failure) else " ".join(lines)
    return f"{type(failure).__name__}: {text[:300]}" if text else type(failure).__name__


def train_worker(config: dict[str, Any]) -> None:
    """One worker: the training of every other launcher, in the process group that Ray Train has made."""
    import ray
    from ray import train

    from ambulo.learning.lmm_training import train_lmm

    order: Order = config["order"]
    trainer = config["trainer"]
    rank = train.get_context().get_world_rank()
    with _project(order, config["pieces"]) as folder:
        model = folder / order.model.relative_to(order.project)
        teller = _Teller(trainer, None if folder == order.project else model) if rank == 0 else None
        try:
            report = train_lmm(
                folder,
                **order.options,
                device=_own_device() if order.cuda else "cpu",
                up_to_date=True,
                progress=None if teller is None else teller.tell,
                stop=None if teller is None else teller.stop,
            )
        except AmbuloError as error:
            if teller is not None:
                teller.mirror()
            ray.get(trainer.tell.remote(Failed(rank, at_home(error, folder, order.project))))
            raise
        if teller is not None:
            teller.mirror()
            ray.get(trainer.tell.remote(report))


def _own_device() -> str:
    from ray.train.torch import get_device

    return str(get_device())


@contextmanager
def _project(order: Order, pieces: Sequence[Piece]) -> Iterator[Path]:
    """The project's folder: itself where this machine sees it, else a copy that lasts as long as the context."""
    if order.is_here:
        yield order.project
        return
    import ray

    with tempfile.TemporaryDirectory(prefix="ambulo-") as name:
        folder = Path(name).resolve() / order.project.name
        folder.mkdir()
        place(folder, (piece._replace(data=ray.get(piece.data)) for piece in pieces))
        yield folder


class _Teller:
    """The first worker's voice."""

    def __init__(self, trainer: Any, sent: Path | None) -> None:
        self.trainer = trainer
        self.stopped = False
        self._mirror = None if sent is None else Mirror(sent, self._send)
        self._mirrored = time.monotonic()

    def tell(self, now: TrainProgress) -> None:
        """Tell of progress, and send what was written meanwhile."""
        self._say(now)
        if time.monotonic() - self._mirrored > _MIRROR_SECONDS:
            self.mirror()
            self._mirrored = time.monotonic()

    def stop(self, _step: int) -> bool:
        """Whether the training shall stop."""
        return self.stopped

    def mirror(self) -> None:
        """Send what was written."""
        if self._mirror is not None:
            self._mirror.update()

    def _send(self, name: str, data: bytes | None) -> None:
        self._say(FileSent(name, data))

    def _say(self, message: Any) -> None:
        import ray

        self.stopped = ray.get(self.trainer.tell.remote(message)) or self.stopped
