//! The requests of a major cluster, and of those that joined it, as one matrix.

use crate::category::{Call, CategoryCalls, fill_gaps};
use laggard_model::OperationId;
use laggard_numeric::{Matrix, levenshtein_matches, mean, spread_evenly};

/// A category as part of a cluster.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// Index of the category.
    pub(crate) category: usize,
    /// For each of the cluster's positions, the category's position that gives its value.
    pub(crate) position_at: Vec<Option<u32>>,
}

/// The positions of a category in the cluster's order.
pub(crate) fn sequence(category: &CategoryCalls) -> Vec<OperationId> {
    category.positions.iter().map(|position| position.operation).collect()
}

impl Member {
    /// A category with the cluster's own sequence.
    pub(crate) fn same(category: usize, positions: usize) -> Member {
        Member { category, position_at: (0..positions as u32).map(Some).collect() }
    }

    /// A category whose sequence is aligned to the cluster's.
    pub(crate) fn aligned(category: usize, own: &[OperationId], clusters: &[OperationId]) -> Member {
        let matches = levenshtein_matches(own, clusters);
        Member {
            category,
            position_at: matches
                .into_iter()
                .map(|position| position.map(|position| position as u32))
                .collect(),
        }
    }
}

/// A request of a cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ClusterRow {
    /// Index into the members.
    pub(crate) member: u32,
    /// Index into the category's requests.
    pub(crate) request: u32,
}

/// The request matrix of a cluster.
#[derive(Debug)]
pub(crate) struct CallTable {
    /// By start, then trace.
    pub(crate) rows: Vec<ClusterRow>,
    /// The cluster's positions that have a column.
    pub(crate) columns: Vec<u32>,
    /// Positions without a column because the matrix was full.
    pub(crate) columns_left_out: usize,
    /// Requests left out by regular thinning.
    pub(crate) rows_left_out: usize,
    /// Times, nanoseconds; a missing value is the median of the column's genuine values.
    pub(crate) times: Matrix,
    /// Latency of each row, nanoseconds.
    pub(crate) latencies: Vec<f64>,
    /// Whether a member (row-major: member, column) has genuine values in a column.
    genuine: Vec<bool>,
}

impl CallTable {
    pub(crate) fn new(
        categories: &[CategoryCalls],
        members: &[Member],
        rows_max: usize,
        columns_max: usize,
    ) -> CallTable {
        let mut rows: Vec<ClusterRow> = Vec::new();
        for (member, members_category) in members.iter().enumerate() {
            let requests = 0..categories[members_category.category].requests.len() as u32;
            rows.extend(requests.map(|request| ClusterRow { member: member as u32, request }));
        }
        let all = rows.len();
        if members.len() > 1 {
            rows.sort_by_key(|row| {
                let request =
                    &categories[members[row.member as usize].category].requests[row.request as usize];
                (request.start, request.trace, row.member)
            });
        }
        let rows: Vec<ClusterRow> = spread_evenly(all, rows_max).map(|index| rows[index]).collect();
        let filled = Filling::new(categories, members, &rows).fill(&rows);
        let positions = members[0].position_at.len();
        let latency = |row: &ClusterRow| {
            let category = &categories[members[row.member as usize].category];
            category.requests[row.request as usize].latency_ns as f64
        };
        let genuine =
            |position: u32| members.iter().map(move |member| member.position_at[position as usize].is_some());
        let columns = choose_columns(&filled, columns_max);
        let mut table = CallTable {
            rows_left_out: all - rows.len(),
            latencies: rows.iter().map(latency).collect(),
            columns_left_out: positions - columns.len(),
            times: take_columns(&filled, &columns),
            genuine: vec![false; members.len() * columns.len()],
            rows,
            columns,
        };
        for (column, &position) in table.columns.iter().enumerate() {
            for (member, is_genuine) in genuine(position).enumerate() {
                table.genuine[member * table.columns.len() + column] = is_genuine;
            }
        }
        let mut times = std::mem::take(&mut table.times);
        fill_gaps(&mut times, |row, column| table.is_genuine(row, column));
        CallTable { times, ..table }
    }

    /// Whether the value is measured, not filled in.
    pub(crate) fn is_genuine(&self, row: usize, column: usize) -> bool {
        self.genuine[self.rows[row].member as usize * self.columns.len() + column]
    }
}

/// Maps the calls of each member to rows and columns.
struct Filling<'a> {
    /// Calls of each member's category.
    calls: Vec<&'a [Call]>,
    /// For each member, the cluster's position of each of its positions.
    position_of: Vec<Vec<Option<u32>>>,
    /// For each member, the row of each of its requests.
    row_of: Vec<Vec<Option<u32>>>,
    positions: usize,
}

impl<'a> Filling<'a> {
    fn new(categories: &'a [CategoryCalls], members: &[Member], rows: &[ClusterRow]) -> Filling<'a> {
        let category = |member: &Member| &categories[member.category];
        let mut row_of: Vec<Vec<Option<u32>>> =
            members.iter().map(|member| vec![None; category(member).requests.len()]).collect();
        for (index, row) in rows.iter().enumerate() {
            row_of[row.member as usize][row.request as usize] = Some(index as u32);
        }
        let invert = |member: &Member| {
            let mut position_of = vec![None; category(member).positions.len()];
            for (to, from) in member.position_at.iter().enumerate() {
                if let Some(from) = from {
                    position_of[*from as usize] = Some(to as u32);
                }
            }
            position_of
        };
        Filling {
            calls: members.iter().map(|member| category(member).calls.as_slice()).collect(),
            position_of: members.iter().map(invert).collect(),
            row_of,
            positions: members[0].position_at.len(),
        }
    }

    fn fill(&self, rows: &[ClusterRow]) -> Matrix {
        let mut times = Matrix::zeros(rows.len(), self.positions);
        for (member, calls) in self.calls.iter().enumerate() {
            for call in *calls {
                let row = self.row_of[member][call.request as usize];
                let position = self.position_of[member][call.position as usize];
                if let (Some(row), Some(position)) = (row, position) {
                    times.row_mut(row as usize)[position as usize] += call.time_ns as f64;
                }
            }
        }
        times
    }
}

/// All columns, or those with the largest variance when there are too many, as the components explain variance.
fn choose_columns(times: &Matrix, columns_max: usize) -> Vec<u32> {
    let mut columns: Vec<u32> = (0..times.cols() as u32).collect();
    if columns.len() <= columns_max {
        return columns;
    }
    let spread: Vec<f64> = (0..times.cols())
        .map(|j| {
            let values: Vec<f64> = times.column(j).collect();
            let center = mean(&values);
            values.iter().map(|value| (value - center) * (value - center)).sum()
        })
        .collect();
    columns.sort_by(|&a, &b| spread[b as usize].total_cmp(&spread[a as usize]).then(a.cmp(&b)));
    columns.truncate(columns_max);
    columns.sort_unstable();
    columns
}

fn take_columns(times: &Matrix, columns: &[u32]) -> Matrix {
    if columns.len() == times.cols() {
        return times.clone();
    }
    let mut out = Matrix::zeros(times.rows(), columns.len());
    for i in 0..times.rows() {
        for (to, &from) in out.row_mut(i).iter_mut().zip(columns) {
            *to = times.row(i)[from as usize];
        }
    }
    out
}
