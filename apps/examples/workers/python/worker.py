"""An Uhrwerk worker in one file of Python 3.8 or newer, with nothing but the standard library.

Copy it, put your own handlers where those of the kit are, and start it:

    UHRWERK_URL=ws://127.0.0.1:8080/v1/worker UHRWERK_TOKEN=... python3 worker.py

It keeps the ten rules of core/protocol/README.md, which are named where they are kept. Handlers run in threads, one
for each slot; all else happens in the main thread, so there is nothing to lock.
"""
import base64, collections, hashlib, json, os, platform, queue, random, secrets, select, signal, socket, ssl, struct
import sys, threading, time
from urllib.parse import urlsplit

HANDLERS = {}


def job(name):
    """Registers a handler: `handler(input, attempt)` answers the output. Both are plain JSON values."""
    return lambda handler: HANDLERS.setdefault(name, handler)


class Failure(Exception):
    """A failure with a say in what comes next. Any other exception is one that may be tried again."""
    def __init__(self, message, retryable=True, retry_after_millis=None):
        super().__init__(message)
        self.retryable, self.retry_after_millis = retryable, retry_after_millis


class Stopped(Exception):
    """The attempt is to stop: its time is up, it was cancelled, or it is another worker's now."""


class Attempt:
    """One attempt of a run, as its handler sees it. `run` is the idempotency key of what the handler does."""
    def __init__(self, assign):
        self.assign = assign
        self.run, self.attempt, self.token = assign["run"], assign["attempt"], assign["token"]
        self.id = (self.run, self.token)
        self.key = {"run": self.run, "attempt": self.attempt, "token": self.token}
        self.state, self.stopped, self.reason = "waiting", threading.Event(), None
        self.ended, self.again_at, self.again_wait, self.stop_at = None, 0, 0, float("inf")
        self.lines, self.dropped, self.dropped_said, self.latest = collections.deque(), 0, 0, None

    def sleep(self, seconds):
        """Waits; raises Stopped as soon as the attempt is to stop. Handlers that do other things ask `stopped`."""
        if self.stopped.wait(seconds):
            raise Stopped(f"The attempt was stopped: {self.reason}")

    def log(self, text, level="info"):
        """Writes a line. Beyond 1,000 that were not sent yet, lines are counted and thrown away."""
        if len(self.lines) < 1000:
            self.lines.append({"at": epoch(), "level": level, "text": str(text)[:2048]})
        else:
            self.dropped += 1

    def progress(self, percent, note=""):
        """How far it is; only the latest is sent."""
        self.latest = {"percent": percent, "note": note[:2048]}


# ------------------------------------------------------------------ your jobs: these are the kit's

@job("kit.echo")
def echo(input, attempt):
    return input

@job("kit.fail")
def fail(input, attempt):
    raise Failure(input["message"], retryable=input["retryable"])

@job("kit.sleep")
def sleep(input, attempt):
    attempt.sleep(input["millis"] / 1000)

@job("kit.deaf")
def deaf(input, attempt):
    time.sleep(input["millis"] / 1000)

@job("kit.log")
def log(input, attempt):
    for number in range((input or {}).get("lines", 3)):
        attempt.log(f"line {number + 1}")
    attempt.progress(50, "half")

@job("kit.repeat")
def repeat(input, attempt):
    return input["text"] * input["times"]


# ------------------------------------------------------------------ the protocol

NEVER, LATER, SOON = {1000, 4401, 4403, 4406, 4409}, {1003, 1007, 1008, 1009, 1013}, {4408, 4410, 4500}
WORKERS_ONLY = {"hello", "progress", "log", "result", "failure", "bye"}
WHOLE, TEXT, NONE = int, str, type(None)
SERVERS = {  # What each message of the server must have.
    "welcome": {"session": TEXT, "heartbeatMillis": WHOLE, "suspectMillis": WHOLE, "leaseMillis": WHOLE,
                "graceMillis": WHOLE, "frameBytesMax": WHOLE, "payloadBytesMax": WHOLE, "inHand": list},
    "assign": {"run": TEXT, "attempt": WHOLE, "token": WHOLE, "job": TEXT, "input": (TEXT, NONE),
               "timeoutMillis": (WHOLE, NONE)},
    "cancel": {"run": TEXT, "attempt": WHOLE, "token": WHOLE, "reason": TEXT}, "error": {"code": TEXT, "message": TEXT},
    "ack": {"acks": list}, "heartbeat": {"at": WHOLE}, "drain": {"graceMillis": WHOLE}}
