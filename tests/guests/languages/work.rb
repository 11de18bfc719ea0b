# SPDX-License-Identifier: GPL-2.0-or-later
# alpha, beta and gamma have 6, 3 and 1 tenths of the work; work.* are alike in all languages.

def alpha(rounds)
  sum = 1
  i = 0
  while i < rounds
    sum = (sum * 31 + i) % 65521
    i += 1
  end
  sum
end

def beta(rounds)
  sum = 2
  i = 0
  while i < rounds
    sum = (sum * 31 + i) % 65521
    i += 1
  end
  sum
end

def gamma(rounds)
  sum = 3
  i = 0
  while i < rounds
    sum = (sum * 31 + i) % 65521
    i += 1
  end
  sum
end

def cycle(unit)
  alpha(6 * unit) + beta(3 * unit) + gamma(unit)
end

cycle(10_000) while true
