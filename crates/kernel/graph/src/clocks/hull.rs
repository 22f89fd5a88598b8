//! The upper or lower half of a convex hull. Packets between two hosts are points, and the hulls of both directions bound the
//! relation of the clocks.

/// A point: the first clock and the second, in nanoseconds from a common reference.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// Which half of a hull.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HullSide {
    /// The corners that a line below all points can touch.
    Lower,
    /// The corners that a line above all points can touch.
    Upper,
}

/// The corners of half a hull, from left to right, of points ordered by x (Andrew's monotone chain, 1979). Linear.
pub(crate) fn hull(points: impl Iterator<Item = Point>, half: HullSide) -> Vec<Point> {
    let mut corners: Vec<Point> = Vec::new();
    for point in points {
        while let [.., before, last] = corners[..]
            && !bends(before, last, point, half)
        {
            corners.pop();
        }
        corners.push(point);
    }
    corners
}

/// Whether the path turns left at the middle point (lower half), or right (upper half).
fn bends(a: Point, b: Point, c: Point, half: HullSide) -> bool {
    let cross = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
    match half {
        HullSide::Lower => cross > 0.0,
        HullSide::Upper => cross < 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn corners_of_a_square_with_points_in_it() {
        let points = [(0.0, 0.0), (0.0, 4.0), (1.0, 1.0), (2.0, 2.0), (4.0, 0.0), (4.0, 4.0)];
        let points = points.map(|(x, y)| Point { x, y });
        let lower = hull(points.iter().copied(), HullSide::Lower);
        assert_eq!(lower.first(), Some(&points[0]));
        assert!(lower.contains(&points[4]) && !lower.contains(&points[2]));
        let upper = hull(points.iter().copied(), HullSide::Upper);
        assert!(
            upper.contains(&points[1]) && upper.last() == Some(&points[5]) && !upper.contains(&points[3])
        );
    }
}
