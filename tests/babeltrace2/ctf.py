# SPDX-License-Identifier: MIT
"""Packs CTF traces by hand, of version 1.8, or, with the same streams, of version 2, so that tests can forge what no tracer does on request.

trace = Trace(dir, common=[("vpid", "i32"), ("vtid", "i32")], env={"hostname": '"h"'})
entry = trace.event("lttng_ust_cyg_profile_fast:func_entry", payload=[("addr", "u64")])
cpu = trace.stream(0)
cpu.add(100, entry, common=(7, 7), payload=(0x1000,))
cpu.cut(lost=3)             # a packet ends here; 3 events were discarded until now
trace.write()

Packets go to their file when they are cut, so that large traces need no memory.
"""
import os
import struct

import ctf2

TYPES = {
    "u8": ("B", "integer { size = 8; align = 8; signed = false; }"),
    "u32": ("<I", "integer { size = 32; align = 8; signed = false; }"),
    "u64": ("<Q", "integer { size = 64; align = 8; signed = false; base = 16; }"),
    "i32": ("<i", "integer { size = 32; align = 8; signed = true; }"),
    "i64": ("<q", "integer { size = 64; align = 8; signed = true; }"),
    "f64": ("<d", None),
    "bool": ("B", None),
    "bits": ("B", None),
}


def declare(fields):
    lines = []
    for name, kind in fields:
        if kind == "str":
            lines.append("string { encoding = UTF8; } _%s;" % name)
        elif kind == "procname":
            lines.append("integer { size = 8; align = 8; signed = true; encoding = UTF8; } _%s[17];" % name)
        elif kind.endswith("[]"):
            lines.append("%s __%s_length;" % (TYPES["u32"][1], name))
            lines.append("%s _%s[ __%s_length ];" % (TYPES[kind[:-2]][1], name, name))
        else:
            lines.append("%s _%s;" % (TYPES[kind][1], name))
    return "struct { %s }" % " ".join(lines)


def pack(fields, values):
    assert len(fields) == len(values), (fields, values)
    out = b""
    for (_, kind), value in zip(fields, values):
        if kind.endswith("?"):
            kind = kind[:-1]
            out += struct.pack("B", value is not None)
            if value is None:
                if kind.endswith("[]"):
                    out += struct.pack("<I", 0)
                continue
            if not kind.endswith("[]"):
                out += pack([("", kind)], [value])
                continue
        if kind == "blob":
            out += struct.pack("<I", len(value)) + value
        elif kind == "str":
            out += value.encode() + b"\0"
        elif kind == "variant":
            text = isinstance(value, str)
            out += struct.pack("B", text) + (pack([("", "str")], [value]) if text else struct.pack("<Q", value))
        elif kind == "leb":
            while value > 0x7F:
                out += struct.pack("B", value & 0x7F | 0x80)
                value >>= 7
            out += struct.pack("B", value)
        elif kind == "procname":
            out += value.encode().ljust(17, b"\0")
        elif kind.endswith("[]"):
            out += struct.pack("<I", len(value)) + b"".join(struct.pack(TYPES[kind[:-2]][0], v) for v in value)
        else:
            out += struct.pack(TYPES[kind][0], value)
    return out


class Stream:
    def __init__(self, trace, cpu):
        self.trace, self.cpu = trace, cpu
        self.file = open(os.path.join(trace.path, "stream_%d" % len(trace.streams)), "wb")
        self.body, self.first, self.last = bytearray(), None, 0
        self.lost, self.number = 0, 0

    def add(self, time, event, common=(), specific=(), payload=()):
        number, spec, fields = event
        self.add_packed(time, number, pack(self.trace.common, common) + pack(spec, specific) + pack(fields, payload))

    def add_packed(self, time, number, fields):
        self.first = time if self.first is None else self.first
        self.last = time
        if not self.trace.clock:
            self.body += struct.pack("<H", number)
        elif self.trace.large_header:
            self.body += struct.pack("<HI", number, time & 0xFFFFFFFF)
        else:
            self.body += struct.pack("<HQ", number, time)
        self.body += fields

    def cut(self, lost=0, packets=0):
        """The packet ends here; @lost events before its end, @packets packets behind it."""
        self.lost += lost
        size = 4 + (8 + 8 if self.trace.clock else 0) + 8 * 4 + 4 + len(self.body)
        head = struct.pack("<I", 0xC1FC1FC1)
        if self.trace.clock:
            head += struct.pack("<QQ", self.last if self.first is None else self.first, self.last)
        head += struct.pack("<QQQQI", size * 8, size * 8, self.lost, self.number, self.cpu)
        self.file.write(head + self.body)
        self.number += 1 + packets
        self.body, self.first = bytearray(), None


class Trace:
    def __init__(self, path, common=(), env=None, clock=True, large_header=False, uuid=None, version=1):
        """
        @large_header: LTTng's event header, a variant; without it a number and a time.
        @version: 1, or 2, which also has fields that may be missing, "u64?", BLOBs, variants, numbers of any length and
        others, and events called "namespace!name".
        """
        self.path, self.common, self.env, self.clock = path, list(common), env or {}, clock
        self.large_header, self.uuid, self.version = large_header, uuid, version
        self.events, self.streams = [], []
        os.makedirs(path, exist_ok=True)

    def event(self, name, payload=(), specific=()):
        self.events.append((name, list(specific), list(payload)))
        return len(self.events) - 1, list(specific), list(payload)

    def stream(self, cpu):
        self.streams.append(Stream(self, cpu))
        return self.streams[-1]

    def metadata(self):
        if self.version == 2:
            return ctf2.metadata(self)
        stamp = "integer { size = 64; align = 8; signed = false; map = clock.mono.value; }"
        u64, u32, u16 = TYPES["u64"][1], TYPES["u32"][1], "integer { size = 16; align = 8; signed = false; }"
        times = "%s timestamp_begin; %s timestamp_end;" % (stamp, stamp) if self.clock else ""
        out = ["/* CTF 1.8 */",
               "trace { major = 1; minor = 8; byte_order = le; packet.header := struct { %s magic; }; };" % u32]
        if self.env:
            out.append("env { %s };" % " ".join("%s = %s;" % e for e in self.env.items()))
        if self.clock:
            uuid = ' uuid = "%s";' % self.uuid if self.uuid else ""
            out.append("clock { name = mono;%s freq = 1000000000; offset = 0; };" % uuid)
        header = "struct { %s id; %s }" % (u16, stamp + " timestamp;" if self.clock else "")
        if self.large_header:
            header = ("struct { enum : %s { compact = 0 ... 65534, extended = 65535 } id; variant <id> { struct { %s timestamp; } "
                      "compact; struct { %s id; %s timestamp; } extended; } v; }" % (u16, stamp.replace("64", "32"), u32, stamp))
        out.append("stream { event.header := %s; packet.context := struct { %s %s content_size; "
                   "%s packet_size; %s events_discarded; %s packet_seq_num; %s cpu_id; }; event.context := %s; };"
                   % (header, times, u64, u64, u64, u64, u32,
                      declare(self.common)))
        for i, (name, specific, payload) in enumerate(self.events):
            out.append('event { name = "%s"; id = %d; %s fields := %s; };'
                       % (name, i, "context := %s;" % declare(specific) if specific else "", declare(payload)))
        return "\n".join(out) + "\n"

    def write_metadata(self):
        with open(os.path.join(self.path, "metadata"), "w", encoding="utf-8") as f:
            f.write(self.metadata())

    def write(self):
        self.write_metadata()
        for stream in self.streams:
            if stream.body:
                stream.cut()
            stream.file.close()
        return self.path
