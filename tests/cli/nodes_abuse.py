"""Peers of `xtrain launch --nnodes` that mean no good: at node 0's place, and as a false node 0.

usage: nodes_abuse.py flood HOST PORT N SECONDS        N connections that say nothing, opened again when they are closed
       nodes_abuse.py strangers HOST PORT              what comes without the secret
       nodes_abuse.py members HOST PORT SECRET CWD VERSION  what comes from one that knows it: frames that are none
       nodes_abuse.py false PORT                       a node 0 that is none, until it is killed
What is not as it should be is printed; the exit code is 1 then.
"""
import errno
import hashlib
import hmac
import os
import random
import selectors
import socket
import struct
import sys
import time

GREETING = b"xtrain-nodes 1\n"
JOIN, REFUSED, WELCOME, ORDER, SAYS, ENDED, SIGNAL, ALIVE, OVER = range(9)
failed = 0


def check(name, ok, *more):
    global failed
    if not ok:
        failed += 1
        print("not so:", name, *more)


def mac(key, *pieces):
    return hmac.new(key, b"".join(pieces), hashlib.sha256).digest()


def read_all(s, n):
    out = b""
    while len(out) < n:
        more = s.recv(n - len(out))
        if not more:
            return out
        out += more
    return out


def connect(place):
    s = socket.create_connection(place, timeout=15)
    head = read_all(s, len(GREETING) + 32)
    assert head.startswith(GREETING), head
    return s, head[len(GREETING):]


def closed(s):
    """Whether the other end has let go of it within a moment."""
    s.settimeout(5)
    try:
        while s.recv(4096):
            pass
        return True
    except socket.timeout:
        return False
    except OSError:
        return True


class Member:
    """One that knows the secret."""

    def __init__(self, place, key):
        self.s, theirs = connect(place)
        mine = os.urandom(32)
        self.sent = mine + mac(key, b"xtrain client", theirs, mine)
        self.s.sendall(self.sent)
        answer = read_all(self.s, 33)
        assert answer == b"\1" + mac(key, b"xtrain server", theirs, mine), answer
        self.seal = mac(key, b"xtrain to node 0", theirs, mine)
        self.count = 0

    def frame(self, kind, number, body, n=None):
        head = struct.pack("<III", len(body) if n is None else n, kind, number)
        out = head + body + mac(self.seal, struct.pack("<Q", self.count), head, body)
        self.count += 1
        return out

    def answer(self):
        """The kind and the body of what comes next; None: nothing."""
        self.s.settimeout(5)
        try:
            head = read_all(self.s, 12)
            if len(head) < 12:
                return None
            n, kind, _ = struct.unpack("<III", head)
            body = read_all(self.s, n)
            read_all(self.s, 32)
            return kind, body.decode(errors="replace")
        except OSError:
            return None


def flood(place, n, seconds):
    events = selectors.DefaultSelector()

    def another():
        s = socket.socket()
        s.setblocking(False)
        try:
            s.connect(place)
        except BlockingIOError:
            pass
        except OSError:
            s.close()
            return
        events.register(s, selectors.EVENT_READ)

    until = time.time() + seconds
    while time.time() < until:
        while len(events.get_map()) < n:
            another()
        for key, _ in events.select(0.1):
            try:
                gone = not key.fileobj.recv(100)
            except OSError as e:
                gone = e.errno != errno.EAGAIN
            if gone:
                events.unregister(key.fileobj)
                key.fileobj.close()


def strangers(place):
    s, theirs = connect(place)
    wrong = hashlib.sha256(b"another secret of enough letters").digest()
    mine = os.urandom(32)
    s.sendall(mine + mac(wrong, b"xtrain client", theirs, mine))
    check("a wrong secret is told no", read_all(s, 33) == b"\0" and closed(s))
    for name, sent in [("noise", os.urandom(64)), ("zeros", bytes(64)), ("much", os.urandom(1 << 16)),
                       ("a request", b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + b" " * 64)]:
        s, _ = connect(place)
        try:
            s.sendall(sent)
        except OSError:
            pass
        check(name + " is let go", closed(s))
    for n in range(0, 64, 9):  # cut off in the middle
        s, _ = connect(place)
        s.sendall(bytes(n))
        s.close()
    for _ in range(50):  # gone at once
        s = socket.create_connection(place)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()


