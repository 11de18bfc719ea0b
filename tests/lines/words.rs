// SPDX-License-Identifier: GPL-2.0-or-later
//! Closures, iterators and inlined functions, for tests/lines/programs. Which words come how often.
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write;

fn main() {
    let text: Vec<String> = std::env::args().collect();
    let mut words: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (i, word) in text.iter().flat_map(|line| line.split(' ')).enumerate() {
        words.entry(word.to_lowercase()).or_default().push(i);
    }
    let mut counts: HashMap<usize, VecDeque<&str>> = HashMap::new();
    for (word, places) in &words {
        counts.entry(places.len()).or_default().push_back(word);
    }
    let mut all: Vec<_> = counts.iter().collect();
    all.sort_by(|a, b| b.0.cmp(a.0).then(a.1.len().cmp(&b.1.len())));
    let mut out = String::new();
    for (n, words) in all {
        writeln!(out, "{} {:?}", n, words).unwrap();
    }
    print!("{}", out);
}
