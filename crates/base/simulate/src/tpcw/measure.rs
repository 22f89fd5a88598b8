//! Measurements as monitoring would record them.

/// Transactions of the system or of one server, by window and type. Tables are `T x n`, a row a window.
#[derive(Clone, PartialEq, Debug)]
pub struct TransactionSeries {
    /// Completed transactions.
    pub counts: Vec<f64>,
    /// Mean response time in seconds (main page, outbound calls included); NaN where none completed.
    pub response_s: Vec<f64>,
    /// Outbound calls, one entry a callee.
    pub outbound: Vec<OutboundSeries>,
}

/// Calls of transactions to one callee, by window and type. Tables are `T x n`, a row a window.
#[derive(Clone, PartialEq, Debug)]
pub struct OutboundSeries {
    /// The callee.
    pub callee: String,
    /// Calls of the completed transactions.
    pub counts: Vec<f64>,
    /// Mean time of a call in seconds; NaN where there was none.
    pub time_s: Vec<f64>,
}

/// One server by window.
#[derive(Clone, PartialEq, Debug)]
pub struct ServerSeries {
    /// Its name.
    pub server: String,
    /// Its tier: `front` or `db`.
    pub tier: String,
    /// Its CPU capacity in cores.
    pub cores: f64,
    /// Measured CPU utilization, 0..1 of all cores, by window.
    pub utilization: Vec<f64>,
    /// Transactions that it completed; front servers only.
    pub own: Option<TransactionSeries>,
}

/// Sums of one server.
#[derive(Clone, Debug)]
pub(crate) struct WindowSums {
    types: usize,
    count: Vec<f64>,
    response_s: Vec<f64>,
    calls: Vec<f64>,
    call_s: Vec<f64>,
}

/// A completed transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Completed {
    pub(crate) kind: usize,
    pub(crate) response_s: f64,
    pub(crate) calls: u32,
    /// Of all of its calls.
    pub(crate) call_s: f64,
}

impl WindowSums {
    pub(crate) fn new(windows: usize, types: usize) -> WindowSums {
        let zeros = vec![0.0; windows * types];
        WindowSums {
            types,
            count: zeros.clone(),
            response_s: zeros.clone(),
            calls: zeros.clone(),
            call_s: zeros,
        }
    }

    pub(crate) fn add(&mut self, window: usize, completed: Completed) {
        let index = window * self.types + completed.kind;
        self.count[index] += 1.0;
        self.response_s[index] += completed.response_s;
        self.calls[index] += f64::from(completed.calls);
        self.call_s[index] += completed.call_s;
    }

    pub(crate) fn merge(&mut self, other: &WindowSums) {
        let pairs = [
            (&mut self.count, &other.count),
            (&mut self.response_s, &other.response_s),
            (&mut self.calls, &other.calls),
            (&mut self.call_s, &other.call_s),
        ];
        for (own, others) in pairs {
            own.iter_mut().zip(others).for_each(|(own, other)| *own += other);
        }
    }

    pub(crate) fn series(self) -> TransactionSeries {
        let response_s = means(&self.response_s, &self.count);
        let time_s = means(&self.call_s, &self.calls);
        let outbound = OutboundSeries { callee: "db".to_owned(), counts: self.calls, time_s };
        TransactionSeries { counts: self.count, response_s, outbound: vec![outbound] }
    }
}

fn means(sums: &[f64], counts: &[f64]) -> Vec<f64> {
    let mean = |(&sum, &count): (&f64, &f64)| if count > 0.0 { sum / count } else { f64::NAN };
    sums.iter().zip(counts).map(mean).collect()
}
