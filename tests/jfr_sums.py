#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""jfr_sums.py FILE.json - what fgconv should make of a recording, worked out anew from the JDK's own reading of it.

FILE.json is what `jfr print --json --stack-depth 2048 FILE.jfr` says. Of each event that has a stack, and of the groups that
are added, all stacks and their values by several options are summed up, a line each as in tests/cases/jfr/expected.tsv:
options, number of stacks, sum, and the folded text's CRC as `cksum` computes it.

With a second argument, the path of fgconv, and a third, that of the recording, these are compared: prints what differs, and
"ok" or "not ok" with the number of comparisons.
"""
import collections
import json
import re
import subprocess
import sys

# Field of the value, field of the leaf frame; other events are timed where they have a duration, else counted.
EVENTS = {
    'jdk.ExecutionSample': (None, None), 'jdk.NativeMethodSample': (None, None), 'jdk.CPUTimeSample': ('samplingPeriod', None),
    'jdk.ObjectAllocationInNewTLAB': ('tlabSize', 'objectClass'), 'jdk.ObjectAllocationOutsideTLAB': ('allocationSize', 'objectClass'),
    'jdk.ObjectAllocationSample': ('weight', 'objectClass'), 'jdk.OldObjectSample': ('objectSize', 'object'),
    'jdk.JavaMonitorEnter': ('duration', 'monitorClass'), 'jdk.ThreadPark': ('duration', 'parkedClass'),
    'jdk.JavaMonitorWait': ('duration', 'monitorClass'), 'jdk.MethodTrace': ('duration', 'method'),
    'jdk.JavaExceptionThrow': (None, None), 'jdk.JavaErrorThrow': (None, None),
}
GROUPS = {
    'lock': ['jdk.JavaMonitorEnter', 'jdk.ThreadPark'], 'file': ['jdk.FileRead', 'jdk.FileWrite', 'jdk.FileForce'],
    'alloc:TLAB': ['jdk.ObjectAllocationInNewTLAB', 'jdk.ObjectAllocationOutsideTLAB'], 'socket': ['jdk.SocketRead', 'jdk.SocketWrite'],
}
OPTIONS = ['', '--count', '--threads', '--threads --count', '--lines', '--bci --count', '--dot', '--all --count']
MARKS = {'Interpreted': '_[0]', 'JIT compiled': '_[j]', 'C1 compiled': '_[1]', 'Inlined': '_[i]', 'Native': '', 'Kernel': '_[k]'}
PRIMITIVES = dict(B='byte', C='char', D='double', F='float', I='int', J='long', S='short', Z='boolean')


def nanoseconds(text):
    """PT1H2M3.004S is an ISO 8601 duration, which has a sign at each part."""
    if not isinstance(text, str):
        return int(text or 0)
    hours, minutes, seconds, rest = re.fullmatch(r'PT(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?\d+)(?:\.(\d+))?S)?', text).groups()
    return ((int(hours or 0) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)) * 10**9 + int((rest or '').ljust(9, '0')[:9])


def legible(name):
    return re.sub('[\r\n]', ' ', name.replace(';', ':'))


def class_name(name):
    element = name.lstrip('[')
    dimensions = len(name) - len(element)
    if dimensions:
        element = element[1:-1] if element[0] == 'L' else PRIMITIVES.get(element, element)
    return legible(element.replace('/', '.') + '[]' * dimensions)


def method_name(method, dots):
    if not method or not method.get('name'):
        return '[unknown]'
    owner = (method.get('type') or {}).get('name') or ''
    if dots:
        owner = owner.replace('/', '.')
    return legible((owner + '.' if owner else '') + method['name'])


def frame_name(frame, options):
    name = method_name(frame.get('method'), '--dot' in options)
    if name == '[unknown]':
        return name
    if '--lines' in options and frame['lineNumber'] > 0:
        name += ':%d' % frame['lineNumber']
    if '--bci' in options and frame['bytecodeIndex'] > 0:
        name += '@%d' % frame['bytecodeIndex']
    return name + (MARKS[frame['type']] if '--all' in options else '')


def leaf_name(event, field, options):
    leaf = event['values'].get(field) if field else None
    if field == 'object' and leaf:
        leaf = leaf.get('type')
    if not leaf or not leaf.get('name'):
        return []
    if field == 'method':
        return [method_name(leaf, '--dot' in options) + ('_[j]' if '--all' in options else '')]
    outside = event['type'] == 'jdk.ObjectAllocationOutsideTLAB'
    return [class_name(leaf['name']) + ('' if '--all' not in options else '_[k]' if outside else '_[i]')]


def thread_name(values):
    thread = values.get('sampledThread' if 'sampledThread' in values else 'eventThread') or {}
    name = thread.get('javaName') or thread.get('osName')
    tid = 'tid=%d' % (thread.get('osThreadId') or thread.get('javaThreadId') or 0)
    return '[%s %s]' % (name, tid) if name else '[%s]' % tid


def stack_of(event, leaf, options):
    values = event['values']
    stack = values.get('stackTrace') or {}
    frames = [thread_name(values)] if '--threads' in options else []
    if not stack.get('frames'):
        frames.append('[unknown]')
    elif stack.get('truncated'):
        frames.append('[truncated]')
    frames += [frame_name(f, options) for f in reversed(stack.get('frames') or [])]
    return ';'.join(frames + leaf_name(event, leaf, options))


def fold(events, options):
    sums = collections.Counter()
    for event in events:
        amount, leaf = EVENTS.get(event['type'], ('duration', None))
        counted = '--count' in options or amount not in event['values']
        sums[stack_of(event, leaf, options)] += 1 if counted else nanoseconds(event['values'][amount])
    return +sums


def crc(data):
    """POSIX cksum."""
    value = 0
    length = len(data)
    while length:
        data += bytes([length & 0xff])
        length >>= 8
    for byte in data:
        value ^= byte << 24
        for _ in range(8):
            value = (value << 1 ^ (0x04c11db7 if value & 0x80000000 else 0)) & 0xffffffff
    return value ^ 0xffffffff


def text_of(sums):
    lines = sorted(b'%s %d\n' % (stack.encode('utf-8', 'surrogatepass'), value) for stack, value in sums.items())
    return b''.join(line for line in lines if not line.startswith(b'[unknown]'))


def jobs(recording):
    """Name for --event, its events, options."""
    by_type = collections.defaultdict(list)
    for event in recording['recording']['events']:
        if 'stackTrace' in event['values'] and event['type'] != 'jdk.ActiveSetting':
            by_type[event['type']].append(event)
    for name, parts in GROUPS.items():
        by_type[name] = [event for part in parts for event in by_type.get(part, [])]
    for name in sorted(name for name in by_type if by_type[name]):
        for options in OPTIONS:
            yield name, by_type[name], options.split()
        states = {event['values'].get('state') for event in by_type[name]} - {None}
        for state in sorted(states):
            yield name, [event for event in by_type[name] if event['values']['state'] == state], ['--count', '--state', state]


def read(fgconv, recording, name, options):
    out = subprocess.run([fgconv, '-q', '--event', name, *options, recording], capture_output=True, check=False).stdout
    sums = collections.Counter()
    for line in out.splitlines():
        stack, value = line.rsplit(b' ', 1)
        sums[stack] += int(value)
    return sums


def main():
    with open(sys.argv[1], encoding='utf-8') as f:
        recording = json.load(f)
    done = bad = 0
    for name, events, options in jobs(recording):
        want = fold(events, options)
        text = text_of(want)
        if len(sys.argv) < 4:
            total = sum(int(line.rsplit(b' ', 1)[1]) for line in text.splitlines())
            print('%d\t%d\t%d\t%s' % (text.count(b'\n'), total, crc(text), ' '.join(options + ['--event', name])))
            continue
        want = {stack.encode('utf-8', 'surrogatepass'): value for stack, value in want.items()}
        got = read(sys.argv[2], sys.argv[3], name, options)
        done += 1
        if want != got:
            bad += 1
            odd = [k for k in sorted({*want, *got}) if want.get(k) != got.get(k)]
            print('--event %s %s: %d stacks differ' % (name, ' '.join(options), len(odd)))
            for stack in odd[:3]:
                print('\t%s, not %s: %s' % (got.get(stack), want.get(stack), stack.decode('utf-8', 'replace')))
    if len(sys.argv) > 3:
        print('%s: %d comparisons, %d differ' % ('not ok' if bad or not done else 'ok', done, bad))
    sys.exit(1 if bad else 0)


main()
