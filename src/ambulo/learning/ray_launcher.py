"""Ray Train as launcher: the training of every other launcher, by workers of a Ray cluster.

The program that asks needs neither torch nor a GPU. It starts a trainer on the cluster and follows what its workers
tell; a machine that does not see the project's folder is sent the database, and sends
the model and its checkpoints back.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ambulo import __version__
from ambulo.database.database import Database
from ambulo.database.engines.engine import cluster_address
from ambulo.database.engines.ray_cluster import Watch, connected, explain, import_ray, is_of_ray, one_line
from ambulo.database.fingerprints import code_fingerprint
from ambulo.errors import AmbuloError, LearningError, install_remedy
from ambulo.learning.carried_files import Piece, pieces, receive
from ambulo.learning.checkpoints import CHECKPOINT, last_checkpoint
from ambulo.learning.lmm_data import refuse_stale
from ambulo.learning.lmm_presets import LmmPreset, find_preset
from ambulo.learning.lmm_requests import refuse_name, refuse_precision
from ambulo.learning.lmm_training import LmmReport, Progress, model_folder
from ambulo.learning.progress import TrainProgress
from ambulo.learning.ray_worker import TRAINING_ROOMS, Failed, FileSent, Machine, Order, Trainer, look

if TYPE_CHECKING:
    from collections.abc import Sequence

_POLL_SECONDS = 0.3
_RESUME = "go on with --resume"


def train_lmm_on_ray(
    project: str | Path,
    *,
    engine: str = "ray",
    workers: int = 2,
    preset: str | LmmPreset = "base",
    name: str = "lmm",
    device: str = "auto",
    progress: Progress | None = None,
    **options: Any,
) -> LmmReport:
    """Train learned motion matching on a Ray cluster, into ``PROJECT/models/NAME``.

    Args:
        project: its folder or file.
        engine: ``ray`` or ``ray://HOST:PORT``, as for a build.
        workers: processes that train one model, each with a share of every batch.
        preset, name: as for :func:`ambulo.learning.lmm_training.train_lmm`.
        device: ``cuda`` gives each worker a GPU, ``cpu`` none; ``auto`` does the first where the cluster has as many.
        progress: called while networks are trained.
        options: ``tags``, ``resume``, ``finetune``, ``precision`` and ``seed``, as there.

    Raises:
        LearningError: the training is refused, the cluster cannot be used, or a worker failed; the last checkpoint
            is named.
        KeyboardInterrupt: it was interrupted; the workers have kept a checkpoint.
    """
    if workers < 1:
        raise LearningError(f"{workers} workers are not possible", key="workers", remedy="ask for 1 or more")
    if device not in ("auto", "cpu", "cuda"):
        raise LearningError(
            f"a cluster has no device {device!r}", key="device", remedy="say auto, cpu or cuda; Ray picks which"
        )
    address = cluster_address(engine)
    if address is None:
        raise LearningError(f"the engine {engine!r} has no workers", key="engine", remedy="say ray or ray://HOST:PORT")
    refuse_name(name)
    refuse_precision(options.get("precision", "float16"))
    if isinstance(preset, str):
        preset = find_preset(preset)
    folder = Path(project).absolute()
    folder = folder if folder.is_dir() else folder.parent
    refuse_stale(folder)
    Database.open(folder)
    model = model_folder(folder, name)
    ray = import_ray(LearningError)
    token = folder / f".ambulo-{secrets.token_hex(8)}"
    order = Order(folder, model, token, token.name, False, {"preset": preset, "name": name, **options})
    token.write_text(order.secret)
    try:
        with connected(ray, address, workers, LearningError):
            return _Training(ray, order, workers, device).run(progress)
    finally:
        token.unlink(missing_ok=True)


class _Training:
    """One training on a cluster that is connected."""

    def __init__(self, ray: Any, order: Order, workers: int, device: str) -> None:
        self.ray, self.workers = ray, workers
        self.order = order._replace(cuda=self._has_devices(device))
        self.report: LmmReport | None = None
        self.failures: list[Failed] = []
        # A training of that name that was there before is not what a new one goes on from.
        self.before = {} if order.options.get("resume") else self._checkpoints()

    def _has_devices(self, device: str) -> bool:
        resources = self.ray.cluster_resources()
        for kind, wanted in (("CPU", True), ("GPU", device == "cuda")):
            found = int(resources.get(kind, 0))
            if wanted and found < self.workers:
                raise LearningError(
                    f"the cluster has {found} {kind}s, which is too few for {self.workers} workers",
                    key="workers",
                    remedy="ask for fewer --workers, or add machines to the cluster",
                )
        return device != "cpu" and int(resources.get("GPU", 0)) >= self.workers

    def run(self, progress: Progress | None) -> LmmReport:
        try:
            return self._run(progress)
        except Exception as error:
            if is_of_ray(error):
                raise self._with_checkpoint(explain(error, LearningError)) from None
            raise

    def _run(self, progress: Progress | None) -> LmmReport:
        ray = self.ray
        machines = self._machines()
        going_on = self.order.options.get("resume") or self.order.options.get("finetune")
        carried: list[Piece] = []
        if not all(machine.is_here for machine in machines.values()):
            model = self.order.model if going_on else None
            carried = [piece._replace(data=ray.put(piece.data)) for piece in pieces(self.order.project, model)]
        beside = _on(ray, next(iter(machines)))
        trainer = ray.remote(num_cpus=0, max_concurrency=4)(Trainer).options(**beside).remote()
        running = trainer.train.remote(self.order, self.workers, carried)
        interrupted = self._follow(running, trainer, progress)
        ended = ray.get(running)
        if interrupted:
            raise KeyboardInterrupt
        if self.report is not None and not ended:
            return msgspec.structs.replace(self.report, folder=str(self.order.model))
        raise self._failure(ended)

    def _machines(self) -> dict[str, Machine]:
        """What each machine with a processor is like, by its id.

        Raises:
            LearningError: one of them cannot train as this one would.
        """
        ray = self.ray
        nodes = [node for node in ray.nodes() if node["Alive"] and node["Resources"].get("CPU", 0) >= 1]
        task = ray.remote(num_cpus=0)(look)
        asked = {node["NodeID"]: task.options(**_on(ray, node["NodeID"])).remote(self.order) for node in nodes}
        machines = dict(zip(asked, ray.get(list(asked.values())), strict=True))
        mine = code_fingerprint(TRAINING_ROOMS)
        for node in nodes:
            machine: Machine = machines[node["NodeID"]]
            where = f"the machine {node['NodeManagerAddress']} of the Ray cluster"
            if machine.torch is None:
                raise LearningError(f"{where} has no torch", key="engine", remedy=f"there: {install_remedy('learn')}")
            if machine.code != mine:
                other = "other code of ambulo" if machine.ambulo == __version__ else "another version of ambulo"
                raise LearningError(
                    f"{where} has {other}, {machine.ambulo}; here it is {__version__}",
                    key="engine",
                    remedy="install the same version on every machine of the cluster",
                )
        versions = sorted({machine.torch or "" for machine in machines.values()})
        if len(versions) > 1:
            raise LearningError(
                f"the machines of the Ray cluster have several versions of torch: {', '.join(versions)}",
                key="engine",
                remedy="install the same version on every machine of the cluster",
            )
        return machines

    def _follow(self, running: Any, trainer: Any, progress: Progress | None) -> bool:
        """Hear what the workers tell until they end. Returns whether they were asked to stop."""
        ray, watch, interrupted = self.ray, Watch(self.ray, LearningError), False
        while True:
            try:
                watch.look()
                ended, _ = ray.wait([running], timeout=_POLL_SECONDS)
                for message in ray.get(trainer.fetch.remote()):
                    self._hear(message, progress)
                if ended:
                    return interrupted
            except KeyboardInterrupt:
                if interrupted:  # who asks twice does not want to wait for the checkpoint
                    raise
                interrupted = True
                ray.get(trainer.stop.remote())

    def _hear(self, message: Any, progress: Callable[[TrainProgress], None] | None) -> None:
        if isinstance(message, TrainProgress):
            if progress is not None:
                progress(message)
        elif isinstance(message, FileSent):
            receive(self.order.model, message.name, message.data)
        elif isinstance(message, Failed):
            self.failures.append(message)
        elif isinstance(message, LmmReport):
            self.report = message

    def _failure(self, ended: dict[int, str]) -> AmbuloError:
        """What the failure of workers means. A worker's own error counts more than that the others missed it."""
        if self.failures:
            return self.failures[0].error
        if not ended:
            return self._with_checkpoint(LearningError("the training ended without a report"))
        rank, reason = next(iter(sorted(ended.items())))
        who = "the training could not be started" if rank < 0 else f"{_ranks(sorted(ended))} failed"
        return self._with_checkpoint(LearningError(f"{who}: {reason}"))

    def _with_checkpoint(self, error: Exception) -> LearningError:
        """The error with the last checkpoint of the network that was being trained."""
        now = self._checkpoints()
        written = sorted((stamp, path) for path, stamp in now.items() if self.before.get(path) != stamp)
        last = last_checkpoint(written[-1][1].parent) if written else None
        message = getattr(error, "message", None) or one_line(error)
        kept = f"the last checkpoint is {last}" if last else "no checkpoint was written before it"
        remedy = _RESUME if last else getattr(error, "remedy", None)
        return LearningError(f"{message}; {kept}", path=last, key=getattr(error, "key", None), remedy=remedy)

    def _checkpoints(self) -> dict[Path, int]:
        """The checkpoints of the model's networks, and when they were written."""
        return {path: path.stat().st_mtime_ns for path in self.order.model.rglob(CHECKPOINT)}


def _ranks(ranks: Sequence[int]) -> str:
    return f"worker {ranks[0]}" if len(ranks) == 1 else f"workers {', '.join(map(str, ranks))}"


def _on(ray: Any, node: str) -> dict[str, Any]:
    """Options of a task that runs on a certain machine."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return {"scheduling_strategy": NodeAffinitySchedulingStrategy(node_id=node, soft=False)}
