#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""pprof - a large profile as Go's runtime/pprof writes it, not compressed, the same bytes each time.

    pprof.py REAL.pprof.gz MEGABYTES [labels] > FILE

Locations, functions, mappings and names are those of REAL. Samples are its stacks, recombined: from a location that two have, one
goes on as the other, so each call is one that was recorded. Go sums what is equal, so a profile gets this large in two ways: by
different stacks, here no two are the same; or by labels. With "labels" each sample has three as tracers set them, an endpoint, a
request's number and that of its root, a request has three samples on average, and 100,000 draws of stacks, of which some 16,000
are different, come again and again.
"""
import gzip
import itertools
import random
import sys

DEPTH_MAX = 64      # frames that Go keeps
KEPT = 100000       # stacks that come again and again with other labels
JOINED = 3          # real stacks that one is made of

def varint(n):
    out = bytearray()
    while n > 0x7f:
        out.append(n & 0x7f | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)

def read_varint(b, i):
    n = shift = 0
    while True:
        c = b[i]
        i += 1
        n |= (c & 0x7f) << shift
        shift += 7
        if c < 0x80:
            return n, i

def fields(b):
    """(number, value, the field's bytes): Go's profiles have only varints and bytes."""
    i = 0
    while i < len(b):
        start = i
        tag, i = read_varint(b, i)
        value, i = read_varint(b, i)
        if tag & 7 == 2:
            value, i = b[i:i + value], i + value
        yield tag >> 3, value, b[start:i]

def numbers(packed):
    out, i = [], 0
    while i < len(packed):
        n, i = read_varint(packed, i)
        out.append(n)
    return out

def repeated(nr, encoded):
    """Go packs more than two numbers."""
    if len(encoded) > 2:
        return message(nr, b''.join(encoded))
    return b''.join(bytes([nr << 3]) + n for n in encoded)

def message(nr, content):
    return bytes([nr << 3 | 2]) + varint(len(content)) + content

def read(path):
    """Return: the stacks as tuples of ids, the leaf's first; what stands before and behind them; how many strings there are."""
    stacks, before, behind, nr_strings = [], [], [], 0
    for nr, value, whole in fields(gzip.open(path).read()):
        if nr == 2:
            stack = []
            for ids in (v for n, v, _ in fields(value) if n == 1):
                stack += numbers(ids) if isinstance(ids, bytes) else [ids]
            stacks.append(tuple(stack))
        else:
            (behind if stacks else before).append(whole)
            nr_strings += nr == 6
    return stacks, b''.join(before), b''.join(behind), nr_strings

def recombined(real, different):
    """Stacks without end, each location called by one that called it in a real stack."""
    have = {}
    for stack in real:
        for i, id in enumerate(stack):
            have.setdefault(id, []).append((stack, i))
    pick, seen = random.random, set()
    while True:
        made = real[int(pick() * len(real))]
        for _ in range(JOINED - 1):
            at = int(pick() * len(made))
            places = have[made[at]]
            stack, i = places[int(pick() * len(places))]
            made = stack[:i] + made[at:]
        if len(made) > DEPTH_MAX or hash(made) in seen:
            continue
        if different:
            seen.add(hash(made))
        yield made

def again(stacks):
    """The first of them again and again, some much more often than others."""
    kept = list(itertools.islice(stacks, KEPT))
    while True:
        yield kept[int(random.random() ** 3 * KEPT)]

class Labels:
    """Messages of labels, and the strings that they add to the table."""
    def __init__(self, nr_strings):
        self.strings, self.nr, self.nr_bytes = [], nr_strings, 0
        self.keys = [self.add(k) for k in ('trace endpoint', 'span id', 'local root span id')]
        self.endpoints = [self.add('GET /api/v1/resource%d' % i) for i in range(40)]
        self.sets = []

    def add(self, text):
        self.strings.append(message(6, text.encode()))
        self.nr_bytes += len(self.strings[-1])
        self.nr += 1
        return self.nr - 1

    def label(self, key, value):
        return message(3, b'\x08' + varint(key) + b'\x10' + varint(value))

    def next(self):
        if len(self.sets) < 64 or random.random() < 1 / 3:
            values = random.choice(self.endpoints), *(self.add(str(random.getrandbits(63))) for _ in range(2))
            new = b''.join(map(self.label, self.keys, values))
            if len(self.sets) < 64:
                self.sets.append(new)
            else:
                self.sets[int(random.random() * 64)] = new
            return new
        return self.sets[int(random.random() * 64)]

def main():
    random.seed(1)
    real, before, behind, nr_strings = read(sys.argv[1])
    left = float(sys.argv[2]) * 1e6 - len(before) - len(behind)
    labels = Labels(nr_strings) if sys.argv[3:] == ['labels'] else None
    encoded = {id: varint(id) for stack in real for id in stack}
    values = repeated(2, [varint(1), varint(10000000)])
    out = sys.stdout.buffer
    out.write(before)
    stacks = (repeated(1, [encoded[id] for id in stack]) for stack in recombined(real, not labels))
    if labels:
        stacks = again(stacks)
    for ids in stacks:
        sample = message(2, ids + values + (labels.next() if labels else b''))
        out.write(sample)
        left -= len(sample)
        if left <= (labels.nr_bytes if labels else 0):
            break
    out.write(behind)
    if labels:
        out.write(b''.join(labels.strings))

if __name__ == '__main__':
    main()
