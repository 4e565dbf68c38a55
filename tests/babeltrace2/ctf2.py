# SPDX-License-Identifier: MIT
"""Metadata of CTF 2, JSON, for what ctf.py packs; the streams are the same as those of CTF 1.8."""
import json

ORDER = {"alignment": 8, "byte-order": "little-endian"}


def number(size, signed=False, role=None, **more):
    kind = "fixed-length-%s-integer" % ("signed" if signed else "unsigned")
    return dict(type=kind, length=size, **ORDER, **({"roles": [role]} if role else {}), **more)


def at(origin, *path):
    return {"origin": origin, "path": list(path)}


OTHERS = {
    "str": {"type": "null-terminated-string"},
    "procname": {"type": "static-length-string", "length": 17},
    "leb": {"type": "variable-length-unsigned-integer"},
    "f64": dict(type="fixed-length-floating-point-number", length=64, **ORDER),
    "bool": dict(type="fixed-length-boolean", length=8, **ORDER),
    "bits": dict(type="fixed-length-bit-map", length=8, flags={"low": [[0, 3]], "high": [[4, 7]]}, **ORDER),
}


def field_class(kind, length_at):
    """@kind: as in ctf.py; @length_at: the field that says how long an array or a BLOB is, or what a variant holds."""
    if kind in OTHERS:
        return OTHERS[kind]
    if kind == "variant":
        options = [("number", number(64), [[0, 0], [5, 9]]), ("text", OTHERS["str"], [[1, 1]])]
        return {"type": "variant", "selector-field-location": length_at, "options": [
            {"name": n, "field-class": c, "selector-field-ranges": r} for n, c, r in options]}
    if kind == "blob":
        return {"type": "dynamic-length-blob", "length-field-location": length_at}
    if kind.endswith("[]"):
        return {"type": "dynamic-length-array", "element-field-class": field_class(kind[:-2], None),
                "length-field-location": length_at}
    return number(int(kind[1:]), kind[0] == "i")


def structure(fields, origin):
    members = []
    for name, kind in fields:
        optional, kind = kind.endswith("?"), kind.rstrip("?")
        if optional:
            members.append((name + "_is", number(8)))
        if kind.endswith("[]") or kind == "blob":
            members.append(("_%s_length" % name, number(32)))
        elif kind == "variant":
            members.append(("_%s_length" % name, number(8)))
        field = field_class(kind, at(origin, "_%s_length" % name))
        if optional:
            field = {"type": "optional", "field-class": field, "selector-field-location": at(origin, name + "_is"),
                     "selector-field-ranges": [[1, 255]]}
        members.append((name, field))
    return {"type": "structure", "member-classes": [{"name": n, "field-class": c} for n, c in members]}


def named(*members):
    return {"type": "structure", "member-classes": [{"name": n, "field-class": c} for n, c in members]}


def event_header(trace):
    ident, stamp = "event-record-class-id", "default-clock-timestamp"
    if not trace.large_header:
        return named(("id", number(16, role=ident)), *([("timestamp", number(64, role=stamp))] if trace.clock else []))
    compact = named(("timestamp", number(32, role=stamp)))
    extended = named(("id", number(32, role=ident)), ("timestamp", number(64, role=stamp)))
    options = [{"name": "compact", "field-class": compact, "selector-field-ranges": [[0, 65534]]},
               {"name": "extended", "field-class": extended, "selector-field-ranges": [[65535, 65535]]}]
    return named(("id", number(16, role=ident)), ("v", {
        "type": "variant", "options": options, "selector-field-location": at("event-record-header", "id")}))


def fragments(trace):
    yield {"type": "preamble", "version": 2}
    yield {"type": "trace-class", "environment": {k: json.loads(v) for k, v in trace.env.items()},
           "packet-header-field-class": named(("magic", number(32, role="packet-magic-number")))}
    if trace.clock:
        clock = {"type": "clock-class", "id": "mono", "name": "mono", "frequency": 1000000000}
        yield dict(clock, **({"uid": trace.uuid} if trace.uuid else {}))
    times = [("timestamp_begin", number(64, role="default-clock-timestamp")),
             ("timestamp_end", number(64, role="packet-end-default-clock-timestamp"))]
    rest = [("content_size", number(64, role="packet-content-length")), ("packet_size", number(64, role="packet-total-length")),
            ("events_discarded", number(64, role="discarded-event-record-counter-snapshot")),
            ("packet_seq_num", number(64, role="packet-sequence-number")), ("cpu_id", number(32))]
    yield {"type": "data-stream-class", **({"default-clock-class-id": "mono"} if trace.clock else {}),
           "packet-context-field-class": named(*(times if trace.clock else []), *rest),
           "event-record-header-field-class": event_header(trace),
           "event-record-common-context-field-class": structure(trace.common, "event-record-common-context")}
    for i, (name, specific, payload) in enumerate(trace.events):
        space, _, name = name.rpartition("!")
        yield {"type": "event-record-class", "id": i, "name": name, **({"namespace": space} if space else {}),
               **({"specific-context-field-class": structure(specific, "event-record-specific-context")} if specific else {}),
               "payload-field-class": structure(payload, "event-record-payload")}


def metadata(trace):
    return "".join("\x1e%s\n" % json.dumps(f) for f in fragments(trace))
