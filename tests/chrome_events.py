#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""chrome_events.py PROGRAM FIRST COUNT - traces of random events, and what fgconv makes of them.

Makes COUNT traces, numbered from FIRST: threads whose events nest, written by start, by end, as B and E, mixed or
shuffled, then spoilt: times that are equal, durations of nothing, ends and begins that are missing, overlaps, a file
that is cut off. Runs PROGRAM on each, and compares with sums that are worked out here by time slices. Prints the
numbers of those that differ, with what differs first. Where COUNT is 1 the trace stays, as FIRST.json.
"""
import collections
import json
import os
import random
import subprocess
import sys
import tempfile
from decimal import Decimal

NAMES = ['main', 'draw', 'read', 'a', 'b', 'a long name of an event', 'GC']
FOREVER = float('inf')


# ---- traces ----

def grow(rng, length, step):
    """Events of one thread, by their end: (start, end, name)."""
    done, stack, now = [], [], rng.choice([0, 0, 5000, -3000000, 1 << 50])
    deepest = rng.choice([1, 3, 12])
    while len(done) < length:
        now += rng.choice([0, step, step * 3, step * 50]) if rng.random() < .9 else 0
        if len(stack) < deepest and rng.random() < .55:
            stack.append((now, rng.choice(NAMES)))
        elif stack:
            start, name = stack.pop()
            done.append((start, now, name))
    return done


def written(rng, spans, how):
    """The spans as events: phase, time, duration, name."""
    if how == 'end':
        return [('X', s, e - s, n) for s, e, n in spans]
    if how == 'start':
        return [('X', s, e - s, n) for s, e, n in sorted(spans, key=lambda x: (x[0], -x[1]))]
    out = []
    for i, (s, e, n) in enumerate(spans):
        if how == 'mixed' and rng.random() < .5:
            out.append(((s, -e, 0), ('X', s, e - s, n)))
        else:
            # Spans are known by their end: of two that end at once the inner one comes first.
            out.append(((s, -e, -i), ('B', s, None, n)))
            out.append(((e, FOREVER if e > s else -e, i), ('E', e, None, n)))
    return [event for _, event in sorted(out, key=lambda x: x[0])]


def spoil(rng, events):
    out = []
    for ph, ts, dur, name in events:
        dice = rng.random()
        if dice < .04:
            continue
        if dice < .08:
            ts = max(ts - rng.randint(0, 20000), -(1 << 60))
        elif dice < .12 and dur is not None:
            dur += rng.randint(0, 30000)
        elif dice < .14 and ph == 'E':
            name = rng.choice(NAMES)
        elif dice < .16 and ph == 'E':
            name = None
        out.append((ph, ts, dur, name))
    return out


def microseconds(rng, ns):
    text = str(Decimal(ns) / 1000)
    return '"%s"' % text if rng.random() < .02 else text


def members(rng, thread, event):
    ph, ts, dur, name = event
    pairs = [('ph', '"%s"' % ph), ('pid', str(thread[0])), ('tid', json.dumps(thread[1])),
             ('ts', microseconds(rng, ts))]
    if name is not None:
        pairs.append(('name', json.dumps(name)))
    if dur is not None:
        pairs.append(('dur', microseconds(rng, dur)))
    if rng.random() < .1:
        pairs.append(('args', '{"name":"x","data":{"nodes":[1,2]}}'))
    if rng.random() < .1:
        pairs.append(('id', '"0x%x"' % rng.randint(0, 99)))
    if rng.random() < .1:
        rng.shuffle(pairs)
    return '{' + ','.join('"%s":%s' % pair for pair in pairs) + '}'


def interleave(rng, lists):
    out, lists = [], [collections.deque(x) for x in lists if x]
    while lists:
        at = rng.randrange(len(lists))
        for _ in range(rng.choice([1, 1, 5, 100])):
            if lists[at]:
                out.append(lists[at].popleft())
        if not lists[at]:
            lists.pop(at)
    return out


def trace(rng):
    """Return: the text, and its events in order: (thread, event)."""
    threads = [(rng.randint(1, 3), rng.choice([i, i, 'T%d' % i])) for i in range(rng.choice([1, 1, 2, 7]))]
    threads = list(dict.fromkeys(threads))
    step, lists = rng.choice([1, 1000, 1000, 250000]), []
    for thread in threads:
        how = rng.choice(['start', 'end', 'pairs', 'mixed'])
        events = written(rng, grow(rng, rng.choice([1, 5, 40, 400]), step), how)
        if rng.random() < .4:
            events = spoil(rng, events)
        if rng.random() < .15:
            rng.shuffle(events)
        lists.append([(thread, event) for event in events])
    events = interleave(rng, lists)
    lines = [members(rng, *event) for event in events]
    for i in range(rng.choice([0, 0, 3])):
        at = rng.randint(0, len(lines))
        lines.insert(at, '{"ph":"%s","name":"other","pid":1,"tid":1,"ts":%d,"id":"%d"}' % (rng.choice('iCsfnR'), i, i))
        events.insert(at, None)
    names = {}
    for thread in threads:
        if rng.random() < .6:
            names[thread] = 'thread %s' % thread[1]
            lines.append('{"ph":"M","name":"thread_name","pid":%d,"tid":%s,"args":{"name":"%s"}}'
                         % (thread[0], json.dumps(thread[1]), names[thread]))
            events.append(None)
    head, tail = ('[\n', '\n]\n') if rng.random() < .5 else ('{"x":[1],"traceEvents":[\n', '\n],"metadata":{}}\n')
    text = head + ',\n'.join(lines) + tail
    if rng.random() < .15 and not names:
        text = text[:rng.randint(len(head), len(text))]
        whole = text[len(head):].split('\n')
        events = [e for i, e in enumerate(events) if i < len(whole) and whole[i].rstrip(',') == lines[i]]
    return text, [e for e in events if e], names


# ---- sums ----

class Clock:
    """A thread's open events as time goes by: [end, name, path, begun], FOREVER for a B."""

    def __init__(self, out, root, window):
        self.open, self.out, self.root, self.window, self.now = [], out, root, window, None
        self.early = None, []

    def give(self, until):
        start, end = max(self.now, self.window[0]), min(until, self.window[1])
        if self.open and end > start:
            self.out[self.open[-1][2]] += end - start
        self.now = max(self.now, until)

    def run(self, until, is_end):
        while self.open:
            end = min(x[0] for x in self.open)
            if end == FOREVER or end > until or (end == until and is_end):
                break
            self.close_first(end)
        self.give(until)

    def close_first(self, end):
        self.give(end)
        at = max(i for i, x in enumerate(self.open) if x[0] == end)
        self.close(at)

    def close(self, at):
        after = self.open[at][3] < self.now
        inner = [x for x in self.open[at + 1:]
                 if (x[0] > self.now if x[0] != FOREVER else after and x[3] == self.now)]
        self.open[at:] = []
        for end, name, _, begun in inner:
            self.begin(end, name, begun)

    def begin(self, end, name, begun):
        above = self.open[-1][2] if self.open else self.root
        self.open.append([end, name, above + (name,), begun])

    def begin_b(self, name, ts):
        """An E that was not wanted may stand before its B at the same time."""
        if self.early[0] == ts and name in self.early[1]:
            self.early[1].remove(name)
        else:
            self.begin(FOREVER, name, ts)

    def end(self, name, ts):
        for at in range(len(self.open) - 1, max(len(self.open) - 1025, -1), -1):
            if self.open[at][0] == FOREVER and name in (None, self.open[at][1]):
                self.close(at)
                return
        if self.early[0] != ts:
            self.early = ts, []
        if name is not None and len(self.early[1]) < 16:
            self.early[1].append(name)

    def finish(self):
        while self.open:
            if self.open[-1][0] == FOREVER:
                self.open.pop()
            else:
                self.close_first(min(x[0] for x in self.open))


