"""Clients of `xtrain generate --serve`, well-behaved and not.

usage: serve.py PORT PID WANT CHAT
WANT: a line of JSON for each prompt, what the command says of it alone, greedy; CHAT: of a conversation
"""
import http.client
import json
import os
import signal
import socket
import sys
import threading
import time

port, pid, want = int(sys.argv[1]), int(sys.argv[2]), [json.loads(line) for line in open(sys.argv[3])]
failed = 0


def check(name, ok, *more):
    global failed
    if not ok:
        failed += 1
        print("not so:", name, *more)


def post(body, headers={}, path="/v1/completions"):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    c.request("POST", path, body if isinstance(body, (str, bytes)) else json.dumps(body), headers)
    r = c.getresponse()
    text = r.read().decode()
    c.close()
    return r.status, text


def ask(prompt, **more):
    status, text = post(dict(prompt=prompt, max_tokens=30, temperature=0, **more))
    return status, json.loads(text) if status == 200 and not more.get("stream") else text


def events(text):
    lines = [line[6:] for line in text.split("\n") if line.startswith("data: ")]
    assert lines[-1] == "[DONE]", lines[-1:]
    return [json.loads(line) for line in lines[:-1]]


def raw():
    s = socket.create_connection(("127.0.0.1", port), timeout=30)
    return s


# A hundred at a time, half of them as streams, each with the text that its prompt has alone.
answers = [None] * 100


def one(i):
    w = want[i % len(want)]
    if i % 2:
        status, text = ask(w["prompt"], stream=True)
        all_of = events(text) if status == 200 else []
        answers[i] = (status, "".join(e["choices"][0]["text"] for e in all_of),
                      all_of[-1]["choices"][0]["finish_reason"] if all_of else None)
    else:
        status, answer = ask(w["prompt"])
        choice = answer["choices"][0] if status == 200 else {"text": answer, "finish_reason": None}
        answers[i] = (status, choice["text"], choice["finish_reason"])


# Those that hold a connection and do nothing with it are there all the while.
idle = [raw() for _ in range(40)]
idle[0].sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localh")
idle[1].sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{\"pro")
idle[2].sendall(b"\x00\xff\x16\x03\x01 not HTTP\r\n\r\n")
body = json.dumps(dict(prompt="line", max_tokens=3000, stream=True)).encode()
for s in idle[3:5]:  # streams that nobody reads
    s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
threads = [threading.Thread(target=one, args=(i,), daemon=True) for i in range(100)]
for t in threads:
    t.start()
for t in threads:
    t.join()
for i, a in enumerate(answers):
    check(f"answer {i}", a == (200, want[i % len(want)]["text"], "length"), a, want[i % len(want)]["text"])

# What an answer has.
w = want[0]
status, answer = ask(w["prompt"], logprobs=1, echo=True)
choice = answer["choices"][0]
check("echo", choice["text"] == w["prompt"] + w["text"])
check("log-probabilities", len(choice["logprobs"]["token_logprobs"]) == 30 and len(choice["logprobs"]["tokens"]) == 30)
check("usage", answer["usage"]["completion_tokens"] == 30 and answer["usage"]["prompt_tokens"] == w["prompt_tokens"])
word = w["text"][6:9]
status, answer = ask(w["prompt"], stop=["#nowhere#", word])
check("a stop word", answer["choices"][0]["text"] == w["text"][:w["text"].index(word)], answer)
check("says so", answer["choices"][0]["finish_reason"] == "stop")
draws = {json.loads(post(dict(prompt="line", seed=5, temperature=1, max_tokens=20))[1])["choices"][0]["text"]
         for _ in range(3)}
check("the same seed, the same text", len(draws) == 1, draws)

# Conversations, by the template.
chat = json.loads(open(sys.argv[4]).read())
talk = [dict(role="system", content="Be brief."), dict(role="user", content="line 1")]


def speak(messages=talk, **more):
    return post(dict(messages=messages, temperature=0, **{**dict(max_completion_tokens=20), **more}),
                path="/v1/chat/completions")


status, text = speak()
answer = json.loads(text)
check("a conversation", status == 200 and answer["object"] == "chat.completion" and
      answer["choices"][0]["message"] == dict(role="assistant", content=chat["text"]), text, chat)
