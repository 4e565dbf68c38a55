# SPDX-License-Identifier: MIT
"""
cases.py PLUGIN_DIR TMP [VERSION [MIP]] - forged traces through the sinks, and what must come out of them. VERSION: of CTF,
1 or 2. MIP: of babeltrace2's message protocol; without it babeltrace2 chooses, and 2.0 has none to choose.
"""
import json
import os
import re
import resource
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from ctf import Trace  # noqa: E402

PLUGINS, TMP = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
VERSION, MIP = int((sys.argv[3:] or [1])[0]), ["--allowed-mip-versions=" + m for m in sys.argv[4:5]]
passed = failed = 0
IDS = [("vpid", "i32"), ("vtid", "i32"), ("procname", "str")]
FAST = "lttng_ust_cyg_profile_fast:func_"
SLOW = "lttng_ust_cyg_profile:func_"
ONES = 0xFFFFFFFFFFFFFFFF
# Under valgrind a leak is another exit status, which no case wants.
WRAP = "valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite".split() if os.environ.get("VALGRIND") else []
jobs = []


def check(name, ok, detail=""):
    global passed, failed
    if ok:
        passed += 1
    else:
        failed += 1
        print("FAIL %s\n%s" % (name, detail))


def run(*args, wrap=(), **more):
    mip = MIP if args[0] not in ("help", "query") else []
    return subprocess.run([*wrap, "babeltrace2", "--plugin-path=" + PLUGINS, *args, *mip], capture_output=True,
                          timeout=300 if wrap else 60, text=True, **more)


def sink(trace, params="", name="folded", before=(), wrap=()):
    args = [*before, trace, "--component=sink.flame." + name]
    r = run(*args, *(["--params=" + params] if params else []), wrap=wrap)
    if not r.returncode and r.stdout and "output=" not in params and not before:
        jobs.append((trace, params, name, r.stdout))
    return r


def folded(name, trace, params, want, says=(), status=0, wrap=()):
    """@want: lines of folded text, in any order; @says: what must be on standard error."""
    r = sink(trace, params, wrap=wrap)
    got = sorted(r.stdout.splitlines())
    want = sorted(line.strip() for line in want.strip().splitlines())
    check(name, got == want and r.returncode == status and all(re.search(s, r.stderr) for s in says),
          "want: %s\ngot: %s\nsays: %s\nstatus: %d\n%s" % (want, got, says, r.returncode, r.stderr))


def new(name, **more):
    return Trace(os.path.join(TMP, name), version=VERSION, **more)


def calls(name, fast=True, common=None, **more):
    t = new(name, common=IDS if common is None else common, **more)
    prefix = FAST if fast else SLOW
    fields = [("addr", "u64")] if fast else [("addr", "u64"), ("call_site", "u64")]
    t.entry = t.event(prefix + "entry", fields)
    t.exit = t.event(prefix + "exit", [] if fast else fields)
    return t


def function_tracing():
    t = calls("nested")
    a, b = t.stream(0), t.stream(1)
    main, worker = (7, 7, "prog"), (7, 8, "prog")
    a.add(100, t.entry, main, payload=(0x1000,))
    b.add(110, t.entry, worker, payload=(0x3000,))
    a.add(150, t.entry, main, payload=(0x2000,))
    b.add(170, t.exit, worker)
    a.add(250, t.exit, main)
    # The thread goes on another processor.
    b.add(400, t.exit, main)
    p = t.write()
    folded("calls: threads on two processors", p, "", """
        prog;[unknown]+0x1000 200
        prog;[unknown]+0x1000;[unknown]+0x2000 100
        prog;[unknown]+0x3000 60""")
    folded("calls: counted", p, "count=true,root=\"none\"", """
        [unknown]+0x1000 1
        [unknown]+0x1000;[unknown]+0x2000 1
        [unknown]+0x3000 1""")
    folded("calls: pid and tid as root", p, "root=\"tid\",tid=8", "prog-7/8;[unknown]+0x3000 60")
    folded("calls: several ids", p, "root=\"pid\",tid=[8, +9],pid=+7", "prog-7;[unknown]+0x3000 60")
    folded("calls: processor as root", p, "root=\"cpu\",tid=8", "cpu1;[unknown]+0x3000 60")
    # Times count from the first event, at 100 ns.
    folded("calls: a range of time", p, "tid=7,time=\"0.0000001,0.0000002\"", """
        prog;[unknown]+0x1000 50
        prog;[unknown]+0x1000;[unknown]+0x2000 50""")
    for time, says in (("0.0000001,0.0000002", "; from 0.0000001 s to 0.0000002 s after the first event"),
                       ("0.0000001,", "; from 0.0000001 s after the first event"), (",9", "; up to 9 s after the first event"), (",", "")):
        r = sink(p, 'report="-",output="%s",time="%s"' % (os.path.join(TMP, "range.svg"), time), "svg")
        with open(os.path.join(TMP, "range.svg"), encoding="utf-8") as f:
            check("calls: the range of time in the subtitle, " + time, ">calls: wall time of function calls%s<" % says in f.read(), r.stderr)
        check("calls: the range of time in the report, " + time, "`the trace%s`" % says.replace(";", "") in r.stdout, r.stdout)
    folded("calls: nothing selected", p, "comm=\"other\"", "", ["none of the 6 events is in what the parameters select"], 1)
    folded("calls: regular expressions", p, "focus=\"x2000\"", "[unknown]+0x2000 100")
    r = sink(p, 'focus="nope",output="%s"' % os.path.join(TMP, "focus"))
    check("calls: regular expressions that leave nothing", r.returncode == 1 and "no stack is left: only, exclude or focus" in
          r.stderr and not os.path.exists(os.path.join(TMP, "focus")), r.stderr)

    t = calls("middle")
    s = t.stream(0)
    for at in (100, 110):
        s.add(at, t.exit, main)
    s.add(120, t.entry, main, payload=(0x1000,))
    s.add(150, t.entry, main, payload=(0x2000,))
    s.add(190, t.entry, main, payload=(0x3000,))
    folded("calls: from the middle to the middle", t.write(), "", """
        prog;[unknown]+0x1000 30
        prog;[unknown]+0x1000;[unknown]+0x2000 40""",
           ["2 function exits had no entry", "3 calls were open at the end", "exits do not tell of which function"])

    t = calls("longjmp", fast=False)
    s = t.stream(0)
    for at, addr in ((0, 1), (10, 2), (30, 3)):
        s.add(at, t.entry, main, payload=(addr, 0))
    s.add(60, t.exit, main, payload=(1, 0))
    s.add(70, t.entry, main, payload=(4, 0))
    s.add(90, t.exit, main, payload=(9, 0))
    s.add(95, t.exit, main, payload=(4, 0))
    folded("calls: longjmp, and an exit of nothing", t.write(), "", """
        prog;[unknown]+0x1 10
        prog;[unknown]+0x1;[unknown]+0x2 20
        prog;[unknown]+0x1;[unknown]+0x2;[unknown]+0x3 30
        prog;[unknown]+0x4 25""", ["2 calls were left without an exit", "1 function exits had no entry"])

    # A call by itself that longjmp left: the exit is that of the outer call, which has another call site.
    t = calls("recursion", fast=False)
    s = t.stream(0)
    for at, kind, addr, site in ((0, t.entry, 1, 0x91), (10, t.entry, 2, 0x92), (30, t.entry, 2, 0x93), (60, t.exit, 2, 0x92),
                                 (70, t.entry, 3, 0x94), (75, t.exit, 3, 0x94), (80, t.exit, 1, 0x95)):
        s.add(at, kind, main, payload=(addr, site))
    folded("calls: longjmp out of a call by itself", t.write(), "root=\"none\"", """
        [unknown]+0x1 25
        [unknown]+0x1;[unknown]+0x2 20
        [unknown]+0x1;[unknown]+0x2;[unknown]+0x2 30
        [unknown]+0x1;[unknown]+0x3 5""", ["1 calls were left without an exit"])

    t = calls("ip", common=IDS + [("ip", "u64")])
    s = t.stream(0)
    for at, addr in ((0, 1), (10, 2)):
        s.add(at, t.entry, main + (addr,), payload=(addr,))
    s.add(30, t.exit, main + (1,))
    s.add(40, t.entry, main + (3,), payload=(3,))
    s.add(45, t.exit, main + (3,))
    folded("calls: longjmp, by ip", t.write(), "root=\"none\"", """
        [unknown]+0x1 10
        [unknown]+0x1;[unknown]+0x2 20
        [unknown]+0x3 5""")

    t = calls("deep")
    s = t.stream(0)
    for i in range(5000):
        s.add(i, t.entry, main, payload=(1,))
    for i in range(5000):
        s.add(5000 + i, t.exit, main)
    s.add(10001, t.entry, main, payload=(2,))
    s.add(10003, t.exit, main)
    r = sink(t.write(), "root=\"none\"")
    lines = r.stdout.splitlines()
    check("calls: too deep", len(lines) == 4097 and lines[-1] == "[unknown]+0x2 2" and
          sum(int(x.split()[-1]) for x in lines) == 9999 + 2 and "904 calls are deeper than BT2_DEPTH_MAX" in r.stderr,
          "%d %s" % (len(lines), r.stderr))


