"""Reaching a Ray cluster, and saying in words why one cannot be used: one door for builds and trainings."""

from __future__ import annotations

import math
import os
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from importlib import import_module
from typing import Any

from ambulo.database.workers import core_count
from ambulo.errors import AmbuloError, DatabaseError, install_remedy

# Who does not answer within this has no cluster; a busy one takes a second or two.
_ANSWER_SECONDS = 10.0
# How long a cluster may be without a processor: one that grows by need starts machines in minutes.
_BARE_SECONDS = 180.0
_LOOK_SECONDS = 2.0
# How long its head may be silent: less than the minute after which Ray ends a process.
_LOST_SECONDS = 30.0
_REMEDY = "check the address (ray://HOST:10001, a cluster's client server), or use --engine local"
_LOST = "see whether its head still runs, and run the same command again"
_SAME_VERSION = "install the same versions of ambulo, Ray and Python on every machine of the cluster"
# What Ray says -> what to do.
_REMEDIES = {
    "ersion mismatch": _SAME_VERSION,
    "Starting Ray client server failed": "try again; where the head is busy, start it with "
    "RAY_CLIENT_SERVER_CHECK_CHANNEL_TIMEOUT_S=120",
}


def import_ray(refusal: type[AmbuloError] = DatabaseError) -> Any:
    """The module ``ray``, which sends no usage statistics.

    Raises:
        AmbuloError: of the kind ``refusal``; it is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    try:
        import ray
    except ImportError:
        raise refusal(
            "the engine ray needs Ray, which is not installed", key="engine", remedy=install_remedy("scale")
        ) from None
    return ray


@contextmanager
def connected(ray: Any, address: str, workers: int, refusal: type[AmbuloError] = DatabaseError) -> Iterator[None]:
    """A connection to a cluster while the context lasts; one that this program has already is used and left alone.

    Args:
        ray: the module.
        address: ``HOST:PORT`` of a cluster's client server; ``auto`` for the cluster that this machine is part of;
            empty for what ``RAY_ADDRESS`` names, as Ray understands it, and without that for a cluster of this machine
            alone that ends with the context.
        workers: processors of a cluster of this machine alone; 0 for as many as there are.
        refusal: kind of the errors.

    Raises:
        AmbuloError: of the kind ``refusal``; nobody answers, or somebody who is no cluster of our versions.
    """
    if ray.is_initialized():
        yield
        return
    quiet: dict[str, Any] = {"logging_level": "error"}
    place = f"ray://{address}" if address not in ("", "auto", "local") else address or os.environ.get("RAY_ADDRESS", "")
    if place in ("", "local"):
        options = {"address": "local", "num_cpus": workers or core_count(), "include_dashboard": False}
        options |= quiet | {"log_to_driver": False}
    else:
        _knock(place, refusal)
        options = {"address": place} | quiet | ({} if "://" in place else {"log_to_driver": False})
    # Ray tells of machines that died on stdout, where --json has one object.
    with redirect_stdout(sys.stderr):
        try:
            ray.init(**options)
        except Exception as error:  # of many kinds: refused, unreachable, of another Ray or Python version
            reason = one_line(error)
            raise refusal(
                f"the Ray cluster {place or 'of this machine'} cannot be reached: {reason}",
                key="engine",
                remedy=next((remedy for words, remedy in _REMEDIES.items() if words in reason), _REMEDY),
            ) from None
        try:
            yield
        finally:
            ray.shutdown()


def _knock(place: str, refusal: type[AmbuloError]) -> None:
    """See whether anybody answers: Ray itself would try for half a minute and longer, and tell of it in a traceback."""
    host, _, port = place.rpartition("://")[2].rpartition(":")
    if place == "auto":
        return
    if not host or not port.isdecimal():
        raise refusal(f"{place!r} is no address of a Ray cluster", key="engine", remedy=_REMEDY)
    if silence := _silence(f"{host}:{port}"):
        raise refusal(
            f"the Ray cluster {place} cannot be reached: nobody answers there ({silence})", key="engine", remedy=_REMEDY
        )
    if not place.startswith("ray://") or os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
        return
    try:
        import grpc

        asked: Any = import_module("ray.core.generated.ray_client_pb2")
        service: Any = import_module("ray.core.generated.ray_client_pb2_grpc")
    except ImportError:  # a Ray without its client, which is said when the client is used
        return
    with grpc.insecure_channel(f"{host}:{port}") as channel:
        try:
            grpc.channel_ready_future(channel).result(timeout=_ANSWER_SECONDS)
            ping = asked.ClusterInfoRequest(type=asked.ClusterInfoType.PING)
            service.RayletDriverStub(channel).ClusterInfo(ping, timeout=_ANSWER_SECONDS)
        except grpc.FutureTimeoutError:
            raise refusal(f"what answers at {place} is no Ray", key="engine", remedy=_REMEDY) from None
        except grpc.RpcError as error:
            if error.code() == grpc.StatusCode.UNIMPLEMENTED:
                raise refusal(
                    f"what answers at {place} is not the client server of a Ray cluster", key="engine", remedy=_REMEDY
                ) from None
            if error.code() == grpc.StatusCode.UNAUTHENTICATED and os.environ.get("RAY_AUTH_MODE") != "token":
                raise refusal(
                    f"the Ray cluster {place} wants a token",
                    key="engine",
                    remedy="set RAY_AUTH_MODE=token, and put the cluster's token into ~/.ray/auth_token "
                    "(`ray get-auth-token` there tells it)",
                ) from None


def _silence(address: str) -> str:
    """Why nobody answers at HOST:PORT; empty where somebody does."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_SECONDS).close()
    except (OSError, OverflowError, UnicodeError) as error:
        return str(error)
    return ""


