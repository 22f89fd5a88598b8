//! Hostile inputs, made from samples and by hand; equal seeds produce equal inputs.

use crate::format::{Format, Sniff};

/// Splitmix64: small, and enough to choose bytes to spoil.
#[derive(Clone, Debug)]
pub struct SeededRng {
    state: u64,
}

impl SeededRng {
    /// A generator; equal seeds give equal sequences.
    pub const fn new(seed: u64) -> SeededRng {
        SeededRng { state: seed }
    }

    /// The next 64 bits.
    pub const fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        laggard_model::mix64(self.state)
    }

    /// A number in `0..limit`; 0 when the limit is 0.
    pub const fn below(&mut self, limit: usize) -> usize {
        if limit == 0 { 0 } else { (self.word() % limit as u64) as usize }
    }
}

/// One hostile input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HostileCase {
    /// Its name in messages.
    pub name: String,
    /// The input.
    pub bytes: Vec<u8>,
}

/// An endless sequence of hostile inputs for one format: first those made by hand, then corrupted samples and
/// noise. Samples of other formats are used as well, but less often.
pub struct HostileCases {
    own: Vec<Vec<u8>>,
    others: Vec<Vec<u8>>,
    random: SeededRng,
    handmade: std::vec::IntoIter<HostileCase>,
    count: u64,
}

/// Ways to spoil a sample.
#[derive(Clone, Copy)]
enum Corruption {
    Truncate,
    FlipBits,
    Splice,
    Repeat,
    Delete,
    Grow,
    Noise,
    Letters,
}

const SPOILS: [Corruption; 8] = [
    Corruption::Truncate,
    Corruption::FlipBits,
    Corruption::Splice,
    Corruption::Repeat,
    Corruption::Delete,
    Corruption::Grow,
    Corruption::Noise,
    Corruption::Letters,
];

/// Texts that readers of numbers, strings and lengths may stumble over.
const GRIT: [&[u8]; 14] = [
    b"\"",
    b"\n",
    b"\0",
    b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01",
    b"\xF0\x9F\x92",
    b"-9223372036854775808",
    b"18446744073709551616",
    b"1e308",
    b"[[[[[[[[",
    b"{\"a\":{\"a\":",
    b"\\ud800",
    b"\\u0000",
    b",,,,,,,,,,,,,,,,",
    b"null",
];

impl HostileCases {
    /// Cases from these samples. `giant` is the size in bytes of the giant ones among those made by hand.
    pub fn new(format: &Format, samples: Vec<Vec<u8>>, seed: u64, giant: usize) -> HostileCases {
        let is_own = |sample: &Vec<u8>| format.sniff(sample) == Sniff::Yes;
        let (own, others): (Vec<_>, Vec<_>) = samples.into_iter().partition(is_own);
        let handmade = handmade_cases(&own, giant).into_iter();
        HostileCases { own, others, random: SeededRng::new(seed), handmade, count: 0 }
    }

    fn sample(&mut self) -> Vec<u8> {
        let wants_other = self.random.below(4) == 0 || self.own.is_empty();
        let samples = if wants_other && !self.others.is_empty() { &self.others } else { &self.own };
        let index = self.random.below(samples.len());
        samples.get(index).cloned().unwrap_or_default()
    }

