#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""again.py JSON BEFORE AFTER - what fgdiff --to json says of two folded files, computed in another way: exact
tests with fractions of whole numbers, score intervals as roots of their equation."""
import json
import sys
from fractions import Fraction
from math import comb, sqrt
from statistics import NormalDist


def read(name):
    with open(name, encoding='utf-8') as f:
        return [(tuple(line.rsplit(' ', 1)[0].split(';')), int(line.rsplit(' ', 1)[1])) for line in f]


def sums(lines, paths):
    total, self = {}, {}
    for stack, n in lines:
        keys = {stack[:i + 1] for i in range(len(stack))} if paths else {(name,) for name in stack}
        for key in keys:
            total[key] = total.get(key, 0) + n
        leaf = stack if paths else stack[-1:]
        self[leaf] = self.get(leaf, 0) + n
    return total, self


def fisher(k1, n1, k2, n2):
    k, low, high = k1 + k2, max(0, k1 + k2 - n1), min(k1 + k2, n2)
    ways = {low: comb(n1, k - low) * comb(n2, low)}
    for j in range(low, high):
        ways[j + 1] = ways[j] * (n2 - j) * (k - j) // ((j + 1) * (n1 - k + j + 1))
    tail = min(sum(w for j, w in ways.items() if j >= k2), sum(w for j, w in ways.items() if j <= k2))
    every = comb(n1 + n2, k)
    return (min(Fraction(1), Fraction(2 * tail, every)), min(Fraction(1), Fraction(2 * min(ways[low], ways[high]), every)))


def score(p, n, z):
    a, b, c = 1 + z * z / n, -(2 * p + z * z / n), p * p
    d = sqrt(max(0, b * b - 4 * a * c))
    return (-b - d) / (2 * a), (-b + d) / (2 * a)


def newcombe(p1, n1, p2, n2, z):
    (l1, u1), (l2, u2) = score(p1, n1, z), score(p2, n2, z)
    return p2 - p1 - sqrt((p2 - l2) ** 2 + (u1 - p1) ** 2), p2 - p1 + sqrt((u2 - p2) ** 2 + (p1 - l1) ** 2)


def corrected(tests, alpha):
    """Tarone's choice of tests, Holm's correction."""
    count = next(k for k in range(1, len(tests) + 2) if sum(t[1] <= alpha / k for t in tests.values()) <= k)
    able = sorted((t[0], key) for key, t in tests.items() if t[1] <= alpha / count)
    answers, last = {}, Fraction(0)
    for i, (p, key) in enumerate(able):
        last = max(last, min(Fraction(1), p * (len(able) - i)))
        answers[key] = last
    return answers


def near(got, want, slack):
    return abs(got - want) <= slack


def shrunk(n, test, side):
    """Samples of one run are alike, by 1 / run_size."""
    alike = 1 + n / test['runs'][side] / test['run_size'] if test['run_size'] else 1
    return n / max(test['dispersion'], alike)


def check(doc, before, after, paths):
    n1, n2 = sum(n for _, n in before), sum(n for _, n in after)
    m1, m2 = shrunk(n1, doc['test'], 0), shrunk(n2, doc['test'], 1)
    sides = [sums(before, paths), sums(after, paths)]
    alpha = Fraction(str(100 - Fraction(str(doc['test']['confidence'])))) / 100
    z = NormalDist().inv_cdf(1 - float(alpha) / 2)
    keys = [(key, what) for what in (0, 1) for key in set(sides[0][what]) | set(sides[1][what])]
    counts = {k: (sides[0][k[1]].get(k[0], 0), sides[1][k[1]].get(k[0], 0)) for k in keys}
    tests = {k: fisher(round(a / n1 * round(m1)), round(m1), round(b / n2 * round(m2)), round(m2)) for k, (a, b) in counts.items()}
    right = corrected(tests, alpha)
    entries = doc['paths' if paths else 'functions']
    assert len(entries) == len({k[0] for k in keys}), 'number of entries'
    assert doc['paths_test' if paths else 'test']['tested'] == len(right), 'number of tests'
    for entry in entries:
        key = tuple(entry['path']) if paths else (entry['name'],)
        for what, part in enumerate((entry['total'], entry['self'])):
            a, b = counts.get((key, what), (0, 0))
            low, high = newcombe(a / n1, m1, b / n2, m2, z)
            p = tests.get((key, what), (1, 1))[0]
            adjusted = right.get((key, what), Fraction(1))
            assert (part['before'], part['after'], part['delta']) == (a, b, b - a), key
            assert near(part['change'], 100 * (b / n2 - a / n1), 6e-5), key
            assert near(part['interval'][0], 100 * low, 1e-4) and near(part['interval'][1], 100 * high, 1e-4), key
            assert near(part['p'], float(p), 0.006 * float(p)), key
            assert near(part['p_corrected'], float(adjusted), 0.006 * float(adjusted)), key
            assert part['significant'] == (adjusted <= alpha), key
        assert entry['significant'] == (entry['total']['significant'] or entry['self']['significant']), key


def main():
    with open(sys.argv[1], encoding='utf-8') as f:
        doc = json.load(f)
    before, after = read(sys.argv[2]), read(sys.argv[3])
    what = ' '.join(sys.argv[2:]) + ' %g, run size %g, dispersion %g' % tuple(doc['test'][k] for k in ('confidence', 'run_size', 'dispersion'))
    try:
        check(doc, before, after, False)
        check(doc, before, after, True)
        print('ok', what)
    except AssertionError as e:
        print('not ok', what, e)


main()
