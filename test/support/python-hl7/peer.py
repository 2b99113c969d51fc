"""A lab system built on python-hl7, for tests.

Requests come as lines of JSON on standard input, each with an "id", and are answered by lines of JSON on standard
output. It ends when its standard input does. Everything about HL7 and MLLP here is the library's work.
"""

import asyncio
import json
import sys

import hl7
from hl7.mllp import open_hl7_connection, start_hl7_server

LIMIT = 16 * 1024 * 1024


def tell(value):
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()


def field_tree(field, message):
    """A field as repetitions of components of subcomponents, escapes decoded."""

    def leaf(text):
        return message.unescape(str(text))

    def components(repetition):
        if not isinstance(repetition, hl7.Repetition):
            return [[leaf(repetition)]]
        return [
            [leaf(part) for part in component]
            if isinstance(component, hl7.Component)
            else [leaf(component)]
            for component in repetition
        ]

    return [components(repetition) for repetition in field]


def segment_tree(segment, message):
    name = str(segment[0])
    is_header = name in ("MSH", "BHS", "FHS")
    fields = [
        [[[str(field)]]] if is_header and n <= 2 else field_tree(field, message)
        for n, field in enumerate(segment)
        if n > 0
    ]
    return {"name": name, "fields": fields}


def message_tree(message):
    return [segment_tree(segment, message) for segment in message]


def envelope(part):
    """Header and trailer of a batch or a file."""
    segments = {"header": part.header, "trailer": part.trailer}
    # Any message has the same escapes, and a segment alone has none of its own methods for them.
    message = part.create_message([])
    return {name: segment and segment_tree(segment, message) for name, segment in segments.items()}


def batch_tree(batch):
    return {**envelope(batch), "messages": [message_tree(message) for message in batch]}


def read(text):
    parsed = hl7.parse_hl7(text)
    if isinstance(parsed, hl7.Message):
        return {"kind": "message", "segments": message_tree(parsed)}
    if isinstance(parsed, hl7.Batch):
        return {"kind": "batch", **batch_tree(parsed)}
    return {"kind": "file", **envelope(parsed), "batches": [batch_tree(batch) for batch in parsed]}


def close_with(part, control_id, count):
    """Gives a batch or a file its header and trailer."""
    part.header = part.create_header()
    for position, value in ((3, "LIMS"), (4, "NORTH"), (5, "CRYO"), (6, "STORE"), (11, control_id)):
        part.header.assign_field(value, position)
    part.trailer = part.create_trailer()
    if count is not None:
        part.trailer.assign_field(str(count), 1)
    return part


def compose(request):
    """The text of a batch, or of a file of batches."""
    batches = []
    for given in request["batches"]:
        batch = hl7.Batch(sequence=[hl7.parse(text) for text in given["messages"]])
        count = len(batch) if request.get("isCounted", True) else None
        batches.append(close_with(batch, given["controlId"], count))
    if "fileControlId" not in request:
        return str(batches[0])
    count = len(batches) if request.get("isCounted", True) else None
    return str(close_with(hl7.File(sequence=batches), request["fileControlId"], count))


class Server:
    """Takes messages, and answers the nth one (repeats included) as the nth step of its plan says, the rest with AA."""

    def __init__(self, plan):
        self.port = None
        self.plan = plan
        self.log = []
        self.connections = 0
        self.closed = []
        self.held = []

    async def listen(self):
        server = await start_hl7_server(
            self.serve, "127.0.0.1", 0, limit=LIMIT, encoding="utf-8"
        )
        self.port = server.sockets[0].getsockname()[1]

    async def serve(self, reader, writer):
        self.connections += 1
        connection = self.connections
        try:
            while True:
                message = await reader.readmessage()
                step = self.plan[len(self.log)] if len(self.log) < len(self.plan) else {}
                await self.answer(message, step, writer, connection)
                if step.get("thenClose"):
                    writer.close()
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        self.closed.append(connection)

    async def answer(self, message, step, writer, connection):
        now = [self.acknowledge(message, code, step) for code in step.get("codes", ["AA"])]
        later = [self.acknowledge(message, code, step) for code in step.get("heldCodes", [])]
        self.held.append((writer, later))
        self.log.append({"connection": connection, "text": str(message), "segments": message_tree(message)})
        for ack in now:
            writer.writemessage(ack)
        await writer.drain()

    @staticmethod
    def acknowledge(message, code, step):
        ack = message.create_ack(code)
        if "condition" in step:
            err = ack.create_segment([ack.create_field(["ERR"])])
            err.assign_field(step["condition"], 3)
            err.assign_field("E", 4)
            ack.append(err)
        return ack

    def release(self, is_reversed):
        """Sends the answers that were held back, or tries to where the connection is gone."""
        held = reversed(self.held) if is_reversed else self.held
        for writer, acks in held:
            for ack in acks:
                writer.writemessage(ack)
        self.held = []


async def exchange(request):
    """Sends one text in a frame, and gives so many frames that come back."""
    reader, writer = await open_hl7_connection(
        "127.0.0.1", request["port"], limit=LIMIT, encoding="utf-8"
    )
    try:
        writer.writeblock(request["text"].encode("utf-8"))
        return [(await reader.readblock()).decode("utf-8") for _ in range(request["answers"])]
    finally:
        writer.close()


async def perform(request, servers):
    op = request["op"]
    if op == "read":
        return read(request["text"])
    if op == "compose":
        return compose(request)
    if op == "exchange":
        return await exchange(request)
    if op == "listen":
        server = Server(request["plan"])
        await server.listen()
        servers[server.port] = server
        return server.port
    if op == "log":
        server = servers[request["port"]]
        return {"heard": server.log, "closed": server.closed}
    if op == "release":
        return servers[request["port"]].release(request["isReversed"])
    raise ValueError("no such request: " + op)


async def answer(request, servers):
    try:
        tell({"id": request["id"], "result": await perform(request, servers)})
    except Exception as error:
        tell({"id": request["id"], "error": repr(error)})


async def main():
    requests = asyncio.StreamReader(limit=LIMIT)
    protocol = asyncio.StreamReaderProtocol(requests)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    servers = {}
    running = set()
    while line := await requests.readline():
        task = asyncio.create_task(answer(json.loads(line), servers))
        running.add(task)
        task.add_done_callback(running.discard)


asyncio.run(main())