check("its tokens", answer["usage"]["prompt_tokens"] == chat["prompt_tokens"], answer["usage"], chat)
status, text = speak(stream=True)
parts = events(text)
check("as a stream", all(e["object"] == "chat.completion.chunk" for e in parts) and
      [e["choices"][0]["delta"].get("role") for e in parts] == ["assistant"] + [None] * (len(parts) - 1) and
      "".join(e["choices"][0]["delta"]["content"] for e in parts) == chat["text"], text)
for said, bad in [('"messages"', dict(messages=[])), ('"messages"', dict(messages="a")),
                  ('"messages"', dict(messages=[dict(role="user")])), ('"messages"', dict(messages=talk + talk)),
                  ('"messages"', dict(messages=talk + [dict(role="assistant", content="x")])),
                  ('"max_tokens"', dict(max_completion_tokens=None, max_tokens=0)),
                  ('"logprobs"', dict(logprobs=True))]:
    status, text = speak(**bad)
    message = json.loads(text)["error"]["message"] if status == 400 else text
    check(f"{bad!r:.60} is refused", status == 400 and message.startswith(said), status, message[:100])

# What is refused, with its name.
for said, bad in [('"body"', "not JSON"), ('"body"', "[" * 100000), ('"body"', ""), ('"body"', b"\xff\x00"),
                  ('"body"', b'{"prompt": "line\\u0000 1"}'), ('"body"', b'{"prompt": "line\0 1"}'),
                  ('"prompt"', {}), ('"prompt"', dict(prompt="")), ('"prompt"', dict(prompt=["a", "b"])),
                  ('"prompt"', dict(prompt=7)), ('"max_tokens"', dict(prompt="a", max_tokens=0)),
                  ('"max_tokens"', dict(prompt="a", max_tokens=1.5)),
                  ('"temperature"', dict(prompt="a", temperature=-1)),
                  ('"top_p"', dict(prompt="a", top_p=2)), ('"stream"', dict(prompt="a", stream=1)),
                  ('"stop"', dict(prompt="a", stop=["a"] * 5)), ('"stop"', dict(prompt="a", stop=[""])),
                  ('"n"', dict(prompt="a", n=2)), ('"seed"', dict(prompt="a", seed=-1))]:
    status, text = post(bad)
    message = json.loads(text)["error"]["message"] if status == 400 else text
    check(f"{bad!r:.60} is refused", status == 400 and message.startswith(said), status, message[:100])
s = raw()  # the same without a length
s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n")
try:
    for _ in range(40):
        s.sendall(b"8000\r\n" + b"x" * 0x8000 + b"\r\n")
    s.sendall(b"0\r\n\r\n")
except OSError:
    pass
check("a large body in chunks", b" 413 " in s.recv(100))
s.close()
check("a backslash and no character 0", post(b'{"prompt": "\\\\u0000", "max_tokens": 1}')[0] == 200)
check("another host's name", post(dict(prompt="a"), {"Host": "example.com"})[0] == 403)
for origin, status in [("http://example.com", 403), ("http://127.0.0.1.example.com", 403), ("null", 403),
                       ("http://localhost:3000", 200), ("https://127.0.0.1", 200)]:  # as browsers say it
    got = post(dict(prompt="a", max_tokens=1), {"Origin": origin})[0]
    check(f"a page of {origin}", got == status, got)
for method, path, status in [("GET", "/v1/models", 200), ("GET", "/health", 200), ("GET", "/v1/completions", 405),
                             ("PUT", "/v1/completions", 405), ("GET", "/../etc/passwd", 404), ("POST", "/v1/x", 404)]:
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    c.request(method, path)
    r = c.getresponse()
    r.read()
    check(f"{method} {path}", r.status == status, r.status)

# Numbers at their edges.
for more in [dict(temperature=5e-324), dict(temperature=1e-30), dict(temperature=1000), dict(top_k=1 << 30),
             dict(top_p=5e-324), dict(top_p=0), dict(min_p=1), dict(repetition_penalty=1e-3),
             dict(repetition_penalty=1000), dict(seed=1 << 53)]:
    status, text = post({**dict(prompt="line", max_tokens=5, temperature=1), **more})
    check(f"{more} is answered", status == 200 and json.loads(text)["usage"]["completion_tokens"] == 5, status, text)

# Streams that are hardly read end when enough of them waits, before their connections count as idle (30 s, and then
# they are closed without an end): they leave their places, which are all that there are, to others.
def drip(sockets):
    for s in sockets:
        s.settimeout(0.1)
    while not answered:
        for s in sockets:
            try:
                s.recv(4096)
            except OSError:  # nothing new
                pass
        time.sleep(0.5)


