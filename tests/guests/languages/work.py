# SPDX-License-Identifier: GPL-2.0-or-later
"""alpha, beta and gamma have 6, 3 and 1 tenths of the work; work.* are alike in all languages."""


def alpha(rounds):
    total = 1
    for i in range(rounds):
        total = (total * 31 + i) % 65521
    return total


def beta(rounds):
    total = 2
    for i in range(rounds):
        total = (total * 31 + i) % 65521
    return total


def gamma(rounds):
    total = 3
    for i in range(rounds):
        total = (total * 31 + i) % 65521
    return total


def cycle(unit):
    return alpha(6 * unit) + beta(3 * unit) + gamma(unit)


while True:
    cycle(10000)
