//! Silhouettes and pairs of kinds against reference results.

use crate::optics::{matrix, number, numbers};
use laggard_align::{NormalKinds, best_pair, best_published_pair, silhouettes};
use laggard_testkit::golden;
use serde_json::Value;

fn labels(value: &Value) -> Vec<usize> {
    value.as_array().unwrap().iter().map(|score| usize::try_from(score.as_u64().unwrap()).unwrap()).collect()
}

#[test]
fn golden_silhouettes() {
    let golden = golden("silhouette/cases");
    for case in golden["cases"].as_array().unwrap() {
        let labels = labels(&case["labels"]);
        let clusters = labels.iter().max().unwrap() + 1;
        let values = silhouettes(&matrix(&case["X"]), &labels, clusters);
        let expected = numbers(&case["samples"]);
        assert_eq!(values.len(), expected.len());
        assert!(values.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-10), "{}", case["name"]);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        assert!((mean - number(&case["mean"])).abs() < 1e-10);
    }
}

#[test]
fn golden_pairs() {
    let golden = golden("silhouette/cases");
    let pairing = &golden["pairing"];
    let points = matrix(&pairing["normal_X"]);
    let normal_labels: Vec<Option<usize>> = labels(&pairing["normal_labels"]).into_iter().map(Some).collect();
    let kinds = NormalKinds::new(&points, &normal_labels, 4);
    let samples = pairing["samples"].as_array().unwrap();
    assert!(!samples.is_empty());
    for sample in samples {
        let cluster = matrix(&sample["sample_cluster"]);
        let expected = [
            (kinds.published_scores(&cluster), "score_all", "pair_all"),
            (kinds.scores(&cluster), "score_sample_points", "pair_sample"),
        ];
        let best = [best_published_pair(&expected[0].0), best_pair(&expected[1].0)];
        for ((values, scores, pair), best) in expected.iter().zip(best) {
            for score in values {
                let reference = number(&sample[*scores][score.kind.to_string()]);
                assert!((score.score - reference).abs() < 1e-10, "{scores} {score:?} {reference}");
            }
            assert_eq!(best.unwrap().kind as u64, sample[*pair].as_u64().unwrap());
        }
    }
}