def losses():
    main = (7, 7, "prog")
    for name, cut in (("lost", {"lost": 5}), ("packets", {"packets": 2})):
        t = calls(name)
        s = t.stream(0)
        s.add(100, t.entry, main, payload=(1,))
        s.add(110, t.entry, main, payload=(2,))
        s.cut()
        s.lost += cut.get("lost", 0)
        s.number += cut.get("packets", 0)
        s.add(200, t.entry, main, payload=(3,))
        s.add(230, t.exit, main)
        s.add(240, t.exit, main)
        p = t.write()
        word = "5 events" if name == "lost" else "2 packets"
        folded("losses: %s are no nesting" % name, p, "", """
            prog;[unknown]+0x1 10
            prog;[events lost];[unknown]+0x3 30""", [word + " were discarded", "given up because events were lost"])
        r = sink(p, "", "svg")
        check("losses: %s in the subtitle" % name, word + " lost" in r.stdout)

    # Events of the same thread in another trace say nothing about the calls, and losses there nothing about them.
    clock = {"uuid": "00000000-0000-0000-0000-000000000001"}
    other = new("beside", common=IDS, env={"hostname": '"box"'}, **clock)
    tick_begin, tick_end = other.event("app:tick_begin"), other.event("app:tick_end")
    t = calls("beside-calls", env={"hostname": '"box"'}, **clock)
    o, s = other.stream(0), t.stream(0)
    o.add(50, tick_begin, main)
    o.add(60, tick_end, main)
    s.add(100, t.entry, main, payload=(1,))
    o.cut()
    o.lost += 1
    o.add(120, tick_begin, main)
    s.add(130, t.entry, main, payload=(2,))
    s.cut()
    s.lost += 1
    s.add(150, t.entry, main, payload=(3,))
    s.add(160, t.exit, main)
    r = run(other.write(), t.write(), "--component=sink.flame.folded")
    check("losses: of the trace that has the calls", sorted(r.stdout.splitlines()) ==
          ["prog;[events lost];[unknown]+0x3 10", "prog;[unknown]+0x1 30"], r.stdout + r.stderr)

    t = calls("threadless", common=[("vpid", "i32"), ("procname", "str")])
    s = t.stream(0)
    for at, addr in ((0, 1), (10, 2), (20, 2)):
        s.add(at, t.entry, (7, "prog"), payload=(addr,))
    folded("losses: without threads nothing is nested", t.write(), "", """
        prog;[unknown]+0x1 1
        prog;[unknown]+0x2 2""", ["3 function entries without a thread"])

    t = calls("clockless", clock=False)
    s = t.stream(0)
    s.add(0, t.entry, main, payload=(1,))
    s.add(0, t.exit, main)
    folded("losses: without a clock calls are counted", t.write(), "", "prog;[unknown]+0x1 1", ["without a thread or a clock"])

    t = calls("damaged")
    s = t.stream(0)
    for i in range(1000):
        s.add(i * 2, t.entry, main, payload=(1,))
        s.add(i * 2 + 1, t.exit, main)
        if i % 100 == 99:
            s.cut()
    p = t.write()
    with open(os.path.join(p, "stream_0"), "r+b") as f:
        f.truncate(os.path.getsize(f.name) - 100)
    out = os.path.join(TMP, "damaged.folded")
    r = sink(p, 'output="%s"' % out, wrap=WRAP)
    check("losses: a damaged trace is an error, and no file is written", r.returncode == 1 and not os.path.exists(out), r.stderr)


    # Metadata that is cut off, or none at all; a trace whose events cannot be told apart.
    t = calls("metadata")
    s = t.stream(0)
    s.add(1, t.entry, main, payload=(1,))
    p = t.write()
    whole = t.metadata()
    twice, beyond = (("id = 1", "id = 0"), ("offset = 0", "offset = 9223372036854775807")) if VERSION == 1 else (
        ('"id": 1', '"id": 0'), ('"frequency"', '"offset-from-origin": {"seconds": 9223372036854775807}, "frequency"'))
    for what, text in (("empty", ""), ("cut off", whole[:len(whole) // 2]), ("of two equal events", whole.replace(*twice)),
                       ("out of range", whole.replace(*beyond))):
        check("losses: metadata %s is not the whole" % what, text != whole)
        with open(os.path.join(p, "metadata"), "w", encoding="utf-8") as f:
            f.write(text)
        r = sink(p, 'output="%s"' % out)
        # 2.1 itself ends at empty metadata: "Assertion `buffer.data()` failed".
        ended = r.returncode == -signal.SIGABRT and "getMetadataStreamMajorVersion" in r.stderr and not text
        check("losses: metadata %s" % what, (r.returncode == 1 or ended) and not os.path.exists(out), r.stderr)

    # Many threads at once; each has its own calls.
    t = calls("threads")
    s = t.stream(0)
    for i in range(4000):
        s.add(i, t.entry, (i // 50, i, "prog"), payload=(1 + i % 2,))
    for i in range(4000):
        s.add(4000 + i, t.exit, (i // 50, i, "prog"))
    folded("losses: many threads", t.write(), "", "prog;[unknown]+0x1 8000000\nprog;[unknown]+0x2 8000000")


def processes():
    t = calls("exec")
    start = t.event("lttng_ust_statedump:start")
    info = t.event("lttng_ust_statedump:bin_info", [("baddr", "u64"), ("memsz", "u64"), ("path", "str"), ("is_pic", "u8")])
    s = t.stream(0)
    main = (7, 7, "prog")
    # The state is told from another thread, and after the first call.
    s.add(0, t.entry, main, payload=(0x401010,))
    s.add(1, start, (7, 9, "helper"))
    s.add(2, info, (7, 9, "helper"), payload=(0x401000, 0x1000, "/nowhere/one", 1))
    s.add(10, t.entry, main, payload=(0x401020,))
    # exec: no exits, the same ids, and another program at the same addresses.
    s.add(20, start, (7, 10, "helper"))
    s.add(21, info, (7, 10, "helper"), payload=(0x401000, 0x1000, "/nowhere/two", 1))
    s.add(30, t.entry, main, payload=(0x401010,))
    s.add(50, t.exit, main)
    # The same told again by the same thread is no other program.
    s.add(60, t.entry, main, payload=(0x401030,))
    s.add(61, start, (7, 10, "helper"))
    s.add(62, info, (7, 10, "helper"), payload=(0x401000, 0x1000, "/nowhere/two", 1))
    s.add(70, t.exit, main)
    # fork: another process, which has its own calls.
    s.add(80, t.entry, (8, 8, "prog"), payload=(0x401010,))
    s.add(99, t.exit, (8, 8, "prog"))
    folded("processes: exec and fork", t.write(), "", """
        prog;[one]+0x10 10
        prog;[two]+0x10 20
        prog;[two]+0x30 10
        prog;[unknown]+0x401010 19""")

    t = calls("bypid", common=[("vtid", "i32")], env={
        "vpid": "42", "procname": '"prog"', "hostname": '"box"', "tracer_name": '"lttng-ust"', "tracer_major": "2", "tracer_minor": "13"})
    s = t.stream(0)
    s.add(0, t.entry, (7,), payload=(1,))
    s.add(5, t.exit, (7,))
    p = t.write()
    folded("processes: what is known of the recording", p, "root=\"none\",header=true", """
        # event: calls
        # unit: ns
        # kind: wall
        # host: box
        # tool: lttng-ust 2.13
        [unknown]+0x1 5""")
    folded("processes: ids in the environment", p, "root=\"tid\"", "prog-42/7;[unknown]+0x1 5")
    folded("processes: host name as root", p, "root=\"hostname\"", "box;[unknown]+0x1 5")


def lives():
    """A thread or program that has ended with calls open, and another with the same ids."""
    ust = {"hostname": '"box"', "tracer_name": '"lttng-ust"', "tracer_major": "2", "tracer_minor": "13"}
    for tracer, env, want in (("that reads names once", ust, """
            one;[unknown]+0x1 10
            one;[unknown]+0x1;[unknown]+0x2 5
            two;[unknown]+0x3 4"""), ("that does not", {}, """
            one;[unknown]+0x1 16
            one;[unknown]+0x1;[unknown]+0x2 25
            one;[unknown]+0x1;[unknown]+0x2;[unknown]+0x3 4""")):
        t = calls("names" + str(len(env)), common=IDS + [("ip", "u64")], env=env)
        s = t.stream(0)
        s.add(0, t.entry, (7, 8, "one", 1), payload=(1,))
        s.add(10, t.entry, (7, 8, "one", 2), payload=(2,))
        # pthread_exit, and a new thread with its id.
        s.add(15, t.exit, (7, 8, "one", 9))
        s.add(30, t.entry, (7, 8, "two", 3), payload=(3,))
        s.add(34, t.exit, (7, 8, "two", 3))
        if not env:
            s.add(39, t.exit, (7, 8, "one", 2))
            s.add(45, t.exit, (7, 8, "one", 1))
        folded("lives: another name, by a tracer " + tracer, t.write(), "", want,
               ["2 calls or spans were open when their thread ended"] if env else [])

    t = calls("pthreads", common=[("vpid", "i32"), ("vtid", "i32"), ("pthread_id", "u64")])
    s = t.stream(0)
    s.add(0, t.entry, (7, 8, 0x7F01), payload=(1,))
    s.add(10, t.entry, (7, 8, 0x7F01), payload=(2,))
    s.add(30, t.entry, (7, 8, 0x7F02), payload=(3,))
    s.add(35, t.exit, (7, 8, 0x7F02))
    folded("lives: another pthread_id", t.write(), 'root="tid"', """
        -7/8;[unknown]+0x1 10
        -7/8;[unknown]+0x3 5""")

    # exec: the new program calls before the state dump comes, which is not of a third one.
    t = calls("exec-early", env=ust)
    start = t.event("lttng_ust_statedump:start")
    info = t.event("lttng_ust_statedump:bin_info", [("baddr", "u64"), ("memsz", "u64"), ("path", "str"), ("is_pic", "u8")])
    s = t.stream(0)
    s.add(0, start, (7, 9, "helper"))
    s.add(1, info, (7, 9, "helper"), payload=(0x401000, 0x1000, "/nowhere/one", 1))
    s.add(10, t.entry, (7, 7, "one"), payload=(0x401010,))
    s.add(12, t.entry, (7, 8, "worker"), payload=(0x401020,))
    s.add(20, t.entry, (7, 7, "two"), payload=(0x401010,))
    s.add(25, start, (7, 10, "helper"))
    s.add(26, info, (7, 10, "helper"), payload=(0x401000, 0x1000, "/nowhere/two", 1))
    s.add(30, t.entry, (7, 7, "two"), payload=(0x401020,))
    s.add(33, t.exit, (7, 7, "two"))
    s.add(36, t.entry, (7, 8, "worker"), payload=(0x401030,))
    s.add(37, t.exit, (7, 8, "worker"))
    s.add(40, t.exit, (7, 7, "two"))
    # Another program, whose state is told of before it calls.
    s.add(50, start, (7, 11, "helper"))
    s.add(51, info, (7, 11, "helper"), payload=(0x401000, 0x1000, "/nowhere/three", 1))
    s.add(60, t.entry, (7, 7, "three"), payload=(0x401010,))
    s.add(65, t.exit, (7, 7, "three"))
    folded("lives: exec, before its state is told of and after", t.write(), "", """
        two;[two]+0x10 17
        two;[two]+0x10;[two]+0x20 3
        worker;[two]+0x30 1
        three;[three]+0x10 5""")

    # Two processes of one id at once, of two containers: not nested, and not another program time and again.
    t = calls("containers", env=ust)
    s = t.stream(0)
    for i in range(2000):
        for j, name in enumerate(("one", "two")):
            s.add(100 * i + 10 * j, t.entry, (1, 1, name), payload=(1 + j,))
            s.add(100 * i + 10 * j + 5, t.entry, (1, 1, name), payload=(3,))
            s.add(100 * i + 10 * j + 6, t.exit, (1, 1, name))
    folded("lives: several processes of one id", t.write(), "", "".join("""
        %s;[unknown]+0x%d 10000
        %s;[unknown]+0x%d;[unknown]+0x3 2000""" % (n, a, n, a) for n, a in (("one", 1), ("two", 2))),
           ["2975 times a process would have become another program", "3999 calls or spans were open"])

    # With buffers by process every program has its trace.
    paths = []
    for i, (name, time) in enumerate((("one", 0), ("two", 100))):
        env = dict(ust, vpid="7", procname='"%s"' % name, vpid_datetime='"20260101T00000%d+0000"' % i)
        t = calls("program-%d" % i, common=[("vtid", "i32")], env=env, uuid="00000000-0000-0000-0000-000000000001")
        s = t.stream(0)
        s.add(time, t.entry, (7,), payload=(1,))
        s.add(time + 10, t.entry, (7,), payload=(2,))
        s.add(time + 15, t.exit, (7,))
        paths.append(t.write())
    r = run(*paths, "--component=sink.flame.folded")
    want = ["%s;[unknown]+0x1%s %d" % (n, x, v) for n in ("one", "two") for x, v in (("", 10), (";[unknown]+0x2", 5))]
    check("lives: buffers by process", sorted(r.stdout.splitlines()) == want, r.stdout + r.stderr)


def kernel_lives():
    """The kernel tells of ends: in another trace than that with the calls, and by the id alone."""
    clock = {"uuid": "00000000-0000-0000-0000-000000000001", "env": {"hostname": '"box"'}}
    comm = [("comm", "procname"), ("tid", "i32"), ("prio", "i32")]
    kinds = (("exit", [("pid", "i32"), ("tid", "i32")], (7, 8), comm, ("one", 8, 20), 18),
             ("exit", [], (), comm, ("one", 8, 20), 15),
             ("free", [("pid", "i32"), ("tid", "i32")], (0, 0), comm, ("one", 8, 20), 15),
             ("free", [], (), comm, ("another", 8, 20), None),
             ("fork", [], (), [("child_comm", "procname"), ("child_tid", "i32"), ("child_pid", "i32")], ("one", 8, 7), 15),
             ("fork", [], (), [("child_comm", "procname"), ("child_pid", "i32")], ("one", 8), 15),
             ("fork", [], (), [("child_comm", "procname"), ("child_tid", "i32"), ("child_pid", "i32")], ("one", 8, 6), None),
             ("exec", [], (), [("filename", "str"), ("tid", "i32")], ("/bin/two", 8), 15),
             ("exec", [("pid", "i32"), ("tid", "i32")], (7, 7), [("filename", "str"), ("tid", "i32")], ("/bin/two", 7), 15))
    for i, (kind, ids, values, fields, payload, end) in enumerate(kinds):
        k = new("ends-%d" % i, common=ids, **clock)
        event = k.event("sched_process_" + kind, fields)
        t = calls("ended-%d" % i, **clock)
        s = t.stream(0)
        for at, thread, addr in ((0, (7, 8, "one"), 1), (3, (7, 9, "beside"), 5), (10, (7, 8, "one"), 2), (15, (7, 8, "one"), 3)):
            s.add(at, t.entry, thread, payload=(addr,))
        k.stream(0).add(18, event, values, payload=payload)
        s.add(30, t.entry, (7, 8, "one"), payload=(4,))
        s.add(34, t.exit, (7, 8, "one"))
        s.add(40, t.exit, (7, 9, "beside"))
        r = run(k.write(), t.write(), "--component=sink.flame.folded")
        want = {"one;[unknown]+0x1": 10, "one;[unknown]+0x1;[unknown]+0x2": 5, "beside;[unknown]+0x5": 37}
        if kind == "exec":
            want["beside;[unknown]+0x5"] = 0
        if end is None:
            deep = "one;[unknown]+0x1;[unknown]+0x2;[unknown]+0x3"
            want.update({deep: 15, deep + ";[unknown]+0x4": 4})
        else:
            want.update({"one;[unknown]+0x1;[unknown]+0x2;[unknown]+0x3": end - 15, "one;[unknown]+0x4": 4})
        got = {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in r.stdout.splitlines()}
        check("lives: sched_process_%s, %d" % (kind, i), got == {k: v for k, v in want.items() if v},
              "want: %s\ngot: %s\n%s" % (want, got, r.stderr))

    # perf's own events, and sched_switch: what left as a zombie does not come back.
    t = new("perf-ends", common=[])
    ends = [("pid", "u32"), ("ppid", "u32"), ("tid", "u32"), ("ptid", "u32"), ("time", "u64")]
    fork, gone = t.event("perf_fork", ends), t.event("perf_exit", ends)
    sample = [("perf_ip", "u64"), ("perf_tid", "i32"), ("perf_pid", "i32"), ("perf_period", "u64"), ("perf_callchain", "u64[]")]
    enter = t.event("syscalls:sys_enter_read", sample)
    leave = t.event("syscalls:sys_exit_read", sample)
    switch = t.event("sched:sched_switch", sample + [("prev_comm", "procname"), ("prev_pid", "i32"), ("prev_state", "i64"),
                                                     ("next_comm", "procname"), ("next_pid", "i32")])
    s, thread = t.stream(0), (0x1000, 8, 7, 1, [0x1000])
    s.add(0, enter, payload=thread)
    s.add(10, gone, payload=(7, 1, 8, 1, 10))
    s.add(12, switch, payload=thread + ("one", 8, 0x20, "swapper", 0))
    s.add(50, fork, payload=(7, 7, 8, 7, 50))
    s.add(60, switch, payload=(0, 0, 0, 1, [0x9000]) + ("swapper", 0, 0, "one", 8))
    s.add(70, switch, payload=thread + ("one", 8, 1, "swapper", 0))
    s.add(75, switch, payload=(0, 0, 0, 1, [0x9000]) + ("swapper", 0, 0, "one", 8))
    s.add(80, enter, payload=thread)
    s.add(83, leave, payload=thread)
    # Away in a state that is not the last one, and then another has its id.
    s.add(90, switch, payload=thread + ("one", 8, 1, "swapper", 0))
    s.add(95, fork, payload=(7, 7, 8, 7, 50))
    s.add(99, switch, payload=(0, 0, 0, 1, [0x9000]) + ("swapper", 0, 0, "one", 8))
    p = t.write()
    folded("lives: perf's exit ends spans", p, 'event="spans",root="tid"', "-7/8;read 10\none-7/8;read 3", ["1 calls or spans were open when"])
    folded("lives: perf's exit and fork, off the processor", p, 'event="off-cpu",addresses=true', "one;[unknown]+0x1000 5")


def of_version_2():
    """What CTF 2 alone has: fields that may be missing, BLOBs, and names in namespaces."""
    t = new("missing", common=[("vpid", "i32"), ("vtid", "i32?"), ("procname", "procname?")])
    entry, leave = t.event(FAST + "entry", [("addr", "u64?")]), t.event(FAST + "exit", [("addr", "u64?")])
    sample = t.event("app:sample", [("weight", "u32?"), ("callstack", "u64[]?")])
    s = t.stream(0)
    s.add(0, entry, (7, 7, "prog"), payload=(1,))
    s.add(10, entry, (7, 7, "prog"), payload=(2,))
    # Nobody knows of what.
    s.add(13, entry, (7, 7, None), payload=(None,))
    s.add(15, leave, (7, 7, None), payload=(None,))
    s.add(18, leave, (7, 7, "prog"), payload=(1,))
    s.add(20, entry, (7, None, "lost"), payload=(3,))
    for weight, stack in ((5, [0x1000]), (None, [0x1000, 0x2000]), (9, None)):
        s.add(30, sample, (7, 7, "prog"), payload=(weight, stack))
    p = t.write()
    folded("version 2: fields that may be missing", p, "", """
        prog;[unknown]+0x1 13
        prog;[unknown]+0x1;[unknown]+0x2 5""",
           ["1 function entries without a thread", "using calls only; not added to it: .*app:sample"])
    folded("version 2: stacks and weights that may be missing", p, 'event="app:sample",addresses=true', """
        prog 9
        prog;[unknown]+0x1000 5
        prog;[unknown]+0x2000;[unknown]+0x1000 1""")

    t = new("namespaces", common=IDS)
    one, two = t.event("example.org!app:sample", [("callstack", "u64[]")]), t.event("other!app:sample", [("callstack", "u64[]")])
    begin, end, other_end = t.event("a!io_begin"), t.event("a!io_end"), t.event("b!io_end")
    s, main = t.stream(0), (7, 7, "prog")
    s.add(0, one, main, payload=([1],))
    s.add(0, two, main, payload=([1, 2],))
    s.add(1, two, main, payload=([1, 2],))
    s.add(10, begin, main)
    s.add(20, other_end, main)
    s.add(50, end, main)
    p = t.write()
    folded("version 2: equal names in two namespaces", p, "", "prog;[unknown] 1",
           [r"using example.org:app:sample only; .*other:app:sample \(2 samples\)"])
    folded("version 2: a namespace is chosen", p, 'event="other:app:sample"', "prog;[unknown];[unknown] 2")
    folded("version 2: pairs in a namespace", p, 'event="spans"', "prog;io 40")
    folded("version 2: pairs across namespaces", p, 'event="spans",pair="a:io_begin,b:io_end"', "prog;a:io_begin 10")


    # Whatever else there is, it is not in the way; integers of more than 64 bits babeltrace2 refuses.
    t = new("others", common=[("ratio", "f64"), ("what", "variant"), ("vpid", "i32"), ("vtid", "i32"), ("procname", "procname")])
    # 2.1's source loses the memory of maps of bits, whatever the sink.
    event = t.event("app:sample", [("on", "bool"), ("flags", "u8" if WRAP else "bits"), ("what", "variant"), ("weight", "leb"), ("blob", "blob"),
                                   ("callstack", "u64[]")])
    s = t.stream(0)
    s.add(0, event, (0.5, 7, 7, 7, "prog"), payload=(1, 0x81, "text", 300, b"\0\1", [1]))
    s.add(1, event, (0.5, "text", 7, 7, "prog"), payload=(0, 0, 1 << 40, 1 << 40, b"", [1]))
    p = t.write()
    folded("version 2: fields of other kinds", p, "", "prog;[unknown] %d" % (300 + (1 << 40)))
    with open(os.path.join(p, "metadata"), "w", encoding="utf-8") as f:
        f.write(t.metadata().replace('"name": "on", "field-class": {"type": "fixed-length-boolean", "length": 8',
                                     '"name": "on", "field-class": {"type": "fixed-length-unsigned-integer", "length": 128'))
    r = sink(p, 'output="%s"' % os.path.join(TMP, "128"))
    t.write_metadata()
    check("version 2: integers of 128 bits", r.returncode == 1 and "128" in r.stderr and not os.path.exists(os.path.join(TMP, "128")), r.stderr)


def build_ids(compiler, lib, at):
    """A file is used where its build-id is the recorded one, whatever kind of field that is."""
    notes = subprocess.run(["readelf", "-n", lib], capture_output=True, text=True).stdout
    found = re.search("Build ID: ([0-9a-f]+)", notes)
    if not found:
        print("SKIP symbols: %s makes no build-ids" % compiler[0])
        return
    right = bytes.fromhex(found[1])
    for kind in ["u8[]"] + (["blob", "blob?"] if VERSION == 2 else []):
        for name, ident in (("right", right), ("wrong", bytes(20))):
            t = calls("build-id-%s-%s" % (kind.replace("?", "-").replace("[]", ""), name))
            info = t.event("lttng_ust_statedump:bin_info", [("baddr", "u64"), ("memsz", "u64"), ("path", "str"), ("is_pic", "u8")])
            told = t.event("lttng_ust_statedump:build_id", [("baddr", "u64"), ("build_id", kind)])
            s, main, base = t.stream(0), (7, 7, "prog"), 0x7F0000000000
            s.add(1, info, main, payload=(base, 0x10000, lib, 1))
            s.add(1, told, main, payload=(base, ident))
            s.add(2, t.entry, main, payload=(base + at["caller"],))
            s.add(5, t.exit, main)
            folded("symbols: the %s build-id, %s" % (name, kind), t.write(), "",
                   "prog;caller 3" if name == "right" else "prog;[libsym.so]+0x%x 3" % at["caller"])


def mappings():
    """A process that maps ever more, or another file at the same place time and again."""
    t = new("maps")
    mmap = t.event("perf_mmap2", [("pid", "u32"), ("tid", "u32"), ("start", "u64"), ("filename", "str")])
    sample = t.event("cycles", [("perf_ip", "u64"), ("perf_tid", "i32"), ("perf_pid", "i32"), ("perf_period", "u64")])
    s = t.stream(0)
    for i in range(20000):
        s.add(i, mmap, payload=(7, 7, (20000 - i) << 12, "/nowhere/many"))
        s.add(i, mmap, payload=(8, 8, 4096, "/nowhere/one" if i & 1 else "/nowhere/two"))
    s.add(20001, sample, payload=(20000 << 12, 7, 7, 5))
    s.add(20002, sample, payload=(4097, 8, 8, 6))
    folded("mappings: limits are told of", t.write(), "addresses=true", "[many]+0x0 5\n[one]+0x1 6",
           ["3616 mappings are not used: a process has more than BT2_MAPS_MAX, 16384", "times another file was mapped where one was"])


def symbols(compiler):
    source, lib = os.path.join(TMP, "sym.c"), os.path.join(TMP, "libsym.so")
    with open(source, "w", encoding="utf-8") as f:
        f.write("int callee(int x) { return x * 3; }\nint caller(int x) { return callee(x) + 1; }\n")
    if subprocess.run([*compiler, "-O0", "-g", "-shared", "-fPIC", "-o", lib, source], capture_output=True).returncode:
        print("SKIP symbols: %s does not compile" % compiler[0])
        return
    at = {x.split()[2]: int(x.split()[0], 16) for x in
          subprocess.run(["nm", lib], capture_output=True, text=True).stdout.splitlines() if len(x.split()) == 3}
    t = calls("symbols")
    info = t.event("lttng_ust_dl:dlopen", [("baddr", "u64"), ("memsz", "u64"), ("flags", "u32"), ("path", "str")])
    s = t.stream(0)
    main, base = (7, 7, "prog"), 0x7F0000000000
    s.add(1, info, main, payload=(base, 0x10000, 0, lib))
    s.add(2, t.entry, main, payload=(base + at["caller"],))
    s.add(5, t.entry, main, payload=(base + at["callee"],))
    s.add(7, t.exit, main)
    s.add(8, t.exit, main)
    folded("symbols: dlopen", t.write(), "", "prog;caller 4\nprog;caller;callee 2")

    build_ids(compiler, lib, at)

    # What is said of files names parameters, and paths as they are.
    t = calls("no-symbols")
    info = t.event("lttng_ust_dl:dlopen", [("baddr", "u64"), ("memsz", "u64"), ("flags", "u32"), ("path", "str")])
    s = t.stream(0)
    s.add(1, info, main, payload=(base, 0x10000, 0, "/none--such/lib.so"))
    s.add(2, t.entry, main, payload=(base + 16,))
    s.add(5, t.exit, main)
    folded("symbols: a file that is not here", t.write(), "", "prog;[lib.so]+0x10 3",
           [r"for /none--such/lib\.so .*; symbols DIR or symfs DIR"])

    t = new("perf-symbols")
    mmap = t.event("perf_mmap2", [("pid", "u32"), ("tid", "u32"), ("start", "u64"), ("filename", "str")])
    sample = t.event("cycles:u", [("perf_ip", "u64"), ("perf_tid", "i32"), ("perf_pid", "i32"), ("perf_period", "u64"),
                                  ("perf_callchain", "u64[]")])
    code = [x.split() for x in subprocess.run(["readelf", "-lW", lib], capture_output=True, text=True).stdout.splitlines()]
    page = [int(x[2], 16) & ~4095 for x in code if x and x[0] == "LOAD" and "E" in x[6:-1]][0]
    s = t.stream(0)
    s.add(0, mmap, payload=(7, 7, base, lib))
    # The return address lies behind the last byte of the call.
    s.add(5, sample, payload=(base + at["callee"] - page, 7, 7, 100,
                              [0xFFFFFFFFFFFFFE00, base + at["callee"] - page, base + at["caller"] - page + 5, 0]))
    folded("symbols: perf's mappings have no length", t.write(), "", "caller;callee 100")


def samples():
    t = new("perf", env={"host": '"box"', "tracer_name": '"perf"', "version": '"6.1"'})
    comm = t.event("perf_comm", [("pid", "u32"), ("tid", "u32"), ("comm", "str")])
    fields = [("perf_ip", "u64"), ("perf_tid", "i32"), ("perf_pid", "i32"), ("perf_period", "u64"), ("perf_callchain", "u64[]")]
    cycles, faults = t.event("cycles", fields), t.event("page-faults", fields)
    s = t.stream(0)
    s.add(0, comm, payload=(7, 7, "prog"))
    kernel, user = 0xFFFFFFFFFFFFFF80, 0xFFFFFFFFFFFFFE00
    s.add(10, cycles, payload=(1, 7, 7, 1000, [kernel, 0xFFFFFFFF81000010, user, 0x1000, 0x2000, 0]))
    s.add(11, cycles, payload=(1, 7, 7, 500, [kernel, 0xFFFFFFFF81000010, user, 0x1000, 0x2000, 0]))
    s.add(12, cycles, payload=(0x77, 7, 7, 7, []))
    s.add(13, faults, payload=(1, 7, 7, 1, [user, 0x1000]))
    p = t.write()
    folded("samples: perf", p, "addresses=true,annotate=true", """
        prog;[unknown]+0x2000;[unknown]+0x1000;[kernel]+0xffffffff81000010_[k] 1500
        prog;[unknown]+0x77 7""", ["using cycles only; not added to it: page-faults \\(1 samples\\)", "1 callchains are empty"])
    folded("samples: perf's host, by number of samples", p, 'root="hostname",count=true,header=true,exclude="kernel"', """
        # event: cycles
        # unit: count
        # kind: on-cpu
        # tool: perf 6.1
        # host: box
        # duration: 3 ns
        box;[unknown] 1""")
    folded("samples: another event", p, "event=\"page-faults\"", "prog;[unknown] 1")
    folded("samples: no such event", p, "event=\"nope\"", "", ["no event 'nope' with stacks in the trace; it has cycles"], 1)
    folded("samples: counted", p, "count=true,root=\"none\",exclude=\"kernel\"", "[unknown] 1")
    kallsyms = os.path.join(TMP, "kallsyms")
    with open(kallsyms, "w", encoding="utf-8") as f:
        f.write("ffffffff81000000 T _text\nffffffff81000008 T do_work\nffffffff81000100 T other\n")
    folded("samples: symbols of the kernel", p, 'exclude="x77",addresses=true,kallsyms="%s"' % kallsyms,
           "prog;[unknown]+0x2000;[unknown]+0x1000;do_work 1500")

    # In the context of the channel: babeltrace2 2.0 aborts on sequences in that of one event.
    t = new("lttng", common=[("pid", "i32"), ("tid", "i32"), ("procname", "str"), ("callstack_kernel", "u64[]"),
                             ("callstack_user", "u64[]")])
    open_ = t.event("syscall_entry_openat", [("dfd", "i32")])
    close = t.event("syscall_exit_openat", [("ret", "i64")])
    switch = t.event("sched_switch", [("prev_comm", "str"), ("prev_tid", "i32"), ("prev_state", "i64"),
                                      ("next_comm", "str"), ("next_tid", "i32")])
    s = t.stream(0)
    prog, chain = (7, 8, "prog"), ([0xFFFFFFFF81000010], [0x1000, 0x2000])
    s.add(100, open_, prog + chain, payload=(3,))
    s.add(120, switch, prog + chain, payload=("prog", 8, 1, "swapper", 0))
    s.add(200, switch, (0, 0, "swapper", [], []), payload=("swapper", 0, 0, "prog", 8))
    s.add(230, close, prog + ([1], [0x1000] * 127 + [ONES]), payload=(3,))
    p = t.write()
    folded("samples: LTTng's contexts", p, "event=\"syscall_entry_openat\",addresses=true",
           "prog;[unknown]+0x2000;[unknown]+0x1000;[kernel]+0xffffffff81000010 1", )
    folded("samples: cut off by the recorder", p, "event=\"syscall_exit_openat\",count=true,collapse-recursion=true",
           "prog;[truncated];[unknown];[kernel] 1", ["1 stacks were cut off"])
    folded("off-cpu: from prev to next", p, "event=\"off-cpu\"", "prog;[unknown];[unknown];[kernel] 80")
    folded("spans: system calls", p, "event=\"spans\"", "prog;openat 130")


def unlike():
    """Kinds that have one name, or none, or values that cannot be drawn, or names that would act on a terminal."""
    main = (7, 7, "prog")
    t = new("unlike", common=IDS)
    later, first = t.event("first:x", [("callstack", "u64[]")]), t.event("second:y", [("callstack", "u64[]")])
    named, evil = t.event("spans", [("callstack", "u64[]")]), t.event("ev\x1b]0;x\x07il", [("callstack", "u64[]")])
    begin, end, tick = t.event("foo_begin"), t.event("foo_end"), t.event("tick")
    weighed = t.event("w:w", [("weight", "i64"), ("callstack", "u64[]")])
    s = t.stream(0)
    s.add(100, tick, main)
    for at, event in ((110, first), (115, later), (120, named), (130, evil)):
        s.add(at, event, main, payload=([1, 2],))
    s.add(140, begin, main)
    s.add(150, end, main)
    for weight in (5, -3, 7):
        s.add(160, weighed, main, payload=(weight, [1]))
    p = t.write()
    folded("unlike: the first that the trace lists", p, "", "prog;[unknown];[unknown] 1", [r"using first:x only; .*ev\?]0;x\?il"])
    folded("unlike: spans", p, 'event="spans"', "prog;foo 10")
    folded("unlike: an event called spans", p, 'event="event:spans"', "prog;[unknown];[unknown] 1", ["2 addresses have no names"])
    folded("unlike: values below zero", p, 'event="w:w"', "prog;[unknown] 12", ["1 samples are not shown: their values are below"])
    folded("unlike: time since the first event of all", p, 'event="second:y",time="0.000000009,0.000000011"', "prog;[unknown];[unknown] 1")


    # babeltrace2 uses its events again: an empty text is none that was there before.
    t = new("empty", common=IDS)
    begin, end = t.event("foo_begin", [("name", "str")]), t.event("foo_end")
    s = t.stream(0)
    for i, name in enumerate(["older"] * 20 + [""] * 20):
        s.add(10 * i, begin, main, payload=(name,))
        s.add(10 * i + 1, end, main)
    folded("unlike: empty names", t.write(), "", "prog;foo 20\nprog;older 20")


def spans():
    t = new("spans", common=IDS)
    job, job_end = t.event("app:job_begin", [("name", "str")]), t.event("app:job_end")
    io, io_end = t.event("app:io_entry"), t.event("app:io_exit")
    go, halt = t.event("app:go"), t.event("app:halt")
    lone = t.event("app:lone_entry")
    s, main = t.stream(0), (7, 7, "prog")
    s.add(0, job, main, payload=("first",))
    s.add(10, io, main)
    s.add(15, lone, main)
    s.add(30, io_end, main)
    s.add(40, job_end, main)
    s.add(50, go, main)
    s.add(70, halt, main)
    s.add(80, io_end, main)
    p = t.write()
    folded("spans: pairs by their names", p, "", "prog;first 20\nprog;first;io 20", ["1 ends of spans had no beginning"])
    folded("spans: pairs by parameter", p, 'pair="go:halt"', "prog;first 20\nprog;first;io 20\nprog;go 20")
    folded("spans: pairs by whole names", p, 'pair=["app:go:app:halt"],only="go"', "prog;app:go 20")
    folded("spans: pairs with a comma", p, 'pair="app:go,halt",only="go"', "prog;app:go 20")

    r = sink(p, 'pair=["go:halt","tpyo:app:io_exit"]')
    check("spans: a pair that is not there", re.findall("pair '(.*)': there is no event '(.*)'", r.stderr) == [("tpyo:app:io_exit", "tpyo")], r.stderr)

    # One after the other: what ends one pair may begin the next, itself among them.
    t = new("phases", common=IDS)
    got, started, done = t.event("app:got", [("name", "str")]), t.event("app:started"), t.event("app:done")
    s = t.stream(0)
    for i, name in enumerate(("a", "")):
        s.add(100 * i, got, main, payload=(name,))
        s.add(100 * i + 10, started, main)
        s.add(100 * i + 30, done, main)
    p = t.write()
    folded("spans: pairs that meet", p, 'pair=["got:started","started:done"]', "prog;a 10\nprog;got 10\nprog;started 40")
    folded("spans: from an event to itself", p, 'pair="started:started"', "prog;started 100", ["1 spans were open"])
    folded("spans: ends alone", p, 'time="0.00000012,",pair="nope:done"', "", ["there is no event 'nope'"], 1)

    # As ros2_tracing has them: a callback may call another, and addresses are those of a process.
    t = new("ros", common=IDS)
    register = t.event("ros2:rclcpp_callback_register", [("callback", "u64"), ("symbol", "str")])
    start = t.event("ros2:callback_start", [("callback", "u64"), ("is_intra_process", "i32")])
    end = t.event("ros2:callback_end", [("callback", "u64")])
    s, talker = t.stream(0), (8, 9, "talker")
    s.add(0, register, main, payload=(0x10, "Node::on_timer()"))
    s.add(1, register, main, payload=(0x20, "void (Node::?)(std::shared_ptr<Message const>)"))
    s.add(2, register, talker, payload=(0x10, "Talker::tick()"))
    s.add(10, start, main, payload=(0x10, 0))
    s.add(12, start, talker, payload=(0x10, 0))
    s.add(13, start, main, payload=(0x20, 1))
    s.add(17, end, main, payload=(0x20,))
    s.add(20, end, main, payload=(0x10,))
    s.add(21, end, talker, payload=(0x10,))
    s.add(30, start, main, payload=(0x30, 0))
    s.add(37, end, main, payload=(0x30,))
    folded("spans: callbacks of ROS 2", t.write(), "", """
        prog;Node::on_timer() 6
        prog;Node::on_timer();void (Node::?)(std::shared_ptr<Message const>) 4
        prog;callback 7
        talker;Talker::tick() 9""")

    t = new("pairs", common=IDS)
    before, after = t.event("db:query_before"), t.event("db:query_after")
    enter, leave = t.event("syscalls:sys_enter_read"), t.event("syscalls:sys_exit_read")
    s = t.stream(0)
    for at, event in ((0, before), (10, enter), (30, leave), (35, after)):
        s.add(at, event, main)
    folded("spans: before and after, sys_enter and sys_exit", t.write(), "", "prog;query 15\nprog;query;read 20")


def kernel():
    """What lttng-modules records: its names, payloads and contexts, with the interrupt in the thread that it found."""
    t = new("kernel", common=[("pid", "i32"), ("tid", "i32"), ("procname", "procname"), ("callstack_kernel", "u64[]"),
                              ("callstack_user", "u64[]")], large_header=True,
            env={"hostname": '"box"', "domain": '"kernel"', "tracer_name": '"lttng-modules"', "tracer_major": "2", "tracer_minor": "13"})
    read = [t.event("syscall_entry_read", [("fd", "u32"), ("count", "u64")]),
            t.event("syscall_exit_read", [("ret", "i64"), ("buf", "u64")])]
    irq = [t.event("irq_handler_entry", [("irq", "i32"), ("name", "str")]),
           t.event("irq_handler_exit", [("irq", "i32"), ("ret", "i32")])]
    soft = [t.event("irq_softirq_entry", [("vec", "u32")]), t.event("irq_softirq_exit", [("vec", "u32")])]
    issue = t.event("block_rq_issue", [("dev", "u32"), ("sector", "u64"), ("nr_sector", "u32"), ("bytes", "u32"), ("tid", "i32"),
                                       ("rwbs", "u32"), ("comm", "procname")])
    switch = t.event("sched_switch", [("prev_comm", "procname"), ("prev_tid", "i32"), ("prev_prio", "i32"), ("prev_state", "i64"),
                                      ("next_comm", "procname"), ("next_tid", "i32"), ("next_prio", "i32")])
    a, b = t.stream(0), t.stream(1)
    stack = ([0xFFFFFFFF81000010, 0xFFFFFFFF81000020], [0x1000, 0x2000])
    cat, idle = (7, 8, "cat"), (0, 0, "swapper/0", [0xFFFFFFFF81000030], [])
    a.add(1000, read[0], cat + stack, payload=(3, 4096))
    a.add(1100, irq[0], cat + stack, payload=(11, "nvme0q1"))
    a.add(1110, soft[0], cat + stack, payload=(4,))
    a.add(1130, soft[1], cat + stack, payload=(4,))
    a.add(1140, irq[1], cat + stack, payload=(11, 1))
    # The thread in the payload is that of the request, not of the event.
    a.add(1200, issue, cat + stack, payload=(1, 2, 8, 4096, 99, 1, "other"))
    a.add(1300, switch, cat + stack, payload=("cat", 8, 20, 2, "swapper/0", 0, 20))
    a.add(1900, switch, idle, payload=("swapper/0", 0, 20, 0, "sh", 5, 20))
    # It goes on, on another processor.
    b.add(2000, switch, idle, payload=("swapper/1", 0, 20, 0, "cat", 8, 20))
    b.add(2100, read[1], cat + stack, payload=(4096, 0x1234))
    p = t.write()
    r = sink(p, 'event="spans",root="tid"')
    check("kernel: system calls and interrupts", sorted(r.stdout.splitlines()) == [
        "cat-7/8;read 1060", "cat-7/8;read;nvme0q1 20", "cat-7/8;read;nvme0q1;irq_softirq 20"], r.stdout + r.stderr)
    kallsyms = os.path.join(TMP, "kernel.kallsyms")
    with open(kallsyms, "w", encoding="utf-8") as f:
        f.write("ffffffff81000000 T _text\nffffffff81000008 T __schedule\nffffffff81000018 T vfs_read\nffffffff81000100 T _etext\n")
    folded("kernel: off the processor", p, 'event="off-cpu",annotate=true,kallsyms="%s"' % kallsyms,
           "cat;[unknown];[unknown];vfs_read_[k];__schedule_[k] 700")
    folded("kernel: a stack of any event", p, 'event="block_rq_issue",root="cpu",kallsyms="%s"' % kallsyms,
           "cpu0;[unknown];[unknown];vfs_read;__schedule 1")


def command_line():
    t = calls("plain")
    s, main = t.stream(0), (7, 7, "prog")
    s.add(1000, t.entry, main, payload=(1,))
    s.add(3000, t.exit, main)
    p = t.write()
    mask = os.umask(0o022)
    os.umask(mask)
    svg, text = os.path.join(TMP, "a b.svg"), os.path.join(TMP, "a.folded")
    r = sink(p, 'output="%s",folded="%s"' % (svg, text), "svg")
    check("several outputs", r.returncode == 0 and not r.stdout and "</svg>" in open(svg, encoding="utf-8").read() and
          open(text, encoding="utf-8").read() == "prog;[unknown]+0x1 2000\n", r.stderr)
    check("files are made with the user's mask", os.stat(svg).st_mode & 0o777 == 0o666 & ~mask)
    r = sink(p, 'folded="%s",svg="%s"' % (text, svg), "svg")
    check("several outputs, none of them called output", r.returncode == 0 and not r.stdout and
          "</svg>" in open(svg, encoding="utf-8").read(), r.stderr)
    r = sink(p, 'report-format="json",folded="%s"' % text, "report")
    report = json.loads(r.stdout or "{}")
    check("a report as JSON", r.returncode == 0 and "[unknown]+0x1" in json.dumps(report), r.stdout[:500] + r.stderr)
    r = sink(p, 'report="-",output="%s"' % svg, "svg")
    check("a report beside the picture", r.returncode == 0 and r.stdout.startswith("# Profile of") and "</svg>" in
          open(svg, encoding="utf-8").read(), r.stdout[:500] + r.stderr)
    r = sink(p, 'title="A & B",nametype="Call:",factor=2,total=5000,fontwidth=0.6,bgcolors="blue",strip-hex=true', "svg")
    check("parameters of the picture", r.returncode == 0 and "A &amp; B" in r.stdout and "[unknown]+0x... (" in r.stdout and
          "40.00%" in r.stdout, r.stderr)
    for params, says in (('nope=1', "unknown parameter 'nope'; there are output, svg"), ("output=5", "'output' must be of type string"),
                         ("count=\"yes\"", "'count' must be of type boolean"), ("pid=\"x\"", "'pid' must be of type integer"),
                         ("root=\"x\"", "'root' must be comm, pid"), ("time=\"5\"", "'time' must be"), ("pair=\"x\"", "'pair' must be"),
                         ("only=\"(\"", "regular expression"), ("colors=\"nope\"", "no palette 'nope'"), ("width=-1", "'width'"),
                         ("report-format=\"x\"", "'report-format' must be markdown"), ("bgcolors=\"nope\"", "no background 'nope'"), ("factor=-1", "'factor'"), ("tid=[]", "'tid' must be of type"),
                         ("comm=[1]", "'comm' must be of type"), ("time=\"3,2\"", "'time' must be"), ("time=\"1,0\"", "'time' must be"), ("time=\"1,nan\"", "'time' must be"), ("fontsize=\"9\"", "of type number"),
                         ("fontsize=0", "'fontsize' must be 1 to 500"), ("height=0", "'height' must be 4"), ("width=1.5", "'width' must be 100"),
                         ("minwidth=-3", "'minwidth' must be 0"), ("factor=0", "'factor' must be above 0"), ("fontwidth=0", "'fontwidth' must be"),
                         ("total=1e300", "'total' must be 0 to 9e18"), ("bgcolors=\"#12\"", "no background '#12'"),
                         ("pair=\":\"", "'pair' must be"), ("pair=\"a:\"", "'pair' must be"),
                         ("pair=[\"a:b\",\"a:c\"]", "'a:b' and 'a:c' begin or end with the same event"),
                         ("output=\"a\",folded=\"b\"", "'output' and 'folded' are the same"), ("svg=\"-\"", "svg and folded cannot both be written to standard output"),
                         ("output=\"\"", "has no name"), ("output=\"/nowhere/a\",report=\"/nowhere/a\"", "cannot both be written to /nowhere/a"),
                         ("project=\"(\"", "'project' wants a regular")):
        r = sink(p, params, wrap=WRAP if params in ("nope=1", "comm=[1]", 'only="("', 'project="("') else ())
        check("parameters: " + params, r.returncode == 1 and says in re.sub(r"\s+", " ", r.stderr), r.stderr)
    r = sink(p, 'output="%s/none/x"' % TMP, wrap=WRAP)
    check("a file that cannot be written", r.returncode == 1 and "No such file or directory" in re.sub(r"\s+", " ", r.stderr), r.stderr)
    r = sink(p, 'total=5', "svg")
    check("a total of less than there is", r.returncode == 0 and "total, 5, is less than the sum of all, 2000" in r.stderr, r.stderr)
    r = sink(p, 'report="-",output="%s",project="unknown.*1"' % svg, "svg")
    check("the project", r.returncode == 0 and "Spent in: project code 100%" in r.stdout, r.stdout + r.stderr)
    files()
    r = run("help", "sink.flame.svg")
    check("help", r.returncode == 0 and "collapse-recursion" in r.stdout, r.stdout)
    for name in ("version", "parameters"):
        r = run("query", "sink.flame.folded", name, wrap=WRAP)
        check("query " + name, r.returncode == 0 and ("minwidth" in r.stdout or "0." in r.stdout), r.stderr)
    check("query of something else", run("query", "sink.flame.folded", "x").returncode != 0)
    r = run(p, "--component=sink.flame.folded", "--begin=0.000002")
    check("behind the trimmer", r.returncode == 1 and "ends without a beginning" in r.stderr, r.stdout + r.stderr)
    r = run(p, "--component=sink.flame.folded", "--debug-info", wrap=WRAP)
    check("behind debug-info", r.stdout == "prog;[unknown]+0x1 2000\n", r.stdout + r.stderr)
    r = run("run", "--component=src:source.ctf.fs", '--params=inputs=["%s"]' % p, "--component=mux:filter.utils.muxer",
            "--component=out:sink.flame.folded", "--connect=src:mux", "--connect=mux:out")
    check("run with connections", r.stdout == "prog;[unknown]+0x1 2000\n", r.stdout + r.stderr)
    env = dict(os.environ, BABELTRACE_PLUGIN_PATH=PLUGINS)
    r = subprocess.run(["babeltrace2", p, "--component=sink.flame.folded", *MIP], capture_output=True, text=True, env=env)
    check("by BABELTRACE_PLUGIN_PATH", r.stdout == "prog;[unknown]+0x1 2000\n", r.stdout + r.stderr)
    clocks = []
    for i in range(2):
        q = calls("clock-%d" % i, uuid="00000000-0000-0000-0000-00000000000%d" % i)
        q.stream(0).add(2000, q.entry, main, payload=(1,))
        clocks.append(q.write())
    out = os.path.join(TMP, "clocks.folded")
    r = run(*clocks, "--component=sink.flame.folded", '--params=output="%s"' % out, wrap=WRAP)
    check("clocks that cannot be compared: an error, and no file", r.returncode == 1 and not os.path.exists(out), r.stderr)
    t = new("nothing", common=IDS)
    e, s = t.event("app:tick"), t.stream(0)
    s.add(1, e, main)
    folded("a trace without stacks", t.write(), "", "", ["none of the 1 events tells of a stack"], 1, WRAP)


def files():
    """Links are written through, modes stay, names may be as long as names can be."""
    p, folder = os.path.join(TMP, "plain"), os.path.join(TMP, "files")
    os.mkdir(folder)
    real, link, long = (os.path.join(folder, name) for name in ("real", "link", "n" * 255))
    for path in (real, long):
        with open(path, "w", encoding="utf-8") as f:
            f.write("old\n")
    os.chmod(long, 0o600)
    os.symlink("real", link)
    for path in (link, long):
        r = sink(p, 'output="%s"' % path)
        with open(path, encoding="utf-8") as f:
            check("written to " + path[:len(folder) + 5], r.returncode == 0 and f.read() == "prog;[unknown]+0x1 2000\n", r.stderr)
    check("a link stays one", os.path.islink(link))
    check("a file's mode stays", os.stat(long).st_mode & 0o777 == 0o600)
    check("nothing else is left", sorted(os.listdir(folder)) == ["link", "n" * 255, "real"])
    r = sink(p, 'output="%s",report="%s"' % (real, link))
    check("two outputs in one file", r.returncode == 1 and "cannot both be written to" in re.sub(r"\s+", " ", r.stderr), r.stderr)
    r = sink(p, 'output="/dev/null",report="/dev/null"')
    check("two outputs in /dev/null", r.returncode == 0, r.stderr)


def interrupt():
    """Interrupted before its end: what was read is written."""
    t = calls("long")
    s, main = t.stream(0), (7, 7, "prog")
    for i in range(20000):
        s.add(2 * i, t.entry, main, payload=(1,))
        s.add(2 * i + 1, t.exit, main)
        if i % 1000 == 999:
            s.cut()
    p, out = t.write(), os.path.join(TMP, "long.folded")
    # The sinks take turns, and the other one's text fills the pipe long before the trace ends: the signal finds both halfway.
    source = ["--component=%s:source.ctf.fs", '--params=inputs=["%s"]' % p]
    child = subprocess.Popen([*WRAP, "babeltrace2", "--plugin-path=" + PLUGINS, "run", *MIP, source[0] % "a", source[1], source[0] % "b",
                              source[1], "--component=flame:sink.flame.folded", '--params=output="%s"' % out,
                              "--component=text:sink.text.pretty", "--connect=a:flame", "--connect=b:text"],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    child.stdout.readline()
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=60)
    text = open(out, encoding="utf-8").read() if os.path.exists(out) else ""
    calls_seen = int((re.fullmatch(r"prog;\[unknown\]\+0x1 ([1-9][0-9]*)\n", text) or [0, 0])[1])
    check("interrupted", "interrupted" in err and 0 < calls_seen < 20000 and child.returncode != 99, text + err)


def signals(compiler):
    """A signal that ends babeltrace2 while a file is written leaves what was there, and nothing else."""
    source, lib = os.path.join(TMP, "rename.c"), os.path.join(TMP, "rename.so")
    with open(source, "w", encoding="utf-8") as f:
        f.write("""#include <signal.h>
                   #include <stdlib.h>
                   #include <sys/syscall.h>
                   #include <unistd.h>
                   int rename(const char *from, const char *to)
                   {
                       raise(atoi(getenv("RENAME_SIGNAL")));
                       return syscall(SYS_renameat2, -100, from, -100, to, 0);
                   }""")
    if subprocess.run([*compiler, "-shared", "-fPIC", "-o", lib, source], capture_output=True).returncode:
        print("SKIP signals: %s does not compile" % compiler[0])
        return
    p, folder = os.path.join(TMP, "plain"), os.path.join(TMP, "signals")
    out = os.path.join(folder, "out")
    os.mkdir(folder)
    preload = " ".join(filter(None, (os.environ.get("LD_PRELOAD"), lib)))

    def end_by(number, **more):
        with open(out, "w", encoding="utf-8") as f:
            f.write("old\n")
        r = subprocess.run(["babeltrace2", "--plugin-path=" + PLUGINS, p, "--component=sink.flame.folded", *MIP,
                            '--params=output="%s"' % out], capture_output=True, text=True, timeout=60,
                           env=dict(os.environ, LD_PRELOAD=preload, RENAME_SIGNAL=str(int(number))), **more)
        with open(out, encoding="utf-8") as f:
            return r.returncode, f.read(), os.listdir(folder), r.stderr

    for number in (signal.SIGTERM, signal.SIGHUP):
        got = end_by(number, preexec_fn=lambda n=number: signal.signal(n, signal.SIG_DFL))
        check("signals: ended by %d" % number, got[:3] == (-number, "old\n", ["out"]), got)
    # nohup: what is ignored stays so. Ctrl-C is babeltrace2's own, and too late here.
    got = end_by(signal.SIGHUP, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    check("signals: ignored", got[:3] == (0, "prog;[unknown]+0x1 2000\n", ["out"]), got)
    got = end_by(signal.SIGINT)
    check("signals: babeltrace2's own", got[1:3] == ("prog;[unknown]+0x1 2000\n", ["out"]), got)
    r = subprocess.run(["babeltrace2", "--plugin-path=" + PLUGINS, p, "--component=sink.flame.svg", *MIP, '--params=output="%s"' % out],
                       capture_output=True, text=True, timeout=60,
                       preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY)))
    check("signals: a file that is too large", r.returncode == 1 and "File too large" in r.stderr and os.listdir(folder) == ["out"],
          r.stderr)


def together():
    """All that came out well once more, as many sinks of one graph: none knows of another. Under valgrind nothing leaks."""
    args = ["run"]
    for i, (trace, params, name, _) in enumerate(jobs):
        out = 'output="%s"' % os.path.join(TMP, "together-%d" % i)
        args += ["--component=s%d:source.ctf.fs" % i, '--params=inputs=["%s"]' % trace, "--component=m%d:filter.utils.muxer" % i,
                 "--component=k%d:sink.flame.%s" % (i, name), "--params=" + (params + "," if params else "") + out,
                 "--connect=s%d:m%d" % (i, i), "--connect=m%d:k%d" % (i, i)]
    r = run(*args, wrap=WRAP)
    check("together: %d sinks in one graph" % len(jobs), len(jobs) > 40 and r.returncode == 0, r.stderr)
    for i, (trace, params, name, want) in enumerate(jobs):
        with open(os.path.join(TMP, "together-%d" % i), encoding="utf-8") as f:
            check("together: %s %s" % (os.path.basename(trace), params), f.read() == want)


function_tracing()
losses()
processes()
lives()
kernel_lives()
mappings()
symbols(os.environ.get("CC", "cc").split())
samples()
unlike()
spans()
kernel()
if VERSION == 2:
    of_version_2()
command_line()
interrupt()
signals(os.environ.get("CC", "cc").split())
together()
print("%d passed, %d failed" % (passed, failed))
sys.exit(failed != 0)
