# SPDX-License-Identifier: GPL-2.0-or-later
"""Work for Python's interpreter: text, dictionaries, sorting, objects."""


class Account:
    def __init__(self, name, amount):
        self.name = name
        self.amount = amount

    def key(self):
        return self.amount % 97, self.name


def words(n):
    return ["word%d" % (i * 7919 % 1009) for i in range(n)]


def count(text):
    counts = {}
    for word in text.split():
        counts[word] = counts.get(word, 0) + 1
    return counts


while True:
    text = " ".join(words(5000))
    accounts = [Account(name, n) for name, n in count(text).items()]
    accounts.sort(key=Account.key)
    total = sum(account.amount for account in accounts)