class Watch:
    """Looks after a cluster while its answers are awaited.

    Attributes:
        processors: of the cluster, when it was last looked at.
    """

    def __init__(self, ray: Any, refusal: type[AmbuloError] = DatabaseError) -> None:
        self.ray, self.refusal = ray, refusal
        self.processors = 0
        now = time.monotonic()
        self._looked, self._heard, self._alive = -math.inf, now, now
        # A client is told by its connection.
        self._head = None if ray.util.client.ray.is_connected() else ray.get_runtime_context().gcs_address

    def look(self) -> None:
        """See now and then whether the cluster can still do something.

        Raises:
            AmbuloError: of the kind of this watch; its head is gone, or it has had no processor for a while.
        """
        now = time.monotonic()
        if now - self._looked < _LOOK_SECONDS:
            return
        self._looked = now
        # Without its head, questions to Ray wait, and after a minute it ends this process without an exception.
        if self._head is not None and _silence(self._head):
            if now - self._heard > _LOST_SECONDS:
                raise self.refusal(
                    f"the head of the Ray cluster, {self._head}, has not answered for {now - self._heard:.0f} seconds",
                    key="engine",
                    remedy=_LOST,
                )
            return
        self._heard = now
        self.processors = int(self.ray.cluster_resources().get("CPU", 0))
        if self.processors:
            self._alive = now
        elif now - self._alive > _BARE_SECONDS:
            raise self.refusal(
                f"the Ray cluster has had no processor for {_BARE_SECONDS:g} seconds",
                key="engine",
                remedy="start workers with processors: ray start --address=HEAD:6379 --num-cpus=N",
            )


def is_of_ray(error: BaseException) -> bool:
    """Whether an error came from Ray: a task, its worker, its machine, or the connection to the cluster."""
    import ray

    return isinstance(error, ray.exceptions.RayError | ConnectionError) or type(error).__module__.startswith("grpc")


def explain(error: BaseException, refusal: type[AmbuloError] = DatabaseError) -> AmbuloError | OSError:
    """What an error of Ray means: ambulo's own as it was raised, the rest in words.

    Args:
        error: see :func:`is_of_ray`.
        refusal: kind of what is made of it.
    """
    import ray

    cause = getattr(error, "cause", None)
    if isinstance(cause, AmbuloError | OSError):
        return cause
    text = f"{error}\n{cause}"
    if "No module named 'ambulo" in text or ("ambulo" in text and "has no attribute" in text):
        return refusal(
            "a machine of the Ray cluster has no ambulo, or one of another version", key="engine", remedy=_SAME_VERSION
        )
    if isinstance(error, ray.exceptions.RayTaskError):
        return refusal(f"a worker failed: {cause!r}", key="engine")
    return refusal(
        f"the connection to the Ray cluster is lost: {one_line(error)}",
        key="engine",
        remedy=_LOST,
    )


def one_line(error: BaseException) -> str:
    """An error's text on one line, without its traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    text = " ".join(lines) or type(error).__name__
    return text if len(text) <= 300 else f"{text[:300]}..."