TICK = 0.05


class Worker:
    def __init__(self, url, token, name, slots=4, prefetch=0, drain_millis=30_000):
        self.url, self.token, self.name = url, token, name
        self.slots, self.prefetch, self.drain_millis = slots, prefetch, drain_millis
        self.incarnation = secrets.token_hex(16)
        self.phase, self.socket = "off", None   # off, connecting, greeting, open
        self.connection, self.tries, self.connect_at, self.ids = 0, 0, 0, 0
        self.welcome = None
        self.hand = {}                          # Attempts by run and token, until their end is acknowledged (rule 5)
        self.strays = set()                     # handlers that run for nobody, and still take a slot
        self.begun = collections.OrderedDict()  # the newest token that was begun, by run (rule 3)
        self.let_go = False                     # its runs may be another's by now
        self.drain_end, self.leaving, self.said_bye = float("inf"), False, False
        self.opened_at = self.heard_at = self.cut_at = self.proven_at = self.beat_at = self.log_at = 0
        self.cut_millis, self.beats, self.exit_code = 0, {}, None
        self.events, (self.bell, self.ear) = queue.Queue(), socket.socketpair()

    def post(self, *event):
        """Tells the main thread something."""
        self.events.put(event)
        self.bell.send(b"!")

    def serve(self):
        """Works until it is told to stop by a signal, or by a server that does not want it; answers the exit code."""
        for each in (signal.SIGTERM, signal.SIGINT):
            signal.signal(each, lambda *_: self.post("leave"))
        while self.exit_code is None:
            self.tick(time.monotonic())
            sources = [self.ear] + ([self.socket.socket] if self.socket else [])
            if self.ear in select.select(sources, [], [], TICK)[0]:
                self.ear.recv(4096)
            while not self.events.empty():
                kind, *rest = self.events.get()
                getattr(self, "on_" + kind)(*rest)
            current = self.socket
            for frame in current.receive() if current else []:
                if self.socket is current:
                    self.on_frame(frame)
            if current and self.socket is current and current.code is not None:
                self.on_closed(current.code)
            self.begin_next()
            self.say_bye()
        return self.exit_code

    def send(self, type, **fields):
        """Sends a message; answers its id, or None if it is larger than a frame may be."""
        self.ids += 1
        frame = encode(dict(type=type, id=f"w{self.ids}", **fields)).encode()
        if len(frame) > (self.welcome["frameBytesMax"] if self.welcome else 1_048_576):
            return None
        self.socket.send(1, frame)
        return f"w{self.ids}"

    def ack(self, key, result, **reason):
        self.send("ack", acks=[{"run": key["run"], "attempt": key["attempt"], "token": key["token"],
                                "result": result, **reason}])

    # What other threads tell.

    def on_opened(self, connection, websocket):
        if connection != self.connection or self.phase != "connecting":
            return websocket and websocket.cut()
        if websocket is None:
            return self.on_closed(1006)
        self.socket, self.phase, self.opened_at = websocket, "greeting", time.monotonic()
        self.send("hello", worker=self.name, incarnation=self.incarnation, connection=connection,
                  session=self.welcome and self.welcome["session"], runtime=f"python {platform.python_version()}",
                  version="1.0.0", jobs=sorted(HANDLERS), slots=self.slots, prefetch=self.prefetch,
                  capabilities=["resume"], inHand=[dict(each.key, state=each.state) for each in self.hand.values()])

    def on_ended(self, attempt, type, fields):
        self.strays.discard(attempt.id)
        if attempt.state == "running" and attempt.id in self.hand:
            self.finish(attempt, type, **fields)

    def on_leave(self):
        if not self.leaving:
            self.leaving = True
            self.start_drain(self.drain_millis)
            if self.phase == "open":
                self.send("drain", graceMillis=self.drain_millis, reason="SIGTERM")

    def on_closed(self, code):
        now = time.monotonic()
        if self.socket:
            self.socket.cut()
        if self.phase == "open":
            grace = self.welcome["graceMillis"]
            self.cut_at, self.cut_millis = now, self.welcome.get("restartMillis", grace) if code == 1012 else grace
            self.tries = 0 if code == 1012 or now - self.opened_at >= 30 else self.tries
        self.socket, self.phase, self.beats = None, "off", {}
        if code in NEVER:
            print(f"The server closed with {code}: core/protocol/README.md says why", file=sys.stderr)
            self.exit_code = 0 if code == 1000 else 1
        # A random part from the first try: a server that restarts would meet all its workers at once.
        later = code in LATER or (code >= 4000 and code not in SOON)
        self.connect_at = now + random.uniform(0, min(30, 0.5 * 2 ** min(self.tries, 16))) + (5 if later else 0)
        self.tries += 1

    # What the server says.

    def on_frame(self, frame):
        try:
            message = json.loads(frame)
        except (ValueError, RecursionError):
            return self.refuse("badJson", "it is no JSON")
        if not isinstance(message, dict):
            return self.refuse("noObject", "it is no JSON object")
        type, of = message.get("type"), {"of": message["id"]} if isinstance(message.get("id"), str) else {}
        if not isinstance(type, str):
            return self.refuse("badField", "it is missing, or no text", field="type", **of)
        if type in WORKERS_ONLY:
            return self.refuse("wrongSide", f'a server does not send "{type}"', **of)
        if type not in SERVERS:
            return self.send("error", code="unknownType", message=f'"{type[:64]}" is not known', **of)
        for field, kind in SERVERS[type].items():
            if not isinstance(message.get(field, Ellipsis), kind):
                return self.refuse("badField", "it is missing, or of the wrong kind", field=f"{type}.{field}", **of)
        if self.phase == "open" or type == "welcome":  # Until the welcome nothing else counts (rule 1).
            self.heard_at = time.monotonic()
            getattr(self, "hear_" + type)(message)

    def hear_welcome(self, welcome):
        now = time.monotonic()
        self.phase, self.welcome, self.let_go, self.said_bye = "open", welcome, False, False
        # The server answered the hello, so it knew of us when that was sent.
        self.proven_at, self.beat_at = self.opened_at, now + welcome["heartbeatMillis"] / 1000
        for each in welcome["inHand"]:
            if each["verdict"] != "keep":  # Rule 6.
                self.drop(self.hand.get((each["run"], each["token"])))
        for attempt in self.hand.values():
            attempt.again_wait = 0
            if attempt.state == "ended":
                self.send_ended(attempt)
        if self.leaving:
            self.send("drain", graceMillis=max(0, int((self.drain_end - now) * 1000)), reason="SIGTERM")
        else:
            self.drain_end = float("inf")
        if self.strays:
            self.beat(now)

    def hear_assign(self, assign):
        run, token = assign["run"], assign["token"]
        known = self.hand.get((run, token))
        if known is not None:  # It comes again, as our answer did not arrive.
            again = {"waiting": "waiting", "running": "started"}.get(known.state)
            return self.ack(assign, again) if again else self.send_ended(known)
        others = [each for each in self.hand.values() if each.run == run]
        reason = ("over" if max([self.begun.get(run, 0)] + [each.token for each in others]) >= token  # Rule 3.
                  else "draining" if self.drain_end < float("inf")
                  else "noHandler" if assign["job"] not in HANDLERS
                  else "full" if len(self.hand) >= self.slots + self.prefetch else None)
        if reason:
            return self.ack(assign, "refused", reason=reason)
        for older in others:
            self.drop(older)
        attempt = self.hand[(run, token)] = Attempt(assign)
        self.begin_next()
        if attempt.state == "waiting":
            self.ack(assign, "waiting")

    def hear_ack(self, message):
        for each in message["acks"]:
            if each.get("result") in ("settled", "stale"):
                self.drop(self.hand.get((each.get("run"), each.get("token"))))

    def hear_heartbeat(self, message):  # Only an answer proves that the server still counts on us.
        self.proven_at = max(self.proven_at, self.beats.pop(message.get("of"), 0))

    def hear_cancel(self, cancel):  # Rule 7.
        attempt = self.hand.get((cancel["run"], cancel["token"]))
        if attempt is None:
            self.ack(cancel, "refused", reason="over")
        elif attempt.state == "waiting":
            self.finish(attempt, "result", outcome={"kind": "released"})
        else:
            self.stop(attempt, cancel["reason"])

    def hear_drain(self, message):
        if not self.leaving:
            self.start_drain(message["graceMillis"])

    def hear_error(self, message):  # Never answered.
        print(f"The server says {message['code']}: {message['message']}", file=sys.stderr)

    def refuse(self, code, reason, **fields):
        self.send("error", code=code, message=reason, **fields)
        self.close(4400, reason)

    # Attempts.

    def running(self):
        return len(self.strays) + sum(each.state == "running" for each in self.hand.values())

    def begin_next(self):
        if self.phase != "open" or self.drain_end < float("inf") or self.let_go:  # Rule 10.
            return
        busy = {run for run, _ in self.strays}  # An older attempt of the run that goes on, deaf.
        waiting = [each for each in self.hand.values() if each.state == "waiting" and each.run not in busy]
        for attempt in waiting[:max(0, self.slots - self.running())]:
            attempt.state, self.begun[attempt.run] = "running", attempt.token
            self.begun.move_to_end(attempt.run)
            if len(self.begun) > 4000:
                self.begun.popitem(last=False)
            if attempt.assign["timeoutMillis"] is not None:
                attempt.stop_at = time.monotonic() + attempt.assign["timeoutMillis"] / 1000
            self.ack(attempt.assign, "started")  # Before the handler is called (rule 2).
            threading.Thread(target=self.call, args=(attempt,), daemon=True).start()

    def call(self, attempt):
        """Calls the handler, in a thread of its own."""
        try:
            input = attempt.assign["input"]
            output = HANDLERS[attempt.assign["job"]](None if input is None else json.loads(input), attempt)
        except Exception as error:
            is_stop = isinstance(error, Stopped)
            kind = "error" if not is_stop else "timeout" if attempt.reason == "timeout" else "cancelled"
            return self.post("ended", attempt, "failure", failure(error, kind, getattr(error, "retryable", True)))
        try:
            text = encode(output)
            size, most = len(text.encode()), self.welcome["payloadBytesMax"]
            if size > most:
                raise ValueError(f"The output has {size} bytes, {most} are allowed: pass a reference to it")
            self.post("ended", attempt, "result", {"outcome": {"kind": "succeeded", "output": text}})
        except (TypeError, ValueError, RecursionError) as error:
            self.post("ended", attempt, "failure", failure(error, "payload", False))

    def stop(self, attempt, reason):
        if attempt.state == "running" and not attempt.stopped.is_set():
            attempt.reason = reason
            attempt.stopped.set()

    def finish(self, attempt, type, **fields):
        """It has ended: that is told until it is acknowledged (rule 4)."""
        self.flush(attempt)
        attempt.state, attempt.ended, attempt.again_wait = "ended", (type, fields), 0
        if self.phase == "open":
            self.send_ended(attempt)

    def send_ended(self, attempt):
        type, fields = attempt.ended
        if self.send(type, **attempt.key, **fields) is None:
            error = ValueError("The output does not fit into one frame: pass a reference to it")
            attempt.ended = "failure", failure(error, "payload", False)
            self.send("failure", **attempt.key, **attempt.ended[1])
        attempt.again_wait = min(60, attempt.again_wait * 2 or 5)
        attempt.again_at = time.monotonic() + attempt.again_wait

    def drop(self, attempt):
        """Its end is acknowledged, or it is another worker's: if its handler runs, it runs for nobody."""
        if attempt is not None:
            del self.hand[attempt.id]
            if attempt.state == "running":
                self.strays.add(attempt.id)
                self.stop(attempt, "leaseLost")

    def flush(self, attempt):
        """Sends what the handler wrote, a hundred lines at a time."""
        while attempt.lines and self.phase == "open":
            lines = [attempt.lines.popleft() for _ in range(min(100, len(attempt.lines)))]
            dropped, attempt.dropped_said = attempt.dropped - attempt.dropped_said, attempt.dropped
            self.send("log", **attempt.key, lines=lines, dropped=dropped)
        if attempt.latest and self.phase == "open":
            latest, attempt.latest = attempt.latest, None
            self.send("progress", **attempt.key, **latest)

    def start_drain(self, grace_millis):
        self.drain_end = time.monotonic() + grace_millis / 1000
        for attempt in list(self.hand.values()):
            if attempt.state == "waiting":
                self.finish(attempt, "result", outcome={"kind": "released"})

    def say_bye(self):
        if self.drain_end == float("inf") or self.hand or self.said_bye:
            return
        if self.phase == "open":
            self.said_bye = True
            self.send("bye", reason="the worker stops" if self.leaving else "the server drains")
        elif self.leaving:
            self.exit_code = 0

    # Time.

    def tick(self, now):
        if self.welcome and not self.let_go:  # Rule 9.
            end = self.proven_at + self.welcome["leaseMillis"] / 1000
            if now >= (end if self.phase == "open" else min(end, self.cut_at + self.cut_millis / 1000)):
                self.let_go = True
                for attempt in list(self.hand.values()):
                    self.drop(attempt) if attempt.state == "waiting" else self.stop(attempt, "leaseLost")
                if self.phase == "open":
                    self.close(4408, "no heartbeat was answered in time")
        for attempt in list(self.hand.values()):
            if now >= attempt.stop_at:
                self.stop(attempt, "timeout")
            if now >= self.log_at and attempt.state == "running":
                self.flush(attempt)
            if now >= self.drain_end and attempt.state == "running":
                self.stop(attempt, "drain")
                self.strays.add(attempt.id)  # It may be deaf; the run need not wait for it.
                self.finish(attempt, "result", outcome={"kind": "released"})
            if now >= attempt.again_at and attempt.state == "ended" and self.phase == "open":
                self.send_ended(attempt)
        if now >= self.log_at:
            self.log_at = now + max(0.25, self.slots / 25)
        if self.leaving and now >= self.drain_end + 5:
            self.exit_code = 0
        elif self.phase == "off" and now >= self.connect_at:
            self.connection, self.phase, self.opened_at = self.connection + 1, "connecting", now
            threading.Thread(target=self.open, args=(self.connection,), daemon=True).start()
        elif self.phase in ("connecting", "greeting") and now >= self.opened_at + 10:
            self.close(4408, "no welcome in time")
        elif self.phase == "open" and now >= self.heard_at + self.welcome["suspectMillis"] / 1000:  # Rule 8.
            self.close(4408, "no sign of life of the server")
        elif self.phase == "open" and now >= self.beat_at:
            self.beat(now)

    def beat(self, now):
        self.beat_at = now + self.welcome["heartbeatMillis"] / 1000
        slots = max(0, self.slots - len(self.strays))
        self.beats[self.send("heartbeat", at=epoch(), slots=slots, running=self.running())] = now
        self.beats = dict(list(self.beats.items())[-4:])

    def open(self, connection):
        """Connects, in a thread of its own, as that may take long."""
        websocket = None
        try:
            headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
            websocket = WebSocket(self.url, "uhrwerk.worker.v1", headers)
        except (OSError, ValueError) as error:
            print(f"Cannot connect to {self.url}: {error}", file=sys.stderr)
        self.post("opened", connection, websocket)

    def close(self, code, reason):
        leaving, self.socket = self.socket, None
        if leaving:
            leaving.send(8, struct.pack("!H", code) + reason.encode()[:123])
            threading.Thread(target=leaving.linger, daemon=True).start()
        self.on_closed(code)