    fn slice_of<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let start = self.random.below(bytes.len());
        let length = 1 + self.random.below(200);
        &bytes[start..bytes.len().min(start + length)]
    }

    fn spoilt(&mut self, corruption: Corruption) -> Vec<u8> {
        let mut bytes = self.sample();
        let position = self.random.below(bytes.len());
        match corruption {
            Corruption::Truncate => bytes.truncate(position),
            Corruption::FlipBits => self.flip_bits(&mut bytes),
            Corruption::Splice => {
                bytes.truncate(position);
                let other = self.sample();
                let from = self.random.below(other.len());
                bytes.extend_from_slice(&other[from..]);
            }
            Corruption::Repeat => {
                let slice = self.slice_of(&bytes).repeat(1 + self.random.below(2_000));
                bytes.splice(position..position, slice);
            }
            Corruption::Delete => {
                let end = bytes.len().min(position + 1 + self.random.below(30));
                bytes.drain(position.min(end)..end);
            }
            Corruption::Grow => self.add_grit(&mut bytes),
            Corruption::Noise => bytes.iter_mut().for_each(|byte| *byte = self.random.word() as u8),
            Corruption::Letters => {
                const LETTERS: &[u8] = b"{}[]\",:;\\\n\t 0123456789eE+-.truefalsn_";
                bytes.iter_mut().for_each(|byte| *byte = LETTERS[self.random.below(LETTERS.len())]);
            }
        }
        bytes
    }

    fn flip_bits(&mut self, bytes: &mut [u8]) {
        for _ in 0..=self.random.below(8) {
            let position = self.random.below(bytes.len());
            if let Some(byte) = bytes.get_mut(position) {
                *byte ^= 1 << self.random.below(8);
            }
        }
    }

    fn add_grit(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..=self.random.below(4) {
            let position = self.random.below(bytes.len());
            let grit = GRIT[self.random.below(GRIT.len())];
            bytes.splice(position..position, grit.iter().copied());
        }
    }
}

impl Iterator for HostileCases {
    type Item = HostileCase;

    fn next(&mut self) -> Option<HostileCase> {
        if let Some(case) = self.handmade.next() {
            return Some(case);
        }
        self.count += 1;
        let corruption = SPOILS[self.random.below(SPOILS.len())];
        let name = format!("{} {}", corruption.name(), self.count);
        Some(HostileCase { name, bytes: self.spoilt(corruption) })
    }
}

impl Corruption {
    const fn name(self) -> &'static str {
        match self {
            Corruption::Truncate => "truncated",
            Corruption::FlipBits => "bits flipped",
            Corruption::Splice => "spliced",
            Corruption::Repeat => "part repeated",
            Corruption::Delete => "part deleted",
            Corruption::Grow => "grit added",
            Corruption::Noise => "noise",
            Corruption::Letters => "letters",
        }
    }
}

/// Samples whose beginnings precede endless texts.
const BEGINNINGS: usize = 8;

/// Endless texts: each alone, and after the beginnings of samples.
const ENDLESS: [(&str, &[u8]); 22] = [
    ("opening brackets", b"["),
    ("opening braces", b"{\"a\":"),
    ("open spans", b"{\"resourceSpans\":[{\"scopeSpans\":[{\"spans\":["),
    ("an endless string", b"a"),
    ("an endless quoted string", b"\"a"),
    ("quotes", b"\""),
    ("quoted lines", b"\"\n"),
    ("commas", b","),
    ("tabs", b"\t"),
    ("line breaks", b"\n"),
    ("carriage returns", b"\r"),
    ("spaces", b" "),
    ("digits", b"9"),
    ("zeros", b"0"),
    ("exponents", b"1e"),
    ("backslashes", b"\\"),
    ("escapes", b"\\u0041"),
    ("unfinished characters", b"\xF0\x9F"),
    ("NUL bytes", b"\0"),
    ("endless varints", b"\x80"),
    ("nested lengths", b"\x0A\xFF\xFF\xFF\x7F"),
    ("largest lengths", b"\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"),
];

fn handmade_cases(samples: &[Vec<u8>], giant: usize) -> Vec<HostileCase> {
    let mut cases = vec![HostileCase { name: "nothing".to_owned(), bytes: Vec::new() }];
    for (name, unit) in ENDLESS {
        let long = unit.repeat(giant.div_ceil(unit.len()));
        cases.push(HostileCase { name: name.to_owned(), bytes: long });
    }
    for sample in samples.iter().take(BEGINNINGS) {
        let line =
            sample.iter().position(|&byte| byte == b'\n').map_or(sample.len() / 2, |position| position + 1);
        for (name, unit) in ENDLESS {
            let long = unit.repeat((giant / 32).div_ceil(unit.len()));
            let bytes = [&sample[..line], &long].concat();
            cases.push(HostileCase { name: format!("{name} behind a sample's beginning"), bytes });
        }
    }
    cases
}
