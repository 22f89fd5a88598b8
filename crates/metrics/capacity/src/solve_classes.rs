//! Networks of several classes, solved by the algorithm that fits.

use crate::classes::{ClassNetwork, ClassSolution};
use crate::lattice::{lattice, lattice_cost};
use crate::linearizer::{linearizer, schweitzer};
use crate::log_lattice::{log_lattice, log_lattice_cost};
use crate::network::Algorithm;

/// Maximum number of operations of an exact solution (about half a second); beyond, the Linearizer is used.
const EXACT_WORK_MAX: f64 = 1e8;

/// Solves a network with the best algorithm that takes well under a second: exact over all population vectors when they
/// are few enough, else the Linearizer. The solution states the algorithm.
pub fn solve_classes(network: &ClassNetwork) -> ClassSolution {
    solve_classes_within(network, EXACT_WORK_MAX)
}

/// The same, exact if that takes at most `work_max` operations.
pub(crate) fn solve_classes_within(network: &ClassNetwork, work_max: f64) -> ClassSolution {
    let several = network.stations().iter().any(|station| station.cores().is_some_and(|cores| cores > 1.0));
    let algorithm = match several {
        false if lattice_cost(network) <= work_max => Algorithm::Exact,
        true if log_lattice_cost(network) <= work_max => Algorithm::ExactConvolution,
        _ => Algorithm::Linearizer,
    };
    solve_classes_by(network, algorithm)
}

/// Solves a network with a given algorithm. [`Algorithm::Exact`] is for networks without queues before several
/// cores and goes by convolution where there are some. Algorithms that are not for closed classes fall back to the
/// Linearizer. Exact algorithms take time and memory in proportion to `Π(N+1)`.
pub fn solve_classes_by(network: &ClassNetwork, algorithm: Algorithm) -> ClassSolution {
    let several = network.stations().iter().any(|station| station.cores().is_some_and(|cores| cores > 1.0));
    match algorithm {
        Algorithm::Exact if !several => lattice(network),
        Algorithm::Exact | Algorithm::ExactLoadDependent | Algorithm::ExactConvolution => {
            log_lattice(network)
        }
        Algorithm::Schweitzer => schweitzer(network),
        Algorithm::Linearizer | Algorithm::Open => linearizer(network),
    }
}
