//! The kinds of processor the kernels are compiled for, so that tests can run them all.

use pulp::{Arch, Scalar, WithSimd};

/// A kind of processor whose instructions this one supports.
#[derive(Clone, Copy, Debug)]
pub(super) enum Processor {
    /// This one, with all its vector instructions.
    Native,
    /// One without vectors.
    Plain,
    /// Vectors of four doubles.
    #[cfg(target_arch = "x86_64")]
    Avx2(pulp::x86::V3),
}

/// The supported kinds.
pub(super) fn processors() -> impl Iterator<Item = Processor> {
    #[cfg(target_arch = "x86_64")]
    let avx2 = pulp::x86::V3::try_new().map(Processor::Avx2);
    #[cfg(not(target_arch = "x86_64"))]
    let avx2 = None;
    [Processor::Native, Processor::Plain].into_iter().chain(avx2)
}

impl Processor {
    pub(super) fn run<W: WithSimd>(self, work: W) -> W::Output {
        match self {
            Processor::Native => Arch::new().dispatch(work),
            Processor::Plain => work.with_simd(Scalar),
            #[cfg(target_arch = "x86_64")]
            Processor::Avx2(v3) => pulp::Simd::vectorize(v3, work),
        }
    }
}
