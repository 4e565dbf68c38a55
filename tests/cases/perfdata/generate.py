#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
#
# generate.py - writes the small perf.data files of this directory. What they hold is made up so that
# no machine has the files they name; only the layout is perf's.
import struct, subprocess

IP, TID, TIME, ADDR, READ, CHAIN, ID, CPU, PERIOD = 1, 2, 4, 8, 16, 32, 64, 128, 256
RAW, BRANCHES, REGS, STACK, IDENTIFIER = 1024, 2048, 4096, 8192, 65536
KERNEL, USER, DEFERRED = -128, -512, -640
M64 = (1 << 64) - 1


class File:
    def __init__(self, order="<", attrs=None):
        self.o, self.attrs, self.data, self.features = order, attrs or [Attr()], b"", {}

    def p(self, fmt, *args):
        return struct.pack(self.o + fmt, *args)

    def string(self, s, unit=8):
        b = s.encode() + b"\0"
        return b + b"\0" * (-len(b) % unit)

    def record(self, kind, misc, body):
        return self.p("IHH", kind, misc, 8 + len(body)) + body

    def tail(self, a, pid, tid, time):
        b = b""
        if a.sample & TID:
            b += self.p("II", pid, tid)
        if a.sample & TIME:
            b += self.p("Q", time)
        if a.sample & ID:
            b += self.p("Q", a.ids[0])
        if a.sample & CPU:
            b += self.p("II", 0, 0)
        if a.sample & IDENTIFIER:
            b += self.p("Q", a.ids[0])
        return b

    def add(self, kind, misc, body, pid=0, tid=0, time=0):
        self.data += self.record(kind, misc, body + self.tail(self.attrs[0], pid, tid, time))

    def comm(self, pid, tid, name, time=0, exec_=False):
        self.add(3, 0x2000 if exec_ else 0, self.p("II", pid, tid) + self.string(name), pid, tid, time)

    def mmap2(self, pid, start, size, offset, name, time=0, prot=5):
        self.add(10, 2, self.p("IIQQQ", pid, pid, start, size, offset) + self.p("IIQQII", 8, 1, 77, 0, prot, 2) +
                 self.string(name), pid, pid, time)

    def kernel(self, start=0xffffffff81000000, size=0x1000000, name="[kernel.kallsyms]_text", pgoff=None):
        self.add(1, 1, self.p("IIQQQ", M64 & 0xffffffff, 0, start, size, start if pgoff is None else pgoff) + self.string(name))

    def ksymbol(self, start, size, name, flags=0, time=0):
        self.add(17, 0, self.p("QIHH", start, size, 1, flags) + self.string(name), 0, 0, time)

    def fork(self, pid, ppid, tid, ptid, time):
        self.add(7, 0, self.p("IIIIQ", pid, ppid, tid, ptid, time), pid, tid, time)

    def exit(self, pid, tid, time):
        self.add(4, 0, self.p("IIIIQ", pid, pid, tid, tid, time), pid, tid, time)

    def sample(self, pid, tid, time, chain=None, period=1000, attr=0, misc=2, ip=None, raw=None, read=None, branches=None,
               id_=None):
        a, b = self.attrs[attr], b""
        ident = id_ or (a.ids + (0,))[0]
        if a.sample & IDENTIFIER:
            b += self.p("Q", ident)
        if a.sample & IP:
            b += self.p("Q", (ip if ip is not None else ([c for c in chain if c > 0] + [0])[0]) & M64)
        if a.sample & TID:
            b += self.p("II", pid, tid)
        if a.sample & TIME:
            b += self.p("Q", time)
        if a.sample & ID:
            b += self.p("Q", ident)
        if a.sample & CPU:
            b += self.p("II", 0, 0)
        if a.sample & PERIOD:
            b += self.p("Q", period)
        if a.sample & READ:
            b += read
        if a.sample & CHAIN:
            b += self.p("Q", len(chain)) + b"".join(self.p("Q", c & M64) for c in chain)
        if a.sample & RAW:
            b += self.p("I", len(raw)) + raw
        if a.sample & BRANCHES:
            b += self.p("Q", len(branches)) + b"".join(self.p("QQQ", f, t, 0) for f, t in branches)
        self.data += self.record(9, misc, b)

    def round(self):
        self.data += self.record(68, 0, b"")

    def attr_bytes(self, a):
        flags = a.flags.to_bytes(8, "little")
        if self.o == ">":
            flags = bytes(int(f"{b:08b}"[::-1], 2) for b in flags)
        b = self.p("IIQQQQ", a.type, 128, a.config, a.period, a.sample, a.read) + flags
        b += self.p("IIQQQQI", 0, 0, 0, 0, a.branch, 0, 0)
        return b + b"\0" * (128 - len(b))

    def event_desc(self):
        b = self.p("II", len(self.attrs), 128)
        for a in self.attrs:
            name = self.string(a.name, 64)
            b += self.attr_bytes(a) + self.p("II", len(a.ids), len(name)) + name + b"".join(self.p("Q", i) for i in a.ids)
        return b

    def file(self, finished=True):
        ids_at = 104
        ids = b"".join(self.p("Q", i) for a in self.attrs for i in a.ids)
        attrs_at = ids_at + len(ids)
        attrs = b""
        for a in self.attrs:
            attrs += self.attr_bytes(a) + self.p("QQ", ids_at, 8 * len(a.ids))
            ids_at += 8 * len(a.ids)
        data_at = attrs_at + len(attrs)
        features = dict(self.features)
        features.setdefault(12, self.event_desc())
        bits = sum(1 << f for f in features)
        words = b"".join(self.p("Q", bits >> (64 * i) & M64) for i in range(4))
        head = self.p("QQQQQQQQQ", 0x32454c4946524550, 104, 144, attrs_at, len(attrs), data_at,
                      len(self.data) if finished else 0, 0, 0) + words
        out = head + ids + attrs + self.data
        if finished:
            at, table, sections = len(out) + 16 * len(features), b"", b""
            for f in sorted(features):
                table += self.p("QQ", at + len(sections), len(features[f]))
                sections += features[f]
            out += table + sections
        return out

    def pipe(self):
        out = self.p("QQ", 0x32454c4946524550, 16)
        for a in self.attrs:
            out += self.record(64, 0, self.attr_bytes(a) + b"".join(self.p("Q", i) for i in a.ids))
        out += self.record(80, 0, self.p("Q", 12) + self.event_desc())
        if 1 in self.features:
            text = self.features[1] + b"\0" * (-len(self.features[1]) % 8)
            out += self.record(66, 0, self.p("II", len(text), 0)) + text
        return out + self.data