def members(place, secret, cwd):
    text = open(secret, "rb").read().rstrip()
    key = hashlib.sha256(text).digest()
    version = sys.argv[6].encode()

    def fields(rank=b"1", least=b"3", most=b"3", slots=b"1", host=b"h", where=cwd.encode(), command=b"true",
               of=version):
        return b"".join(f + b"\0" for f in (of, rank, least, most, slots, host, where, command))

    # A handshake that was listened to is worth nothing at another time.
    m = Member(place, key)
    recorded, joined = m.sent, m.frame(JOIN, 0, fields(rank=b"7"))
    m.s.close()
    s, _ = connect(place)
    s.sendall(recorded + joined)
    check("a recorded handshake is told no", read_all(s, 1) == b"\0" and closed(s))
    # A true one, and in it what was recorded in another, or frames that are none.
    for name, frames in [
            ("a frame of another connection", lambda m: joined),
            ("one twice", lambda m: m.frame(JOIN, 0, fields(rank=b"0")) * 2),
            ("a size of 4 GiB", lambda m: b"\xff" * 64),
            ("a size above the most", lambda m: m.frame(JOIN, 0, fields(), n=(1 << 20) + 1)),
            ("a size that is not its body's", lambda m: m.frame(JOIN, 0, fields(), n=7)),
            ("a kind that is none", lambda m: m.frame(77, 0, b"")),
            ("a kind of later", lambda m: m.frame(ENDED, 1, b"0")),
            ("an order to node 0", lambda m: m.frame(ORDER, 1, b"orted")),
            ("no fields", lambda m: m.frame(JOIN, 0, b"")),
            ("seven fields", lambda m: m.frame(JOIN, 0, b"a\0" * 7)),
            ("nine fields", lambda m: m.frame(JOIN, 0, b"a\0" * 9)),
            ("a field without its end", lambda m: m.frame(JOIN, 0, fields()[:-1])),
            ("a changed seal", lambda m: m.frame(JOIN, 0, fields())[:-1] + b"x")]:
        m = Member(place, key)
        try:
            m.s.sendall(frames(m))
        except OSError:
            pass
        check(name + " is let go", closed(m.s))
    m = Member(place, key)
    m.s.sendall(m.frame(JOIN, 0, fields())[:-5])
    m.s.close()  # cut off
    # What does not belong to the run is told why.
    for said, more in [("xtrain 9", dict(of=b"9")), ("--nnodes 4:4", dict(least=b"4", most=b"4")),
                       ("--node-rank is 0", dict(rank=b"0")), ("--node-rank is -1", dict(rank=b"-1")),
                       ("--node-rank is 3", dict(rank=b"3")),
                       ("--node-rank is 4294967297", dict(rank=b"4294967297")),
                       ("--node-rank is 99999999999999999999", dict(rank=b"9" * 20)),
                       ("--node-rank is 1x", dict(rank=b"1x")), ("--node-rank is ", dict(rank=b"")),
                       ("it has -1 ranks", dict(slots=b"-1")), ("it has 4097 ranks", dict(slots=b"4097")),
                       ("it has 4294967297 ranks", dict(slots=b"4294967297")),
                       ("it is to run", dict(command=b"x" * 100000)),
                       ("it was started in", dict(where=b"/\x1b[2J" * 1000))]:
        m = Member(place, key)
        m.s.sendall(m.frame(JOIN, 0, fields(**more)))
        kind, body = m.answer() or (None, "")
        check(f"{more!r:.60} is refused", kind == REFUSED and said in body, kind, body[:200])
        check(f"{more!r:.60} is let go", closed(m.s))
    # Of two with one rank the second waits for the first to go.
    first = Member(place, key)
    first.s.sendall(first.frame(JOIN, 0, fields(rank=b"1", host=b"the\x1b[31mfirst\n")))
    check("one comes in", (first.answer() or (None,))[0] == WELCOME)
    second = Member(place, key)
    second.s.sendall(second.frame(JOIN, 0, fields(rank=b"1")))
    kind, body = second.answer() or (None, "")
    check("the second of a rank is told", kind == REFUSED and "node 1 is the" in body, kind, body)
    # Who is in and sends what no node does, is answered nothing, or is out.
    draw = random.Random(1)
    for _ in range(200):
        kind = draw.choice([JOIN, REFUSED, WELCOME, ORDER, SAYS, ENDED, ALIVE, OVER, 9, 1 << 31])
        first.s.sendall(first.frame(kind, draw.getrandbits(32), draw.randbytes(draw.choice([0, 1, 100, 5000]))))
    for number in (0, 1 << 31, 64, 65, 4096):  # signals of no number
        first.s.sendall(first.frame(SIGNAL, number, b""))
    first.s.sendall(first.frame(SAYS, 1, b"x" * (1 << 20)))
    first.s.settimeout(0.5)
    try:
        check("it is still in", first.s.recv(1 << 16))
    except socket.timeout:
        pass
    first.s.close()
    time.sleep(0.5)
    third = Member(place, key)
    third.s.sendall(third.frame(JOIN, 0, fields(rank=b"1")))
    check("its place is free when it has gone", (third.answer() or (None,))[0] == WELCOME)
    third.s.close()


def false_leader(port):
    """One wrong answer after the other."""
    listener = socket.create_server(("127.0.0.1", port))
    nonce = os.urandom(32)
    answers = [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n" + b" " * 64, os.urandom(64), GREETING[:7],
               GREETING + nonce, GREETING + nonce + b"\1", GREETING + nonce + b"\1" + bytes(32)]
    for k in range(1 << 30):
        s, _ = listener.accept()
        try:
            s.sendall(answers[k % len(answers)])
            s.settimeout(0.3)
            s.recv(1000)
        except OSError:
            pass
        s.close()


what = sys.argv[1]
if what == "flood":
    flood((sys.argv[2], int(sys.argv[3])), int(sys.argv[4]), float(sys.argv[5]))
elif what == "strangers":
    strangers((sys.argv[2], int(sys.argv[3])))
elif what == "members":
    members((sys.argv[2], int(sys.argv[3])), sys.argv[4], sys.argv[5])
else:
    false_leader(int(sys.argv[2]))
sys.exit(failed != 0)
