"""The studio's server: the page's files over HTTP, one character over a WebSocket at ``/ws``.

Listens on the loopback interface only; :mod:`ambulo.studio.guard` says who may talk to it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections import deque
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import msgspec
import numpy as np
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Scope
from starlette.websockets import WebSocket, WebSocketDisconnect

from ambulo.control.intent import Intent
from ambulo.errors import AmbuloError, StudioError
from ambulo.studio import messages, uploads
from ambulo.studio.clock import Clock, problem_of
from ambulo.studio.guard import Budget, LoopbackGuard, refusal
from ambulo.studio.live import LiveProjects
from ambulo.studio.pose_routes import PoseDesk
from ambulo.studio.session import STEP_RATE, Session
from ambulo.studio.training import MODEL, LmmTrainer, TrainingDesk

log = logging.getLogger(__name__)

STATIC = Path(__file__).parent / "static"
"""The built page; made from ``web/``."""

HOST = "127.0.0.1"
MAXIMUM_CONNECTIONS = 8
MESSAGES_A_SECOND, MESSAGE_BURST = 200.0, 400.0
PENDING_MESSAGES = 256
FRAMES_IN_FLIGHT = 2
"""Frames that may be on their way to a page; with more, a page that draws slowly would see an ever older past."""


def static_folder() -> Path:
    """The folder of the built page.

    Raises:
        StudioError: it was not built.
    """
    if not (STATIC / "index.html").is_file():
        raise StudioError(
            "the studio's page has not been built",
            path=STATIC,
            remedy="run `python web/build.py` in a checkout (it finds or installs Node), or install a wheel of ambulo",
        )
    return STATIC


class _Page:
    """One connected page: what waits to be sent to it.

    Of frames, choices and statistics only the newest waits, and none is sent while too many frames are unseen: a slow
    page skips, it does not lag.
    """

    def __init__(self, socket: WebSocket, loop: asyncio.AbstractEventLoop) -> None:
        self.socket = socket
        self._loop = loop
        self._frame: bytes | None = None
        self._texts: deque[str] = deque()
        self._newest: dict[str, str] = {}
        self._ready = asyncio.Event()
        self._sent = 0
        self._seen = 0

    def tell(self, message: messages.ServerMessage) -> None:
        """Queue a message, from any thread."""
        text = messages.encode(message)
        self._from_thread(self.put_text, text)

    def put_text(self, text: str) -> None:
        """Queue a text, in the event loop. A page that does not read loses the oldest ones."""
        if len(self._texts) >= PENDING_MESSAGES:
            self._texts.popleft()
        self._texts.append(text)
        self._ready.set()

    def put_newest(self, kind: str, text: str) -> None:
        """Replace the text of that kind that waits, in the event loop: for what is told again and again."""
        self._newest[kind] = text
        self._ready.set()

    def put_frame(self, frame: bytes) -> None:
        """Replace the frame that waits, in the event loop."""
        self._frame = frame
        self._ready.set()

    def see(self, frames: int) -> None:
        """The page has seen so many of the frames sent to it."""
        self._seen = min(max(frames, self._seen), self._sent)
        self._ready.set()

    async def send_all(self) -> None:
        """Send whatever comes, for ever."""
        while True:
            await self._ready.wait()
            self._ready.clear()
            while self._texts:
                await self.socket.send_text(self._texts.popleft())
            if self._sent - self._seen >= FRAMES_IN_FLIGHT:
                continue
            while self._newest:
                await self.socket.send_text(self._newest.pop(next(iter(self._newest))))
            if self._frame is not None:
                frame, self._frame = self._frame, None
                self._sent += 1
                await self.socket.send_bytes(frame)

    def _from_thread(self, function: Any, argument: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: the server is going down
            self._loop.call_soon_threadsafe(function, argument)


class _House:
    """All connected pages and the clock that feeds them."""

    def __init__(
        self, session: Session, port: int, places: dict[str, Path] | None, trainer: LmmTrainer | None = None
    ) -> None:
        self.port = port
        self.clock = Clock(session, self._spread_frame, self._spread_message)
        self.live = None if not places else LiveProjects(places, self.clock, self._spread_message)
        self.training = TrainingDesk(places or {}, self._spread_message, self._play_trained, trainer)
        self.pages: set[_Page] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._taking = asyncio.Lock()

    @contextlib.asynccontextmanager
    async def lifespan(self, _: Starlette) -> AsyncIterator[None]:
        self._loop = asyncio.get_running_loop()
        self.clock.start()
        if self.live is not None:
            self.live.start()
        try:
            yield
        finally:
            await asyncio.to_thread(self.training.close)
            if self.live is not None:
                await asyncio.to_thread(self.live.stop)
            await asyncio.to_thread(self.clock.stop)

    async def serve(self, websocket: WebSocket) -> None:
        """One page from its coming to its going."""
        if len(self.pages) >= MAXIMUM_CONNECTIONS:
            await websocket.close(1013, "too many pages are connected")
            return
        await websocket.accept()
        page = _Page(websocket, asyncio.get_running_loop())
        self.pages.add(page)
        self.clock.greet(page.tell)
        if self.live is not None and self.live.last is not None and self.live.last.state != "ready":
            page.tell(self.live.last)
        page.tell(self.training.greeting())
        sender = asyncio.create_task(page.send_all())
        try:
            await self._receive(page)
        except WebSocketDisconnect:
            pass
        finally:
            sender.cancel()
            with contextlib.suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError):
                await sender
            self.pages.discard(page)
            self.clock.leave()

    async def _receive(self, page: _Page) -> None:
        budget = Budget(MESSAGES_A_SECOND, MESSAGE_BURST)
        while True:
            event = await page.socket.receive()
            if event["type"] == "websocket.disconnect":
                return
            text = event.get("text")
            size = len(text.encode()) if text is not None else len(event.get("bytes") or b"")
            if size > messages.MAXIMUM_MESSAGE_BYTES:
                await page.socket.close(1009, f"a message of {size} bytes is over {messages.MAXIMUM_MESSAGE_BYTES}")
                return
            if not budget.spend():
                await page.socket.close(1008, f"more than {MESSAGES_A_SECOND:.0f} messages a second")
                return
            if text is None:
                page.tell(messages.Problem("binary messages are not understood; send JSON text"))
                continue
            try:
                message = messages.decode(text)
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                page.tell(messages.Problem(f"this message is not understood: {error}"))
                continue
            if isinstance(message, messages.Seen):
                page.see(message.frames)
            elif isinstance(message, messages.Train | messages.StopTraining):
                self._train(message, page)
            else:
                self.clock.post(message, page.tell)

    def _train(self, message: messages.Train | messages.StopTraining, page: _Page) -> None:
        try:
            if isinstance(message, messages.Train):
                self.training.train(self.clock.session.project.name, message.preset, resume=message.resume)
            else:
                self.training.stop()
        except AmbuloError as error:
            page.tell(problem_of(error))

    def _play_trained(self, name: str) -> bool:
        """Go on with a model that was trained just now, once all that takes long is done in this thread."""
        project = self.clock.session.project
        if project.name != name:
            return False
        controller = project.controller(MODEL)
        controller.step(controller.start(), Intent(np.zeros((1, 3), np.float32)), 1.0 / STEP_RATE)
        swapped: SimpleQueue[AmbuloError | None] = SimpleQueue()
        self.clock.do(
            lambda session: session.play_trained(project, MODEL),
            lambda: swapped.put(None),
            lambda error: swapped.put(error),
        )
        if (error := swapped.get(timeout=30.0)) is not None:
            raise error
        return self.clock.session.project is project

    async def take_file(self, request: Request) -> Response:
        """A file that was dropped on the page: ``POST /takes?name=walk_01.bvh`` with its content."""
        reason = refusal(request.headers, self.port, websocket=True)  # only our own page may
        if reason is not None:
            return PlainTextResponse(reason + "\n", status_code=403)
        name = self.clock.session.project.name
        if self.live is None or name not in self.live.places:
            return _refused(StudioError("this studio takes no files", remedy="start it with `ambulo play PROJECT`"))
        try:
            length = int(request.headers.get("content-length", "0"))
            if length > uploads.MAXIMUM_BYTES:
                raise StudioError(f"{length // 2**20} MB are more than the {uploads.MAXIMUM_BYTES // 2**20} allowed")
            async with self._taking:
                received = await uploads.receive(
                    self.live.places[name], request.query_params.get("name", ""), request.stream()
                )
        except AmbuloError as error:
            return _refused(error)
        except ClientDisconnect:
            return Response(status_code=400)
        self.live.request(name)
        return JSONResponse({"file": received.file, "renamed": received.renamed})

    def _spread_frame(self, frame: bytes) -> None:
        self._in_loop(lambda page: page.put_frame(frame))

    def _spread_message(self, message: messages.ServerMessage) -> None:
        text = messages.encode(message)
        if isinstance(message, messages.Choice | messages.Stats):
            kind = type(message).__name__
            self._in_loop(lambda page: page.put_newest(kind, text))
        else:
            self._in_loop(lambda page: page.put_text(text))

    def _in_loop(self, put: Callable[[_Page], None]) -> None:
        def put_everywhere() -> None:
            for page in self.pages:
                put(page)

        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(put_everywhere)


class _PageFiles(StaticFiles):
    """The built page; hashed assets may be kept, the page itself must be asked for again."""

    def file_response(self, full_path: Any, stat_result: Any, scope: Scope, status_code: int = 200) -> Any:
        response = super().file_response(full_path, stat_result, scope, status_code)
        hashed = Path(full_path).parent.name == "assets"
        response.headers["cache-control"] = "public, max-age=31536000, immutable" if hashed else "no-cache"
        return response


def _refused(error: AmbuloError) -> Response:
    return JSONResponse({"message": str(error).partition(" | ")[0], "remedy": error.remedy}, status_code=400)


def create_app(
    session: Session,
    *,
    port: int,
    static: Path | None = None,
    places: dict[str, Path] | None = None,
    trainer: LmmTrainer | None = None,
) -> ASGIApp:
    """The ASGI application.

    Args:
        session: the character; it belongs to the application from now on.
        port: where it will listen; Host and Origin are checked against it.
        static: folder of the page; the built one by default.
        places: name of a project -> its folder, of projects that are watched, built again when their files change, and
            that files may be dropped into, and models be trained for; none where it is left out.
        trainer: how models are trained.

    Raises:
        StudioError: the page was not built.
    """
    house = _House(session, port, places, trainer)
    desk = PoseDesk(port, lambda: house.clock.session.project)
    return Starlette(
        routes=[
            WebSocketRoute("/ws", house.serve),
            WebSocketRoute("/pose/ws", desk.serve),
            Route("/pose/save", desk.save, methods=["POST"]),
            Route("/takes", house.take_file, methods=["POST"]),
            Mount("/", _PageFiles(directory=static or static_folder(), html=True)),
        ],
        middleware=[Middleware(LoopbackGuard, port=port)],
        lifespan=house.lifespan,
    )


def bind(port: int = 0) -> socket.socket:
    """A listening socket on the loopback interface; port 0 takes a free one.

    Raises:
        StudioError: the port is taken or not allowed.
    """
    # The protocol is named, since asyncio switches Nagle's algorithm off only where it is: a pose that follows another
    # message would wait 40 ms for the browser's delayed acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):  # Windows, where SO_REUSEADDR would let two servers share a port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((HOST, port))
        listener.listen(128)
    except (OSError, OverflowError) as error:
        listener.close()
        raise StudioError(
            f"port {port} cannot be opened: {error}",
            key="port",
            remedy="choose another one, or leave --port out to get a free one",
        ) from error
    return listener


def serve(app: ASGIApp, listener: socket.socket) -> None:
    """Serve until interrupted."""
    import uvicorn

    config = uvicorn.Config(
        app,
        log_level="warning",
        ws="websockets-sansio",
        ws_max_size=4 * messages.MAXIMUM_MESSAGE_BYTES,
        ws_per_message_deflate=False,
        server_header=False,
        timeout_graceful_shutdown=2,
    )
    uvicorn.Server(config).run(sockets=[listener])