class Attr:
    def __init__(self, name="cpu-clock:ppp", type=1, config=0, sample=IP | TID | TIME | CHAIN | PERIOD | IDENTIFIER,
                 ids=(1,), read=0, branch=0, period=4000, flags=1 << 18 | 1 << 10):
        self.name, self.type, self.config, self.sample, self.ids = name, type, config, sample, ids
        self.read, self.branch, self.period, self.flags = read, branch, period, flags


def write(name, data):
    with open(name, "wb") as f:
        f.write(data)


P, L, K = 0x400000, 0x7f0000000000, 0xffffffff81000000


def processes(order="<"):
    """Two processes, a thread, the kernel, a BPF program; lost and throttled samples; late records in a round."""
    f = File(order)
    f.kernel()
    f.comm(100, 100, "shell")
    f.mmap2(100, P, 0x10000, 0x1000, "/nowhere/shell")
    f.mmap2(100, L, 0x10000, 0, "/nowhere/lib.so")
    f.round()
    f.sample(100, 100, 1000, [USER, P + 0x10, P + 0x20])
    f.fork(101, 100, 101, 100, 2000)
    f.sample(101, 101, 2500, [USER, L + 0x30, P + 0x20])
    # The other processor's buffer, whose records are older.
    f.comm(100, 100, "sh;ell 2", 1500)
    f.sample(100, 100, 1600, [KERNEL, K + 0x100, K + 0x200, USER, P + 0x10, P + 0x20], misc=1)
    f.sample(100, 100, 2400, [USER, P + 0x10])
    f.round()
    f.comm(101, 101, "tool", 3000, True)
    f.mmap2(101, P, 0x8000, 0, "/nowhere/tool", 3100)
    f.mmap2(101, 0x600000, 0x1000, 0, "//anon", 3100, 7)
    f.mmap2(101, 0x700000, 0x1000, 0, "[heap]", 3100, 3)
    f.sample(101, 101, 3200, [USER, P + 0x10, P + 0x9000, 0x600010, 0x700010, 0x10])
    f.ksymbol(0xffffffffc0100000, 0x100, "bpf_prog_1234_count", 0, 3300)
    f.sample(101, 101, 3400, [KERNEL, 0xffffffffc0100010, K + 0x300, USER, P + 0x10], misc=1)
    f.ksymbol(0xffffffffc0100000, 0x100, "bpf_prog_1234_count", 1, 3500)
    f.sample(101, 101, 3600, [KERNEL, 0xffffffffc0100010, K + 0x300, USER, P + 0x10], misc=1)
    f.fork(101, 101, 102, 101, 3700)
    f.comm(101, 102, "worker", 3800)
    f.add(2, 0, f.p("QQ", 1, 7), 101, 101, 3850)
    f.add(5, 0, f.p("QQQ", 3860, 1, 1), 101, 101, 3860)
    f.add(13, 0, f.p("Q", 5), 101, 101, 3870)
    f.sample(101, 102, 3900, [USER, P + 0x10, -4095, 0x1234])
    f.sample(101, 102, 3950, [])
    f.exit(101, 101, 4000)
    f.sample(101, 101, 4100, [USER, P + 0x10])
    f.sample(103, 103, 4200, [USER, P + 0x10])
    f.sample(0, 0, 4300, [KERNEL, K + 0x400], misc=1)
    f.round()
    return f


