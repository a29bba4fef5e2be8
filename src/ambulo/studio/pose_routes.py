"""The posing page's connection: a WebSocket at ``/pose/ws``, and files saved by ``POST /pose/save``."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from ambulo.errors import AmbuloError
from ambulo.studio import messages, pose_messages
from ambulo.studio.guard import Budget, refusal
from ambulo.studio.open_project import OpenProject
from ambulo.studio.pose_solver import PoseSolver, project_solver

SOLVES_A_SECOND, SOLVE_BURST = 120.0, 240.0
MAXIMUM_CONNECTIONS = 4
_encoder = msgspec.json.Encoder()


class PoseDesk:
    """Serves posing pages. Poses are found in threads, so that the character's steps do not wait for them.

    Args:
        port: that the server listens on.
        project: tells which project is open.
        make_solver: makes a solver for it, on first use.
    """

    def __init__(
        self,
        port: int,
        project: Callable[[], OpenProject],
        make_solver: Callable[[OpenProject], PoseSolver] = project_solver,
    ) -> None:
        self._port = port
        self._project = project
        self._make_solver = make_solver
        self._made: tuple[OpenProject, PoseSolver] | None = None
        self._making = asyncio.Lock()
        self._connected = 0

    async def serve(self, websocket: WebSocket) -> None:
        """One posing page from its coming to its going."""
        if self._connected >= MAXIMUM_CONNECTIONS:
            await websocket.close(1013, "too many pages are connected")
            return
        await websocket.accept()
        self._connected += 1
        try:
            with contextlib.suppress(WebSocketDisconnect):
                await self._talk(websocket)
        finally:
            self._connected -= 1

    async def _talk(self, websocket: WebSocket) -> None:
        try:
            solver = await self._solver()
        except AmbuloError as error:
            await _tell(websocket, _problem(error))
            await websocket.close(1011, "posing is not possible here")
            return
        await _tell(websocket, solver.hello())
        budget = Budget(SOLVES_A_SECOND, SOLVE_BURST)
        while True:
            text = await websocket.receive_text()
            if len(text) > messages.MAXIMUM_MESSAGE_BYTES:
                await websocket.close(1009, f"a message is over {messages.MAXIMUM_MESSAGE_BYTES} bytes")
                return
            if not budget.spend():
                await websocket.close(1008, f"more than {SOLVES_A_SECOND:.0f} messages a second")
                return
            try:
                answer: pose_messages.PoseServerMessage = await asyncio.to_thread(
                    solver.posed, pose_messages.decode(text)
                )
            except AmbuloError as error:
                answer = _problem(error)
            except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
                answer = messages.Problem(f"this message is not understood: {error}")
            await _tell(websocket, answer)

    async def save(self, request: Request) -> Response:
        """The keys that were posted, as a file: ``POST /pose/save``."""
        reason = refusal(request.headers, self._port, websocket=True)  # only our own page may
        if reason is not None:
            return PlainTextResponse(reason + "\n", status_code=403)
        body = bytearray()
        try:
            async for chunk in request.stream():
                body += chunk
                if len(body) > pose_messages.MAXIMUM_SAVE_BYTES:
                    return _refused("these are too many keys", None)
            wish = pose_messages.decode_save(bytes(body))
            solver = await self._solver()
            data = await asyncio.to_thread(_file, solver, wish)
        except AmbuloError as error:
            return _refused(error.message, error.remedy)
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            return _refused(f"this is not understood: {error}", None)
        except ClientDisconnect:
            return Response(status_code=400)
        headers = {"content-disposition": f'attachment; filename="pose.{wish.format}"'}
        return Response(data, media_type="application/octet-stream", headers=headers)

    async def _solver(self) -> PoseSolver:
        async with self._making:
            project = self._project()
            if self._made is None or self._made[0] is not project:
                self._made = project, await asyncio.to_thread(self._make_solver, project)
            return self._made[1]


def _file(solver: PoseSolver, wish: pose_messages.SaveKeys) -> bytes:
    from ambulo.formats.registry import save

    motion = solver.motion(wish.keys, rate=wish.rate, floor=wish.floor)
    with tempfile.TemporaryDirectory(prefix="ambulo-pose-") as folder:
        path = Path(folder) / f"pose.{wish.format}"
        save(motion, path)
        return path.read_bytes()


async def _tell(websocket: WebSocket, message: pose_messages.PoseServerMessage) -> None:
    with contextlib.suppress(RuntimeError):  # it went in the meantime
        await websocket.send_text(_encoder.encode(message).decode())


def _problem(error: AmbuloError) -> messages.Problem:
    return messages.Problem(error.message, error.key, error.remedy)


def _refused(message: str, remedy: str | None) -> Response:
    return JSONResponse({"message": message, "remedy": remedy}, status_code=400)