class WebSocket:
    """A client of RFC 6455 over a socket that never blocks: text frames, fragments, ping, pong and close."""
    def __init__(self, url, subprotocol, headers):
        scheme, host, path = (parts := urlsplit(url)).scheme, parts.hostname, parts.path or "/"
        self.socket = socket.create_connection((host, parts.port or (443 if scheme == "wss" else 80)), timeout=10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if scheme == "wss":
            self.socket = ssl.create_default_context().wrap_socket(self.socket, server_hostname=host)
        self.buffer, self.parts, self.code = bytearray(), bytearray(), None
        key = base64.b64encode(os.urandom(16)).decode()
        headers = {"Host": parts.netloc, "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Key": key,
                   "Sec-WebSocket-Version": 13, "Sec-WebSocket-Protocol": subprotocol, **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        self.socket.sendall(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
        while b"\r\n\r\n" not in self.buffer:
            data = self.socket.recv(4096)
            if not data or len(self.buffer) > 65_536:
                raise ValueError("no answer to the upgrade")
            self.buffer += data
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        proof = base64.b64encode(hashlib.sha1(f"{key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11".encode()).digest())
        if b" 101 " not in head.split(b"\r\n")[0] or proof not in head:
            raise ValueError(f"no upgrade: {head.split(bytes([13]))[0].decode(errors='replace')}")
        self.socket.setblocking(False)

    def receive(self):
        """The text frames that are there. When it is over, `code` says how."""
        while self.code is None:
            frame = self.next_frame()
            if frame is None:
                try:
                    data = self.socket.recv(262_144)
                except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    return
                except OSError:
                    data = b""
                if not data:
                    self.code = 1006
                self.buffer += data
                continue
            final, opcode, payload = frame
            if opcode == 8:
                self.code = struct.unpack("!H", payload[:2])[0] if len(payload) > 1 else 1005
                self.send(8, payload[:2])
            elif opcode == 9:
                self.send(10, payload)
            elif opcode < 2:
                self.parts += payload
                if final:
                    text, self.parts = self.parts.decode(errors="replace"), bytearray()
                    yield text

    def next_frame(self):
        if len(self.buffer) < 2:
            return None
        size, at = self.buffer[1] & 127, 2
        if size > 125:
            at = 4 if size == 126 else 10
            size = int.from_bytes(self.buffer[2:at], "big") if len(self.buffer) >= at else float("inf")
        if size != float("inf") and len(self.parts) + size > 16_777_216:
            self.code = 1009
        if len(self.buffer) < at + size:
            return None
        frame = bool(self.buffer[0] & 128), self.buffer[0] & 15, bytes(self.buffer[at:at + size])
        del self.buffer[:at + size]
        return frame

    def send(self, opcode, payload):
        size, mask = len(payload), os.urandom(4)
        length = (struct.pack("!B", 128 | size) if size < 126 else struct.pack("!BH", 254, size) if size < 65_536
                  else struct.pack("!BQ", 255, size))
        # All bytes at once: as one large number that is as long.
        whole = int.from_bytes((mask * (size // 4 + 1))[:size], "big") ^ int.from_bytes(payload, "big")
        rest = memoryview(bytes([128 | opcode]) + length + mask + whole.to_bytes(size, "big"))
        try:
            while rest:
                try:
                    rest = rest[self.socket.send(rest):]
                except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                    if not select.select([], [self.socket], [], 10)[1]:
                        raise OSError("the server does not read")
        except OSError:
            self.code = self.code or 1006

    def linger(self):
        """Reads to the end: a socket that is closed with something unread takes its last words back."""
        try:
            self.socket.settimeout(2)
            while self.socket.recv(262_144):
                pass
        except OSError:
            pass
        self.socket.close()

    def cut(self):
        self.socket.close()


def epoch():
    return int(time.time() * 1000)


def encode(value):
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Half of a pair of surrogates cannot be written in UTF-8, but it can be escaped.
    return text if text.isascii() or not any("\ud800" <= each <= "\udfff" for each in text) else json.dumps(value)


def failure(error, kind, retryable):
    return {"error": {"name": type(error).__name__, "message": str(error)[:2048], "kind": kind},
            "retryable": retryable, "retryAfterMillis": getattr(error, "retry_after_millis", None)}


if __name__ == "__main__":
    env = os.environ
    worker = Worker(
        url=env.get("UHRWERK_URL", "ws://127.0.0.1:8080/v1/worker"), token=env.get("UHRWERK_TOKEN", ""),
        name=env.get("UHRWERK_WORKER", socket.gethostname()), slots=int(env.get("UHRWERK_SLOTS", "4")),
        prefetch=int(env.get("UHRWERK_PREFETCH", "0")), drain_millis=int(env.get("UHRWERK_DRAIN_MILLIS", "30000")))
    code = worker.serve()
    sys.stderr.flush()
    os._exit(code)  # Handlers that hear nothing must not hold it up.