def packed(f, kind):
    """The records in several packed ones, none of which ends where a record does."""
    data = subprocess.run(["zstd", "-q", "-c"], input=f.data, stdout=subprocess.PIPE, check=True).stdout
    f.data, step = b"", 97
    for at in range(0, len(data), step):
        piece = data[at:at + step]
        if kind == 81:
            f.data += f.record(81, 0, piece)
        else:
            body = f.p("Q", len(piece)) + piece
            f.data += f.record(83, 0, body + b"\0" * (-len(body) % 8))
    return f


def wrapped():
    """A packed record of more bytes than its size can tell, as perf 6.16 writes it."""
    f = File()
    f.comm(100, 100, "shell")
    f.mmap2(100, P, 0x1000000, 0, "/nowhere/shell")
    x = 1
    for i in range(3000):
        x = (x * 6364136223846793005 + 1442695040888963407) & M64
        f.sample(100, 100, 1000 + i, [USER, P + (x >> 40) % 0x1000000, x >> 8, x << 7], period=x >> 50)
    data = subprocess.run(["zstd", "-q", "-c"], input=f.data, stdout=subprocess.PIPE, check=True).stdout
    body = f.p("Q", len(data)) + data
    body += b"\0" * (-len(body) % 8)
    assert len(body) + 8 > 65536, len(body)
    f.data = f.p("IHH", 83, 0, (len(body) + 8) & 0xffff) + body
    return f


FORMATS = {
    300: ("sched_switch", 40, """	field:char prev_comm[8];	offset:8;	size:8;	signed:0;
	field:pid_t prev_pid;	offset:16;	size:4;	signed:1;
	field:long prev_state;	offset:24;	size:8;	signed:1;
	field:pid_t next_pid;	offset:32;	size:4;	signed:1;
"""),
}


def tracing(f):
    def text(s):
        return f.p("Q", len(s)) + s.encode()
    formats = [f"""name: {name}
ID: {id_}
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

{fields}
print fmt: "prev_pid=%d", REC->prev_pid
""" for id_, (name, _, fields) in FORMATS.items()]
    return (b"\x17\x08\x44tracing0.6\0" + bytes([f.o == ">", 8]) + f.p("I", 4096) + b"header_page\0" + text("") +
            b"header_event\0" + text("") + f.p("I", 0) + f.p("I", 1) + b"sched\0" + f.p("I", len(formats)) +
            b"".join(text(t) for t in formats) + f.p("I", 0) + f.p("I", 0) + f.p("Q", 0))


