"""Clients of `xtrain generate --serve` that mean no good, a thousand at a time, and others that must not notice.

usage: serve_abuse.py PORT PID SECONDS WANT
WANT: a line of JSON, what the command says of a prompt alone, greedy
Sends requests that are changed, cut off, fed drop by drop, left in the middle of their answers; at the end, with all of
that under way, a SIGTERM. What is not as it should be is printed; the exit code is 1 then.
"""
import json
import os
import random
import signal
import socket
import struct
import sys
import threading
import time

port, pid, seconds = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
want = json.loads(open(sys.argv[4]).readline())
failed = 0
ending = False


def check(name, ok, *more):
    global failed
    if not ok:
        failed += 1
        print("not so:", name, *more)


def descriptors():
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident():
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmRSS"))  # KiB


def connect(timeout=20):
    return socket.create_connection(("127.0.0.1", port), timeout=timeout)


def post(body, path=b"/v1/completions", more=b""):
    return (b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n%sContent-Length: %d\r\n\r\n" % (path, more, len(body))) + body


def values(draw, depth=0):
    kind = draw.randrange(12)
    if kind < 2 and depth < 6:
        return [values(draw, depth + 1) for _ in range(draw.randrange(5))]
    if kind < 4 and depth < 6:
        return {draw.choice(["role", "content", "prompt", "stop", "x"]): values(draw, depth + 1) for _ in range(3)}
    return draw.choice([None, True, False, 0, -1, 1, 2, 16, 0.5, 1e300, -1e-300, 2**31, 2**53, 2**64, "", "a", "line 1",
                        "\u0000", "\ud800", "\u202e\u001b[2J", "é" * 50, "\U0001f600", "<|im_end|>", "x" * 3000])


NAMES = ["prompt", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_k", "top_p", "min_p", "seed",
         "repetition_penalty", "stream", "echo", "logprobs", "stop", "n", "best_of"]


def request(draw):
    chat = draw.random() < 0.3
    body = dict(prompt=draw.choice(["line 1", "x", "line 22 of a text"]), max_tokens=draw.choice([1, 3, 30]))
    if chat:
        body["messages"] = [dict(role="user", content="line 1")]
    body["stream"] = draw.random() < 0.5
    for _ in range(draw.randrange(4)):
        body[draw.choice(NAMES)] = values(draw)
    if draw.random() < 0.02:
        body["prompt"] = draw.choice(["a", "a ", "\u00e9", "0"]) * draw.choice([1000, 100000])
    if isinstance(body.get("max_tokens"), (int, float)):
        body["max_tokens"] = min(body["max_tokens"], 40)
    text = json.dumps(body).encode()
    if draw.random() < 0.3:  # no JSON any more, or other JSON
        text = bytearray(text)
        for _ in range(draw.randrange(1, 4)):
            at = draw.randrange(len(text))
            if draw.random() < 0.5:
                text[at] = draw.randrange(256)
            else:
                del text[at:at + draw.randrange(1, 9)]
            if not text:
                text = bytearray(b"{")
        text = bytes(text)
    whole = post(text, b"/v1/chat/completions" if chat else b"/v1/completions",
                 draw.choice([b"", b"", b"Expect: 100-continue\r\n", b"Connection: close\r\n",
                              b"X: " + b"y" * draw.choice([10, 5000]) + b"\r\n"]))
    if draw.random() < 0.15:
        whole = bytearray(whole)
        for _ in range(3):
            whole[draw.randrange(min(120, len(whole)))] = draw.randrange(256)
        whole = bytes(whole)
    return whole


answers = {}


def abuse(number):
    """One client after the other, each in a manner of its own."""
    draw = random.Random(number)
    while not ending:
        try:
            s = connect()
        except OSError:
            time.sleep(0.05)
            continue
        try:
            whole = request(draw)
            manner = draw.randrange(6)
            s.settimeout(20)
            if manner == 0:  # cut off
                s.sendall(whole[:draw.randrange(len(whole))])
            elif manner == 1:  # drop by drop
                for at in range(0, min(len(whole), 400), 40):
                    s.sendall(whole[at:at + 40])
                    time.sleep(draw.random() / 20)
            else:
                s.sendall(whole)
            if manner == 2:  # gone in the middle of an answer, with a reset
                s.recv(1 + draw.randrange(50))
                s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            elif manner >= 4:
                s.settimeout(2)
                got = s.recv(100)
                code = got[9:12].decode(errors="replace") if got.startswith(b"HTTP/1.1 ") else "none"
                answers[code] = answers.get(code, 0) + 1
        except OSError:
            pass
        s.close()


held = []


def hold(n):
    """Connections that say nothing, up to where no more are taken."""
    while len(held) < n and not ending:
        try:
            s = connect(2)
            s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: local" if len(held) % 2 else b"")
            held.append(s)
        except OSError:
            time.sleep(0.1)


def ask():
    s = connect(60)  # and no wait is longer
    s.sendall(post(json.dumps(dict(prompt=want["prompt"], max_tokens=30, temperature=0)).encode(),
                   more=b"Connection: close\r\n"))
    got = b""
    while more := s.recv(65536):
        got += more
    s.close()
    return json.loads(got[got.index(b"\r\n\r\n") + 4:])["choices"][0]["text"]


check("before", ask() == want["text"])
start, before = descriptors(), resident()
threads = [threading.Thread(target=abuse, args=(k,), daemon=True) for k in range(24)]
for t in threads:
    t.start()
until = time.time() + seconds
slowest = 0
while time.time() < until:  # an honest client, all the while
    began = time.time()
    try:
        text = ask()
        check("an honest client's answer", text == want["text"], text)
    except (OSError, ValueError, KeyError) as e:
        check("an honest client is answered", False, repr(e))
    slowest = max(slowest, time.time() - began)
    time.sleep(0.2)
check("refusals and answers came", answers.get("200", 0) > 5 and answers.get("400", 0) > 5, answers)
check("and nothing else", set(answers) <= {"200", "400", "403", "404", "405", "413", "417", "431", "494", "500", "501",
                                           "503", "505", "none", "100"}, answers)
ending = True
for t in threads:
    t.join(30)
for _ in range(400):  # those that were cut off are let go after 30 s at the latest
    if descriptors() <= start:
        break
    time.sleep(0.1)
check("no connection stays", descriptors() <= start, descriptors(), start)
check("nor memory", resident() - before < 200 << 10, resident() - before, "KiB more")
check("after", ask() == want["text"])

# A thousand that hold on, and a signal while streams go out.
ending = False
holder = threading.Thread(target=hold, args=(1000,), daemon=True)
holder.start()
time.sleep(2)
streams = []
for _ in range(30):
    try:
        s = connect(2)
        s.sendall(post(json.dumps(dict(prompt="line", max_tokens=1 << 20, stream=True)).encode()))
        streams.append(s)
    except OSError:
        pass
time.sleep(1)
threads = [threading.Thread(target=abuse, args=(100 + k,), daemon=True) for k in range(8)]
for t in threads:
    t.start()
time.sleep(1)
began = time.time()
os.kill(pid, signal.SIGTERM)
while os.path.exists(f"/proc/{pid}/fd") and time.time() - began < 20:
    try:
        with open(f"/proc/{pid}/stat") as f:
            if f.read().rsplit(")", 1)[1].split()[0] == "Z":
                break
    except OSError:
        break
    time.sleep(0.05)
check("a signal ends it in less than 10 s", time.time() - began < 10, time.time() - began)
ending = True
print("answers:", dict(sorted(answers.items())), f"the slowest honest one {slowest:.1f} s,", len(held), "held")
sys.exit(failed != 0)