def sums(events, names, by_thread, window):
    out, threads = collections.Counter(), collections.OrderedDict()
    for thread, event in events:
        threads.setdefault(thread, []).append(event)
    first = min(event[1] for _, event in events)
    limits = (first + window[0], first + window[1]) if window else (-FOREVER, FOREVER)
    for thread, found in threads.items():
        text = names.get(thread, thread[1] if isinstance(thread[1], str) else 'tid %d' % thread[1])
        clock = Clock(out, (text,) if by_thread else (), limits)
        found.sort(key=lambda e: (e[1], 0 if e[0] != 'X' else 1, -(e[2] or 0)))
        clock.now = found[0][1]
        for ph, ts, dur, name in found:
            clock.run(ts, ph == 'E')
            if ph == 'E':
                clock.end(name, ts)
            elif ph == 'B':
                clock.begin_b(name, ts)
            else:
                clock.begin(ts + dur, name, ts)
        clock.finish()
    return {';'.join(path): Decimal(ns) / 1000 for path, ns in out.items() if ns}


def parse(text):
    out = {}
    for line in text.splitlines():
        stack, value = line.rsplit(' ', 1)
        out[stack] = Decimal(value)
    return out


def differs(program, number, path):
    rng = random.Random(number)
    text, events, names = trace(rng)
    if not events:
        return None
    by_thread, window = rng.random() < .5, None
    if rng.random() < .2:
        window = (rng.randint(0, 3) * 1000000, rng.randint(4, 400) * 1000000)
    with open(path, 'w') as f:
        f.write(text)
    command = [program, '-q', '--from', 'chrome', '--event', 'events']
    command += ['--threads'] if by_thread else []
    command += ['--time', '%g,%g' % (window[0] / 1e9, window[1] / 1e9)] if window else []
    want = sums(events, names, by_thread, window)
    done = subprocess.run(command + [path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if not want:
        return None if done.returncode == 1 else 'exit %d where there is no time' % done.returncode
    if done.returncode not in (0, 3):
        return 'exit %d: %s' % (done.returncode, done.stderr[:200])
    got = parse(done.stdout)
    for stack in sorted(set(want) | set(got)):
        if want.get(stack) != got.get(stack):
            return '%s: %s, not %s' % (stack, got.get(stack), want.get(stack))
    return None


def main():
    program, first, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    bad = 0
    with tempfile.TemporaryDirectory() as tmp:
        for number in range(first, first + count):
            path = '%d.json' % number if count == 1 else os.path.join(tmp, 'json')
            why = differs(program, number, path)
            if why:
                print('%d: %s' % (number, why))
                bad += 1
    return 1 if bad else 0


sys.exit(main())