def switches(order="<"):
    """Thread 10 sleeps for 5 us and is preempted for 2 us, thread 11 sleeps and does not come back."""
    f = File(order, [Attr("sched:sched_switch", 2, 300, IP | TID | TIME | CHAIN | PERIOD | RAW | IDENTIFIER, (5,), period=1, flags=1 << 18)])
    f.features[1] = tracing(f)
    f.kernel()
    f.comm(10, 10, "a")
    f.comm(10, 11, "b")
    f.mmap2(10, P, 0x1000, 0, "/nowhere/a")

    def switch(prev, state, next_, time, at):
        raw = f.p("HBBI", 300, 0, 0, prev) + b"prev\0\0\0\0" + f.p("iiqii", prev, 0, state, next_, 0) + b"\0\0\0\0"
        f.sample(10 if prev else 0, prev, time, [KERNEL, K + 0x10, USER, P + at], 1, misc=1, raw=raw)
    switch(10, 1, 11, 1000, 0x10)
    switch(11, 0x100, 10, 6000, 0x20)
    switch(10, 0, 11, 7000, 0x30)
    switch(11, 2, 10, 9000, 0x40)
    switch(10, 1, 0, 9500, 0x10)
    switch(0, 0, 10, 9600, 0x50)
    return f


def waits(order="<"):
    """Thread 10 waits for the others until it exits, and 11 until it maps a file, when no switch in is recorded; 12 is killed and 13 stays away."""
    f = File(order, [Attr("sched:sched_switch", 2, 300, IP | TID | TIME | CHAIN | PERIOD | RAW | IDENTIFIER, (5,), period=1, flags=1 << 18)])
    f.features[1] = tracing(f)
    f.kernel()
    for tid, name in ((10, "main"), (11, "maps"), (12, "dead"), (13, "away")):
        f.comm(10, tid, name)
    f.mmap2(10, P, 0x1000, 0, "/nowhere/a")

    def switch(prev, state, time, at):
        raw = f.p("HBBI", 300, 0, 0, prev) + b"prev\0\0\0\0" + f.p("iiqii", prev, 0, state, 0, 0) + b"\0\0\0\0"
        f.sample(10, prev, time, [KERNEL, K + 0x10, USER, P + at], 1, misc=1, raw=raw)
    switch(10, 1, 1000, 0x10)
    switch(11, 1, 2000, 0x20)
    switch(13, 1, 2500, 0x40)
    f.add(10, 2, f.p("IIQQQ", 10, 11, P + 0x8000, 0x1000, 0) + f.p("IIQQII", 8, 1, 78, 0, 5, 2) + f.string("/nowhere/b"), 10, 11, 6000)
    f.exit(10, 12, 6500)
    switch(12, 0x20, 7000, 0x30)
    f.exit(10, 10, 8000)
    switch(10, 0x10, 8100, 0x10)
    return f


def both():
    """Thread 10 runs for 30 samples, and waits for 0.8 ms in between: two events, not to be added."""
    chain = IP | TID | TIME | CHAIN | PERIOD | RAW | IDENTIFIER
    f = File(attrs=[Attr("cpu-clock", 1, 0, chain & ~RAW, (4,)),
                    Attr("sched:sched_switch", 2, 300, chain, (5,), period=1, flags=1 << 18)])
    f.features[1] = tracing(f)
    f.kernel()
    f.comm(10, 10, "a")
    f.mmap2(10, P, 0x1000, 0, "/nowhere/a")

    def switch(prev, state, next_, time, at):
        raw = f.p("HBBI", 300, 0, 0, prev) + b"prev\0\0\0\0" + f.p("iiqii", prev, 0, state, next_, 0) + b"\0\0\0\0"
        f.sample(10 if prev else 0, prev, time, [KERNEL, K + 0x10, USER, P + at], 1, attr=1, misc=1, raw=raw)
    for i in range(30):
        f.sample(10, 10, 1000000 * (i + 1), [USER, P + 0x10, P + 0x30], 1000000)
        if i == 14:
            switch(10, 1, 0, 15100000, 0x20)
            switch(0, 0, 10, 15900000, 0)
    return f