long = json.dumps(dict(prompt="line", max_tokens=1 << 20, temperature=0, stream=True)).encode()
slow, answered = [raw() for _ in range(6)], []
for s in slow:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(long) + long)
    s.recv(9)
dripping = threading.Thread(target=drip, args=(slow,), daemon=True)
dripping.start()
try:
    check("others are answered behind streams that nobody reads", ask(w["prompt"])[0] == 200)
except OSError as e:
    check("others are answered behind streams that nobody reads", False, repr(e))
answered.append(True)
dripping.join()
for s in slow:
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
ends, until = [b""] * 6, time.time() + 60
while time.time() < until and not any(e.endswith(b"\r\n0\r\n\r\n") for e in ends):
    for i, s in enumerate(slow):
        try:
            ends[i] = (ends[i] + s.recv(1 << 16))[-200:]
        except OSError:
            pass
check("for one is cut off, and does not say that it is done",
      {b"[DONE]" in e for e in ends if e.endswith(b"\r\n0\r\n\r\n")} == {False}, ends)
for s in slow:
    s.close()

# Who goes in the middle of a stream leaves the place to others: more of them than there are places.
for _ in range(12):
    s = raw()
    s.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    s.recv(64)
    s.close()
check("others are answered still", ask(w["prompt"])[1]["choices"][0]["text"] == w["text"])

# What is no request, or the beginning of one, is answered or cut off, and costs nothing that stays.
def memory():
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))  # KiB at most


def send(*parts, wait=True):
    s = raw()
    s.settimeout(10)
    got = b""
    try:
        for part in parts:
            s.sendall(part)
        got = s.recv(100) if wait else b""
    except OSError:
        pass
    s.close()
    return got


def request(text, more=b"", length=None):
    return (b"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\n" + more + b"Content-Length: %d\r\n\r\n" %
            (len(text) if length is None else length) + text)


small = json.dumps(dict(prompt="line", max_tokens=2)).encode()
whole = request(small)
for cut in range(0, len(whole), 5):
    send(whole[:cut], wait=False)
for name, parts, answers in [
        ("a line of 1 MiB", [b"GET /" + b"x" * (1 << 20) + b" HTTP/1.1\r\n\r\n"], b"4"),
        ("a header of 1 MiB", [request(small, b"X: " + b"y" * (1 << 20) + b"\r\n")], b"4"),
        ("20000 headers", [request(small, b"X: y\r\n" * 20000)], b"4"),
        ("a length below 0", [request(small, length=-1)], b"4"),
        ("a length beyond all", [request(small, length=1 << 70)], b"4"),
        ("two lengths", [request(small, b"Content-Length: 3\r\n")], b"24"),
        ("a chunk of no size", [whole[:whole.index(b"Content-L")], b"Transfer-Encoding: chunked\r\n\r\nzz\r\n"], b"4"),
        ("a chunk beyond all", [whole[:whole.index(b"Content-L")],
                                b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n"], b"4"),
        ("no host", [whole.replace(b"Host: localhost\r\n", b"")], b"4"),
        ("a large body", [request(b"x" * (1 << 20) + b"y")], b"4"),
        ("two requests at once", [whole + whole], b"2")]:
    got = send(*parts)
    check(name, not got or got[:9] == b"HTTP/1.1 " and got[9:10] in answers, got)

# Requests that wait keep their prompts and nothing else: a list of zeros is thirty times as large in memory.
before = memory()
heavy = b'{"prompt": "line", "max_tokens": 20, "of_no_use": [' + b"0," * 500000 + b"0]}"
held = [raw() for _ in range(30)]
for s in held:
    s.sendall(request(heavy))
for s in held:
    s.settimeout(60)
    check("an answer behind much", s.recv(20)[9:12] == b"200")
    s.close()
check("requests that wait are small", memory() - before < 300 << 10, memory() - before, "KiB more")

# A signal: who waits is told, and the server ends.
late = []


def wait():
    try:
        late.append(post(dict(prompt="line", max_tokens=1 << 20, temperature=1)))
    except OSError as e:
        late.append((0, repr(e)))


threads = [threading.Thread(target=wait, daemon=True) for _ in range(10)]
for t in threads:
    t.start()
time.sleep(0.5)
os.kill(pid, signal.SIGTERM)
for t in threads:
    t.join()
check("who waits is told that the server ends", all(a[0] == 503 for a in late), late[:2])
sys.exit(failed != 0)
