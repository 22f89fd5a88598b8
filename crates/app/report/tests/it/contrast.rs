//! Contrast of the page's colors, by the definition of WCAG 2.1 (1.4.3 and 1.4.11).

use std::collections::HashMap;

const STYLE: &str = include_str!("../../assets/colors.css");

type Colors = HashMap<String, [f64; 3]>;

/// The `--name: #rrggbb` pairs of the n-th `:root` block.
fn colors(block: usize) -> Colors {
    colors_of(STYLE, block)
}

fn colors_of(style: &str, block: usize) -> Colors {
    let text = style.split(":root").nth(block + 1).unwrap().split(['{', '}']).nth(1).unwrap();
    let pairs = text.split(';').filter_map(|pair| pair.split_once(": #"));
    pairs.map(|(name, hex)| (name.trim().trim_start_matches("--").to_owned(), rgb(hex.trim()))).collect()
}

fn rgb(hex: &str) -> [f64; 3] {
    [0, 2, 4].map(|position| f64::from(u8::from_str_radix(&hex[position..position + 2], 16).unwrap()) / 255.0)
}

fn luminance(color: [f64; 3]) -> f64 {
    let linear = color.map(|c| if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) });
    0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
}

fn contrast(a: [f64; 3], b: [f64; 3]) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn black_on_white_is_21() {
    assert!((contrast([0.0; 3], [1.0; 3]) - 21.0).abs() < 1e-9);
}

#[test]
fn text_is_readable_in_both_schemes() {
    let pairs = [
        ("text", "card"),
        ("text", "ground"),
        ("text", "bad-ground"),
        ("text", "unsure-ground"),
        ("muted", "card"),
        ("muted", "ground"),
        ("muted", "bad-ground"),
        ("link", "card"),
        ("link", "ground"),
        ("link", "unsure-ground"),
        ("bad", "bad-ground"),
        ("good", "good-ground"),
        ("unsure", "unsure-ground"),
    ];
    for scheme in [0, 1] {
        let colors = colors(scheme);
        for (front, back) in pairs {
            let ratio = contrast(colors[front], colors[back]);
            assert!(ratio >= 4.5, "{front} on {back} in scheme {scheme}: {ratio:.2}");
        }
    }
}

#[test]
fn meaningful_shapes_have_enough_contrast() {
    for scheme in [0, 1] {
        let colors = colors(scheme);
        for front in ["bar", "quiet", "good", "h5", "h6", "h7", "flag", "link"] {
            let ratio = contrast(colors[front], colors["card"]);
            assert!(ratio >= 3.0, "{front} on card in scheme {scheme}: {ratio:.2}");
        }
    }
}

#[test]
fn the_heat_scale_grows_steadily_in_lightness() {
    for (scheme, darker) in [(0, true), (1, false)] {
        let colors = colors(scheme);
        let steps: Vec<f64> = (0..8).map(|step| luminance(colors[&format!("h{step}")])).collect();
        let grows = steps.windows(2).all(|pair| if darker { pair[0] > pair[1] } else { pair[0] < pair[1] });
        assert!(grows, "scheme {scheme}: {steps:?}");
    }
}

#[test]
fn text_on_flames_is_readable_in_both_schemes() {
    for scheme in [0, 1] {
        let colors = colors_of(STYLE, scheme);
        for back in ["less3", "less2", "less1", "same", "more1", "more2", "more3", "fresh"] {
            let ratio = contrast(colors["frame-text"], colors[back]);
            assert!(ratio >= 4.5, "text on {back} in scheme {scheme}: {ratio:.2}");
        }
    }
}
