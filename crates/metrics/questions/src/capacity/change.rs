//! Parses the changes of a what-if question (`--what-if`): property and new value.

use std::fmt;

/// The changed property of a tier or transaction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Property {
    /// Seconds per transaction at the tier.
    Demand,
    /// Load-balanced servers.
    Servers,
    /// Cores of each server.
    Cores,
}

/// The new value, absolute or relative.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Amount {
    /// A multiple of the current value.
    Factor(f64),
    /// Seconds, servers or cores.
    Value(f64),
}

/// One change: `cart.demand=-30%`, `cart.db.demand=2ms`, `app.servers=4`.
#[derive(Clone, PartialEq, Debug)]
pub struct WhatIfChange {
    /// A transaction, a tier, or a transaction and a tier with a dot between.
    pub target: String,
    /// The property.
    pub property: Property,
    /// The new value.
    pub amount: Amount,
}

impl WhatIfChange {
    /// Parses a change.
    ///
    /// # Errors
    /// A sentence with the valid syntax.
    pub fn parse(text: &str) -> Result<WhatIfChange, String> {
        let Some((name, value)) = text.rsplit_once('=') else { return Err(how(text)) };
        let Some((target, property)) = name.rsplit_once('.') else { return Err(how(text)) };
        let property = match property.trim() {
            "demand" => Property::Demand,
            "servers" => Property::Servers,
            "cores" => Property::Cores,
            _ => return Err(how(text)),
        };
        if target.trim().is_empty() {
            return Err(how(text));
        }
        Ok(WhatIfChange {
            target: target.trim().to_owned(),
            property,
            amount: amount(property, value.trim())?,
        })
    }

    /// Parses `app=4` as a number of servers.
    ///
    /// # Errors
    /// A sentence with the valid syntax.
    pub fn servers(text: &str) -> Result<WhatIfChange, String> {
        match text.rsplit_once('=') {
            Some((tier, count)) => WhatIfChange::parse(&format!("{tier}.servers={count}")),
            None => Err(format!("{text:?} names no tier; write app=4")),
        }
    }
}

fn how(text: &str) -> String {
    format!(
        "{text:?} is no change; write cart.demand=-30%, db.demand=2ms, cart.db.demand=x2, app.servers=4 or app.cores=8"
    )
}

fn amount(property: Property, text: &str) -> Result<Amount, String> {
    let amount = relative(text).or_else(|| match property {
        Property::Demand => time_s(text).map(Amount::Value),
        _ => text.parse().ok().map(Amount::Value),
    });
    match amount {
        Some(amount) if in_range(property, amount) => Ok(amount),
        _ if property == Property::Demand => {
            Err(format!("{text:?} is no demand; write -30%, +10%, x2 or 2ms"))
        }
        _ => Err(format!("{text:?} is no number of {}; write 4", property.word())),
    }
}

/// `-30%`, `+10%`, `x2`.
fn relative(text: &str) -> Option<Amount> {
    if let Some(percent) = text.strip_suffix('%') {
        let signed = percent.starts_with(['+', '-']);
        return percent
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|_| signed)
            .map(|percent| Amount::Factor(1.0 + percent / 100.0));
    }
    text.strip_prefix(['x', '×'])?.trim().parse().ok().map(Amount::Factor)
}

/// `2ms`, `0.5s`, `300us`.
fn time_s(text: &str) -> Option<f64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit.trim() {
        "s" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" => 1e-6,
        "ns" => 1e-9,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|number| number * scale)
}

fn in_range(property: Property, amount: Amount) -> bool {
    match (property, amount) {
        (_, Amount::Factor(factor)) => (0.0..=1e6).contains(&factor),
        (Property::Demand, Amount::Value(seconds)) => (0.0..=1e6).contains(&seconds),
        (Property::Servers, Amount::Value(count)) => {
            count.fract() == 0.0 && (1.0..=f64::from(laggard_capacity::REPLICAS_MAX)).contains(&count)
        }
        (Property::Cores, Amount::Value(cores)) => cores > 0.0 && cores <= laggard_capacity::CORES_MAX,
    }
}

impl Property {
    fn word(self) -> &'static str {
        match self {
            Property::Demand => "seconds",
            Property::Servers => "servers",
            Property::Cores => "cores",
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Factor(factor) => write!(out, "{:+.0}%", 100.0 * (factor - 1.0)),
            Amount::Value(value) => write!(out, "{value}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_parsed() {
        let read = |text| WhatIfChange::parse(text).unwrap();
        let cart = read("cart.demand=-30%");
        assert_eq!((cart.target.as_str(), cart.property), ("cart", Property::Demand));
        assert!(matches!(cart.amount, Amount::Factor(factor) if (factor - 0.7).abs() < 1e-12));
        assert_eq!(read("GET /a=b.db.demand=2ms").target, "GET /a=b.db");
        assert_eq!(read("db.demand=x2").amount, Amount::Factor(2.0));
        assert_eq!(read("db.demand=300us").amount, Amount::Value(300e-6));
        assert_eq!(read("app.cores=1.5").amount, Amount::Value(1.5));
        assert_eq!(WhatIfChange::servers("app=4").unwrap(), read("app.servers=4"));
    }

    #[test]
    fn errors_state_the_valid_syntax() {
        for text in [
            "",
            "cart",
            "cart=3",
            "cart.demand",
            "cart.demand=30%",
            "cart.demand=5",
            "cart.demand=nanms",
            "cart.demand=-200%",
            ".demand=1ms",
            "cart.speed=2",
            "app.servers=1.5",
            "app.servers=0",
            "app.cores=inf",
            "app.cores=-1",
            "app.servers=1e99",
        ] {
            let error = WhatIfChange::parse(text).unwrap_err();
            assert!(error.contains("write"), "{text}: {error}");
        }
        assert!(WhatIfChange::servers("4").is_err());
    }
}
