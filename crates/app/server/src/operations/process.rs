//! Resource usage of the process as the system reports it; absent where it does not.

/// Figures of this process at one moment.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct ProcessFigures {
    /// Memory that is in use and not swapped out.
    pub(crate) resident_bytes: Option<f64>,
    /// Processor time since the start, of all threads.
    pub(crate) cpu_seconds: Option<f64>,
    /// Open files and connections.
    pub(crate) open_files: Option<f64>,
    /// Most of them that there can be.
    pub(crate) open_files_max: Option<f64>,
}

/// Linux reports processor time in hundredths of a second, whatever the kernel's own clock is.
const TICKS_PER_SECOND: f64 = 100.0;

impl ProcessFigures {
    /// Reads them.
    pub(crate) fn read() -> ProcessFigures {
        ProcessFigures {
            resident_bytes: resident_bytes(),
            cpu_seconds: cpu_seconds(&text("stat")),
            open_files: open_files(),
            open_files_max: open_files_max(&text("limits")),
        }
    }
}

fn text(name: &str) -> String {
    std::fs::read_to_string(format!("/proc/self/{name}")).unwrap_or_default()
}

/// Memory of this process that is in use and not swapped out.
pub(super) fn resident_bytes() -> Option<f64> {
    resident_bytes_in(&text("status"))
}

fn resident_bytes_in(status: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024.0)
}

/// The name of the program is in parentheses and may have any characters: fields are counted after it.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let user: f64 = fields.next()?.parse().ok()?;
    let system: f64 = fields.next()?.parse().ok()?;
    Some((user + system) / TICKS_PER_SECOND)
}

/// Linux since 6.2 reports their number as the size of the folder; listing thousands of connections takes milliseconds.
fn open_files() -> Option<f64> {
    const FOLDER: &str = "/proc/self/fd";
    let size = std::fs::metadata(FOLDER).ok()?.len();
    match size {
        0 => std::fs::read_dir(FOLDER).ok().map(|files| files.count() as f64),
        count => Some(count as f64),
    }
}

fn open_files_max(limits: &str) -> Option<f64> {
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_metrics_are_parsed_from_proc() {
        assert_eq!(resident_bytes_in("Name:\tlaggard\nVmRSS:\t    2048 kB\n"), Some(2_097_152.0));
        let stat = "7 (a) b) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 9 0 100 1 2";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        let limits =
            "Limit  Soft Limit  Hard Limit  Units\nMax open files            1024    524288    files\n";
        assert_eq!(open_files_max(limits), Some(1024.0));
        assert_eq!(resident_bytes_in("").or(cpu_seconds("")).or(open_files_max("")), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_current_process_has_metrics() {
        let figures = ProcessFigures::read();
        assert!(figures.resident_bytes.unwrap() > 100_000.0);
        assert!(figures.open_files.unwrap() >= 3.0 && figures.cpu_seconds.is_some());
    }
}
