"""A network that is slow, without a network."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from tests.browser.lab import free_port


class SlowLine:
    """A proxy in front of a server that holds every piece back, each way, as if the server were far away."""

    def __init__(self, port: int, seconds_each_way: float) -> None:
        self.target, self.seconds, self.port = port, seconds_each_way, free_port()
        self.loop = asyncio.new_event_loop()
        ready = threading.Event()
        self.thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self.thread.start()
        ready.wait(10)

    def _run(self, ready: threading.Event) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(asyncio.start_server(self._accept, "127.0.0.1", self.port))
        ready.set()
        self.loop.run_forever()
        self.loop.set_exception_handler(lambda *_: None)  # lines that are cut complain
        left = asyncio.all_tasks(self.loop)
        for task in left:
            task.cancel()
        self.loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        self.loop.close()

    async def _accept(self, reader: Any, writer: Any) -> None:
        back, forth = await asyncio.open_connection("127.0.0.1", self.target)
        await asyncio.gather(self._pass(reader, forth), self._pass(back, writer), return_exceptions=True)

    async def _pass(self, reader: Any, writer: Any) -> None:
        pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        sending = asyncio.ensure_future(self._send(pieces, writer))
        while data := await reader.read(1 << 16):
            pieces.put_nowait((self.loop.time() + self.seconds, data))
        pieces.put_nowait((self.loop.time() + self.seconds, b""))
        await sending

    async def _send(self, pieces: asyncio.Queue[tuple[float, bytes]], writer: Any) -> None:
        data = b"first"
        while data:
            when, data = await pieces.get()
            await asyncio.sleep(when - self.loop.time())
            writer.write(data)
        writer.close()

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)