def groups():
    """A group whose leader's samples hold the counters of both."""
    a = Attr("cycles", 0, 0, IP | TID | TIME | READ | ID | CHAIN, (1,), read=12)
    b = Attr("instructions", 0, 1, a.sample, (2,), read=12)
    f = File(attrs=[a, b])
    f.comm(100, 100, "p")
    f.mmap2(100, P, 0x1000, 0, "/nowhere/p")
    for time, x, y in ((1000, 50, 100), (2000, 80, 100), (3000, 90, 300)):
        f.sample(100, 100, time, [USER, P + 0x10], read=f.p("QQQQQ", 2, x, 1, y, 2))
    return f


def events():
    """Two events with fields of their own, and one without a fixed name or period."""
    a = Attr("page-faults", 1, 2, IP | TID | TIME | CHAIN | IDENTIFIER, (1, 2), period=1, flags=1 << 18)
    b = Attr("cycles:u", 0, 0, IP | TID | TIME | CHAIN | PERIOD | IDENTIFIER, (3, 4))
    f = File(attrs=[a, b])
    f.comm(100, 100, "p")
    f.mmap2(100, P, 0x1000, 0, "/nowhere/p")
    f.sample(100, 100, 1000, [USER, P + 0x10], id_=2)
    f.sample(100, 100, 2000, [USER, P + 0x10], 77, 1)
    f.sample(100, 100, 3000, [USER, P + 0x10], 78, 1, id_=4)
    f.sample(100, 100, 4000, [USER, P + 0x10], 79, 1, id_=9)
    f.data += f.record(9, 2, b"short")
    return f


def branches():
    a = Attr(sample=IP | TID | TIME | CHAIN | PERIOD | BRANCHES, branch=1 << 11)
    f = File(attrs=[a])
    f.kernel()
    f.comm(100, 100, "p")
    f.mmap2(100, P, 0x1000, 0, "/nowhere/leaf")
    f.mmap2(100, P + 0x1000, 0x1000, 0, "/nowhere/mid")
    f.mmap2(100, P + 0x2000, 0x1000, 0, "/nowhere/main")
    f.sample(100, 100, 1000, [KERNEL, K + 0x10, USER, P + 0x10],
             branches=[(P + 0x1010, P + 0x10), (P + 0x2010, P + 0x1000)])
    return f


def plain():
    f = File(attrs=[Attr(sample=IP | TID | TIME | PERIOD, ids=())])
    f.kernel()
    f.comm(100, 100, "p")
    f.mmap2(100, P, 0x1000, 0, "/nowhere/p")
    f.sample(100, 100, 1000, ip=P + 0x10)
    f.sample(100, 100, 2000, ip=K + 0x10, misc=1)
    f.sample(100, 100, 3000, ip=0x10)
    return f


def deferred():
    f = File(attrs=[Attr(flags=1 << 18 | 1 << 10 | 1 << 38 | 1 << 39)])
    f.kernel()
    f.comm(100, 100, "p")
    f.mmap2(100, P, 0x1000, 0, "/nowhere/p")
    f.sample(100, 100, 1000, [KERNEL, K + 0x10, DEFERRED, 7], misc=1)
    f.sample(100, 100, 2000, [KERNEL, K + 0x10, K + 0x20, DEFERRED, 7], misc=1)
    f.add(22, 0, f.p("QQQQ", 7, 2, USER & M64, P + 0x10), 100, 100, 3000)
    f.sample(100, 100, 4000, [KERNEL, K + 0x10, DEFERRED, 8], misc=1)
    f.add(22, 0, f.p("QQQ", 9, 1, P + 0x10), 100, 100, 5000)
    f.sample(100, 100, 6000, [KERNEL, K + 0x10, DEFERRED, 10], misc=1)
    return f


