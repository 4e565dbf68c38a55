# SPDX-License-Identifier: MIT
"""babeltrace2.py BIN_DIR SCRATCH_DIR [ROUNDS] - time and memory of the babeltrace2 plugin beside sink.utils.dummy.

Traces are packed by tests/babeltrace2/ctf.py, the same bytes each time, 1 and 4 million events; they stay in the scratch
folder (1.4 GB) for the next run. Both sinks take turns, and the ratio is the median of the rounds, of user time.
Memory must not follow the trace's length. Exit 1: a limit is exceeded.
"""
import os
import random
import shutil
import statistics
import struct
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "babeltrace2"))
from ctf import Trace  # noqa: E402

MILLION = 1000000
FAST = "lttng_ust_cyg_profile_fast:func_"
PACKET = 1 << 20


def program():
    """The calls of a program, 196 stacks: each function calls some others, as often as its loops say."""
    draw = random.Random(5)
    callees = [[draw.randrange(i + 1, 100) for _ in range(draw.randrange(5))] * draw.randrange(1, 3) for i in range(99)] + [[]]
    todo, events = [(0, 0)], []
    while todo and len(events) < 20000:
        function, at = todo.pop()
        if at == 0:
            events.append(0x401000 + 64 * function)
        if at < len(callees[function]) and len(todo) < 12:
            todo.append((function, at + 1))
            todo.append((callees[function][at], 0))
        else:
            events.append(None)
    return events + [None] * len(todo)


def threads_of_program(nr):
    """(thread, address or None for an exit): four threads that run for a while each."""
    events = program()
    at = [0] * 4
    for i in range(nr):
        thread = i // 97 % 4
        yield thread, events[at[thread] % len(events)]
        at[thread] += 1


def threads_at_random(nr):
    draw, depth = random.Random(7), [0] * 4
    for _ in range(nr):
        thread = draw.randrange(4)
        if depth[thread] and (depth[thread] > 2 or draw.random() < 0.5):
            depth[thread] -= 1
            yield thread, None
        else:
            depth[thread] += 1
            yield thread, 0x401000 + 16 * draw.randrange(13)


def write_calls(path, events, contexts):
    common = [("vpid", "i32"), ("vtid", "i32")] + ([("procname", "procname"), ("ip", "u64")] if contexts else [])
    t = Trace(path, common=common, large_header=True)
    entry, leave = t.event(FAST + "entry", [("addr", "u64")])[0], t.event(FAST + "exit")[0]
    streams = [t.stream(0), t.stream(1)]
    ids = [struct.pack("<ii", 7, 10 + i) for i in range(4)]
    name = b"program".ljust(17, b"\0")
    now, opened = 1000, [[] for _ in ids]
    for thread, address in events:
        now += 150
        s = streams[thread & 1]
        if address:
            opened[thread].append(address)
        ip = opened[thread][-1]
        fields = ids[thread] + (name + struct.pack("<Q", ip) if contexts else b"")
        if address:
            s.add_packed(now, entry, fields + struct.pack("<Q", address))
        else:
            opened[thread].pop()
            s.add_packed(now, leave, fields)
        if len(s.body) > PACKET:
            s.cut()
    t.write()


def write_chains(path, nr, nr_stacks):
    t = Trace(path)
    event = t.event("cycles", [("perf_ip", "u64"), ("perf_tid", "i32"), ("perf_pid", "i32"), ("perf_id", "u64"),
                               ("perf_period", "u64"), ("perf_callchain", "u64[]")])[0]
    streams, draw, stacks = [t.stream(0), t.stream(1)], random.Random(3), []
    for _ in range(nr_stacks):
        depth = draw.randrange(11, 31)
        frames = [0x400000 + 32 * draw.randrange(3000) for _ in range(depth)] if not stacks or draw.random() < 0.1 else \
            [0x400000 + 32 * draw.randrange(3000) for _ in range(4)] + (stacks[draw.randrange(len(stacks))] * 8)[4:depth]
        stacks.append(frames)
    packed = [struct.pack("<QQI%dQ" % (len(x) + 1), 1, 1000, len(x) + 1, 0xFFFFFFFFFFFFFE00, *x) for x in stacks]
    head, now = [struct.pack("<Qii", 0, 10 + i, 7) for i in range(4)], 1000
    for _ in range(nr):
        now += 1000
        s = streams[draw.randrange(2)]
        s.add_packed(now, event, head[draw.randrange(4)] + packed[draw.randrange(nr_stacks)])
        if len(s.body) > PACKET:
            s.cut()
    t.write()


