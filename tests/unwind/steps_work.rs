// SPDX-License-Identifier: GPL-2.0-or-later
// Work for tests/unwind/step: virtual calls, a map, a closure, recursion, a panic that is caught.
use std::collections::HashMap;

trait Area {
    fn area(&self) -> f64;
}

struct Square(f64);
struct Oblong(f64, f64);

impl Area for Square {
    fn area(&self) -> f64 {
        self.0 * self.0
    }
}

impl Area for Oblong {
    fn area(&self) -> f64 {
        self.0 * self.1
    }
}

fn recurse(depth: u64) -> u64 {
    if depth == 0 {
        1
    } else {
        recurse(depth - 1) + depth
    }
}

fn main() {
    let shapes: Vec<Box<dyn Area>> = vec![Box::new(Square(2.0)), Box::new(Oblong(2.0, 3.0))];
    let mut map = HashMap::new();

    for i in 0..40 {
        map.insert(format!("key {}", i), i);
    }
    let mut values: Vec<_> = map.values().cloned().collect();
    values.sort_by(|a, b| b.cmp(a));
    let area: f64 = shapes.iter().map(|shape| shape.area()).sum();
    println!("{} {:?} {}", area, &values[..3], recurse(6));
    std::panic::set_hook(Box::new(|_| {})); // without a trace, which takes long
    let result = std::panic::catch_unwind(|| {
        if recurse(3) > 2 {
            panic!("too deep");
        }
    });
    println!("{}", result.is_err());
}
