#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""v8_sums.py FILE [events] - what fgconv should make of a V8 profile or a Chrome trace, worked out anew.

Prints folded text. For traces: the CPU samples, or with "events" the time of X events by thread, which is that of the
events less that of the ones inside.
"""
import collections
import json
import re
import sys

sys.setrecursionlimit(100000)


def name_of(call):
    url = call.get('url') or ''
    if call.get('functionName') or not url:
        return call.get('functionName') or '(anonymous)'
    line = call.get('lineNumber', -1) + 1
    return '(anonymous) ' + re.split('[?#]', url)[0].rsplit('/', 1)[-1] + (':%d' % line if line > 0 else '')


def cpu(nodes, samples, deltas, end):
    parent, names, out = {}, {}, collections.Counter()
    for node in nodes:
        names[node['id']] = name_of(node['callFrame'])
        if 'parent' in node:
            parent[node['id']] = node['parent']
        for child in node.get('children', []):
            parent[child] = node['id']

    def path(node):
        frames = []
        while node is not None:
            frames.insert(0, names[node])
            node = parent.get(node)
        return frames[1:] if frames[0] == '(root)' and len(frames) > 1 else frames

    raw, now, before, last = 0, None, None, []
    for sample, delta in zip(samples, deltas):
        raw += delta
        at = raw if now is None else max(now, raw)
        if before is not None:
            out[before] += at - now
        now, frames = at, path(sample)
        if frames in (['(program)'], ['(garbage collector)']):
            frames = last + frames
        else:
            last = [] if frames == ['(idle)'] else frames
        before = ';'.join(frames)
    if end is not None and end > now:
        out[before] += end - now
    return out


def heap(node, above, out):
    frames = above + [name_of(node['callFrame'])]
    shown = frames[1:] if frames[0] == '(root)' and len(frames) > 1 else frames
    out[';'.join(shown)] += node['selfSize']
    for child in node['children']:
        heap(child, frames, out)
    return out


def chunks(events):
    profiles = collections.OrderedDict()
    for event in events:
        if event['name'] not in ('Profile', 'ProfileChunk'):
            continue
        p = profiles.setdefault((event['pid'], event['id']), {'nodes': [], 'samples': [], 'deltas': []})
        data = event['args'].get('data', {})
        for key in ('startTime', 'endTime'):
            p[key] = data.get(key, p.get(key))
        p['nodes'] += data.get('cpuProfile', {}).get('nodes', [])
        p['samples'] += data.get('cpuProfile', {}).get('samples', [])
        p['deltas'] += data.get('timeDeltas', [])
    out = collections.Counter()
    for p in profiles.values():
        out += cpu(p['nodes'], p['samples'], p['deltas'],
                   p['endTime'] - p['startTime'] if p['endTime'] else None)
    return out


def durations(events):
    names, threads, out = {}, collections.defaultdict(list), collections.Counter()
    for event in events:
        key = (event['pid'], event.get('tid', 0))
        if event['ph'] == 'M' and event['name'] == 'thread_name':
            names[key] = event['args']['name']
        if event['ph'] == 'X':
            threads[key].append((event['ts'], -event['dur'], event['name']))
    for key, found in threads.items():
        stack = []
        for ts, minus, name in sorted(found, key=lambda e: e[:2]):
            while stack and stack[-1][0] <= ts:
                stack.pop()
            path = (stack[-1][1] if stack else names.get(key, 'tid %d' % key[1])) + ';' + name
            out[path] -= minus
            if stack:
                out[stack[-1][1]] += minus
            stack.append((ts - minus, path))
    return out


def main():
    whole = json.load(open(sys.argv[1]))
    events = whole if isinstance(whole, list) else whole.get('traceEvents')
    if events is not None:
        out = durations(events) if len(sys.argv) > 2 else chunks(events)
    elif 'head' in whole:
        out = heap(whole['head'], [], collections.Counter())
    else:
        out = cpu(whole['nodes'], whole['samples'], whole['timeDeltas'], whole['endTime'] - whole['startTime'])
    for stack, value in out.items():
        if value:
            print(stack.replace('\n', '?'), value)


main()