TRACES = {
    "calls": lambda path, nr: write_calls(path, threads_of_program(nr), False),
    "calls-contexts": lambda path, nr: write_calls(path, threads_of_program(nr), True),
    "calls-random": lambda path, nr: write_calls(path, threads_at_random(nr), False),
    "chains": lambda path, nr: write_chains(path, nr, 400),
    "chains-5000": lambda path, nr: write_chains(path, nr, 5000),
}
ROWS = [
    ("function tracing of a program", "calls", 1, 1.15),
    ("the same with procname and ip", "calls-contexts", 1, 1.15),
    ("threads and calls at random", "calls-random", 1, 1.15),
    ("20 frames, 400 stacks", "chains", 1, 1.3),
    ("20 frames, 5000 stacks", "chains-5000", 1, 1.3),
]


def make(folder, kind, millions):
    path = os.path.join(folder, "%s-%d" % (kind, millions))
    if not os.path.exists(os.path.join(path, "metadata")):
        print("making " + path, flush=True)
        shutil.rmtree(path, ignore_errors=True)
        TRACES[kind](path, millions * MILLION)
    return path


def run(*args):
    """Return: user seconds, and peak resident memory in MiB."""
    pid = os.fork()
    if not pid:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        os.execvp(args[0], args)
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit("%s: status %d" % (" ".join(args), status))
    return usage.ru_utime, usage.ru_maxrss / 1024


def main(plugins, folder, rounds):
    def dummy(path):
        return run("babeltrace2", path, "--component=sink.utils.dummy")

    def flame(path):
        return run("babeltrace2", "--plugin-path=" + plugins, path, "--component=sink.flame.svg",
                   '--params=output="%s"' % os.path.join(folder, "flame.svg"))

    over = False
    print("%-32s %8s %8s %7s %6s" % ("million events", "dummy ms", "flame ms", "ratio", "limit"))
    for label, kind, millions, limit in ROWS:
        path = make(folder, kind, millions)
        times = [(dummy(path)[0], flame(path)[0]) for _ in range(rounds + 1)][1:]
        ratio = statistics.median(f / d for d, f in times)
        over |= ratio > limit
        print("%-32s %8.0f %8.0f %7.3f %6.2f  %s" % (label, 1000 * statistics.median(d for d, _ in times),
                                                    1000 * statistics.median(f for _, f in times), ratio, limit,
                                                    "OVER" if ratio > limit else "ok"), flush=True)
    for kind in ("calls", "chains"):
        peaks = [flame(make(folder, kind, n))[1] for n in (1, 4)]
        bad = peaks[1] > 1.1 * peaks[0] + 1
        over |= bad
        print("peak of %s, 1 and 4 million events: %.1f and %.1f MiB (dummy %.1f and %.1f)  %s" %
              (kind, *peaks, *(dummy(make(folder, kind, n))[1] for n in (1, 4)), "OVER" if bad else "ok"), flush=True)
    return over


if len(sys.argv) < 3:
    sys.exit("usage: tests/bench/babeltrace2.py BIN_DIR SCRATCH_DIR [ROUNDS]")
scratch = os.path.join(sys.argv[2], "fgbench-babeltrace2")
os.makedirs(scratch, exist_ok=True)
sys.exit(main(os.path.join(os.path.abspath(sys.argv[1]), "babeltrace2"), scratch, int((sys.argv + ["9"])[3])))