def newer():
    """Records and sections that no perf writes yet, and an AUX trace."""
    f = File()
    f.comm(100, 100, "p")
    f.mmap2(100, P, 0x1000, 0, "/nowhere/p")
    f.data += f.record(40, 0, b"12345678") + f.record(200, 0, b"1234567812345678")
    f.data += f.record(71, 0, f.p("QQQIIII", 24, 0, 0, 0, 0, 0, 0)) + b"\xff" * 24
    f.sample(100, 100, 1000, [USER, P + 0x10])
    f.features[60] = b"something"
    return f


def namespaces():
    """Two processes of one parent run what is at /bin/sh: 21 as recorded here, 22 in another mount namespace, with its child 23."""
    f = File()
    spaces = lambda pid, mnt, time=0: f.add(16, 0, f.p("iiQ", pid, pid, 7) + b"".join(
        f.p("QQ", 4, i) for i in (1, 2, 3, 4, 5, mnt, 7)), pid, pid, time)
    spaces(1, 100)
    spaces(21, 100)
    f.fork(22, 21, 22, 21, 900)
    spaces(22, 200, 910)
    f.fork(23, 22, 23, 22, 950)
    f.add(16, 0, f.p("ii", 24, 24), 24, 24)             # shorter than its fields
    f.add(16, 0, f.p("iiQ", 24, 24, 2) + f.p("QQQQ", 4, 1, 4, 2), 24, 24)  # no mount namespace
    for pid, name in ((21, "here"), (22, "box"), (23, "child"), (24, "unknown")):
        f.comm(pid, pid, name, 1000)
    for pid in (22, 23):
        f.mmap2(pid, 0x10000, 0x1000, 0, "/bin/sh", 1100)
        f.sample(pid, pid, 2000 + pid, [USER, 0x10010, 0x10020])
    for pid in (21, 24):
        f.mmap2(pid, 0x10000, 0x1000, 0, "/no/such/file", 1100)
        f.sample(pid, pid, 2000 + pid, [USER, 0x10010, 0x10020])
    return f


def symbols():
    """Addresses of a kernel that was elsewhere, named by --kallsyms."""
    f = File()
    f.kernel(K + 0x1000000, pgoff=K + 0x1000000)
    f.comm(100, 100, "p")
    f.sample(100, 100, 1000, [KERNEL, K + 0x1000110, K + 0x1000200, K + 0x1000250], misc=1)
    # What an exception interrupted at a function's start; a call that ends its function.
    f.sample(100, 100, 2000, [KERNEL, K + 0x1000110, K + 0x1000300, K + 0x1000200], misc=1)
    write("kallsyms", b"ffffffff81000000 T _text\nffffffff81000100 T leaf\nffffffff81000180 T panics\n"
                      b"ffffffff81000200 T next\nffffffff810002f0 T asm_exc\nffffffff81000400 T end\n")
    return f


write("processes.in", processes().file())
write("big-endian.in", processes(">").file())
write("piped.in", processes().pipe())
write("packed.in", packed(processes(), 81).file())
write("packed2.in", packed(processes(), 83).file())
write("packed-pipe.in", packed(processes(), 83).pipe())
write("wrapped.in", wrapped().file())
write("unfinished.in", processes().file(False))
write("cut.in", processes().file()[:1500])
write("cut-header.in", processes().file()[:90])
write("cut-pipe.in", processes().pipe()[:1500])
write("empty.in", File().file())
write("switches.in", switches().file())
write("switches-big-endian.in", switches(">").file())
write("switches-pipe.in", switches().pipe())
write("waits.in", waits().file())
write("both.in", both().file())
write("groups.in", groups().file())
write("events.in", events().file())
write("branches.in", branches().file())
write("plain.in", plain().file())
write("deferred.in", deferred().file())
write("newer.in", newer().file())
write("symbols.in", symbols().file())
write("namespaces.in", namespaces().file())
bad = bytearray(processes().file())
bad[104 + 8 + 128:104 + 8 + 136] = struct.pack("<Q", 1 << 62)
write("bad-ids.in", bytes(bad))
bad = bytearray(processes().file())
bad[24:32] = struct.pack("<Q", 1 << 40)
write("bad-attrs.in", bytes(bad))
bad = packed(processes(), 81).file()
write("bad-zstd.in", bad[:700] + b"\xff" * 16 + bad[716:])
