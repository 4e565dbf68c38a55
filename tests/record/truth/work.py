# SPDX-License-Identifier: MIT
"""34% of the time in json_encode(), 66% in parse()."""
import sys
import time

SINK = 1


def json_encode(rounds):
    x = SINK
    for i in range(rounds):
        x = (x * 31 + i) % 1000003
    return x


def parse(rounds):
    x = SINK
    for i in range(rounds):
        x = (x * 31 + i) % 1000003
    return x


def handle_request():
    return json_encode(3400) + parse(6600)


end = time.time() + float(sys.argv[1])
while time.time() < end:
    handle_request()
