# SPDX-License-Identifier: GPL-2.0-or-later
"""A shop: four threads serve orders, and each order waits for the one lock of the store."""
import threading
import time

store = threading.Lock()


def price(order):
    return sum(item * item % 97 for item in range(order % 400 + 2000))


def write(order):
    time.sleep(0.03)
    return price(order)


def serve(first):
    order = first
    while True:
        with store:
            write(order)
        price(order)
        order += 4


for number in range(4):
    threading.Thread(target=serve, args=(number,), name="shop-%d" % number).start()
