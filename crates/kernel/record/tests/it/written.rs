//! Pages made by hand, written in both versions, and read by the reader of kernel traces.

use laggard_kernel_formats::open;
use laggard_model::{EventKind, KernelEvent, KernelTime, Tid};
use laggard_record::DatForm;
use laggard_record::dat::{CpuPages, EventSystem, TraceHead, write};
use std::fs::File;

const PAGE: usize = 4096;

const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
     \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
     \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
     \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

const SWITCH: &str = "name: sched_switch\nID: 300\nformat:\n\
     \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
     \tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;\n\
     \tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;\n\
     \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
     \tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n\
     \tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n\
     \tfield:int prev_prio;\toffset:28;\tsize:4;\tsigned:1;\n\
     \tfield:long prev_state;\toffset:32;\tsize:8;\tsigned:1;\n\
     \tfield:char next_comm[16];\toffset:40;\tsize:16;\tsigned:0;\n\
     \tfield:pid_t next_pid;\toffset:56;\tsize:4;\tsigned:1;\n\
     \tfield:int next_prio;\toffset:60;\tsize:4;\tsigned:1;\n\nprint fmt: \"\"\n";

/// A switch's record: a head of 4 bytes with its length in words and the time since the one before, and 64 bytes.
fn switch(step_ns: u32, prev: u32, next: u32) -> Vec<u8> {
    let head = if cfg!(target_endian = "big") { 16 << 27 | step_ns } else { 16 | step_ns << 5 };
    let mut bytes = head.to_ne_bytes().to_vec();
    bytes.extend(300u16.to_ne_bytes());
    bytes.extend([0, 0]);
    bytes.extend(prev.to_ne_bytes());
    bytes.extend(b"before\0\0\0\0\0\0\0\0\0\0");
    bytes.extend(prev.to_ne_bytes());
    bytes.extend(120u32.to_ne_bytes());
    bytes.extend(1u64.to_ne_bytes());
    bytes.extend(b"after\0\0\0\0\0\0\0\0\0\0\0");
    bytes.extend(next.to_ne_bytes());
    bytes.extend(120u32.to_ne_bytes());
    bytes
}

fn page(time_ns: u64, flags: u64, records: &[Vec<u8>]) -> Vec<u8> {
    let data = records.concat();
    let mut bytes = time_ns.to_ne_bytes().to_vec();
    bytes.extend((data.len() as u64 | flags).to_ne_bytes());
    bytes.extend(data);
    bytes.resize(PAGE, 0);
    bytes
}

fn head(cpus: u32) -> TraceHead {
    TraceHead {
        page_bytes: PAGE as u32,
        header_page: HEADER_PAGE.into(),
        header_event: b"# compressed entry header\n\ttype_len    :    5 bits\n".to_vec(),
        systems: vec![EventSystem { name: "sched".to_owned(), formats: vec![SWITCH.into()] }],
        command_lines: b"7 before\n8 after\n".to_vec(),
        cpus,
        clock: "mono".to_owned(),
        clocks: "local global [mono]".to_owned(),
        system: "Linux here 6.18.0 x86_64".to_owned(),
        version: "test".to_owned(),
        cpu_stats: vec!["CPU: 0\nentries: 0\n".to_owned()],
        calendar_offset_ns: Some(1_700_000_000_123_456_789),
        trace_id: 1,
        ..TraceHead::default()
    }
}

/// Writes pages of CPUs 0, 1, … and reads them again.
fn round_trip(form: DatForm, pages: &[Vec<u8>]) -> (Vec<KernelEvent>, laggard_kernel_formats::ReadTrace) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.dat");
    let mut sources: Vec<&[u8]> = pages.iter().map(Vec::as_slice).collect();
    let mut cpus: Vec<CpuPages<'_>> = (0..)
        .zip(&mut sources)
        .map(|(cpu, source)| CpuPages { cpu, bytes: source.len() as u64, pages: source })
        .collect();
    let mut file = File::create(&path).unwrap();
    let bytes = write(form, &mut file, &head(pages.len() as u32), &mut cpus).unwrap();
    assert_eq!(bytes, std::fs::metadata(&path).unwrap().len());
    let mut events = Vec::new();
    let read = open(&path).unwrap().read(|event, _| events.push(*event));
    (events, read)
}

#[test]
fn pages_of_every_cpu_are_read_back() {
    for form in [DatForm::V6, DatForm::V7] {
        // 40 pages are more than a chunk; the second CPU has none.
        let first: Vec<u8> = (0..40)
            .flat_map(|number| page(1000 + number * 100, 0, &[switch(5, 7, 8), switch(10, 8, 7)]))
            .collect();
        let third = page(1003, 0, &[switch(0, 9, 0)]);
        let (events, read) = round_trip(form, &[first, Vec::new(), third]);
        assert_eq!(events.len(), 81, "{form:?}");
        assert_eq!(events[0].time, KernelTime::from_ns(1003));
        assert_eq!((events[1].time, events[2].time), (KernelTime::from_ns(1005), KernelTime::from_ns(1015)));
        let EventKind::Switch { prev, next, prev_name, .. } = events[1].kind else {
            panic!("{:?}", events[1])
        };
        assert_eq!((prev, next, read.texts.text(prev_name)), (Tid(7), Tid(8), "before"));
        assert_eq!((read.facts.clock.as_str(), read.facts.cpus), ("mono", 3));
        assert_eq!(read.facts.host.as_deref(), Some("here"));
        // The file has microsecond precision.
        assert_eq!(read.facts.calendar.unwrap().offset_ns(), 1_700_000_000_123_456_000);
    }
}

#[test]
fn a_file_whose_end_is_lost_is_read_up_to_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.dat");
    for form in [DatForm::V6, DatForm::V7] {
        let pages: Vec<u8> =
            (0..200).flat_map(|number| page(1000 + number * 100, 0, &[switch(5, 7, 8)])).collect();
        let mut source = pages.as_slice();
        let mut cpus = [CpuPages { cpu: 0, bytes: pages.len() as u64, pages: &mut source }];
        write(form, &mut File::create(&path).unwrap(), &head(1), &mut cpus).unwrap();
        let bytes = std::fs::metadata(&path).unwrap().len();
        File::options().write(true).open(&path).unwrap().set_len(bytes - 1).unwrap();
        let mut events = 0;
        let read = open(&path)
            .unwrap()
            .read(|event, _| events += u32::from(matches!(event.kind, EventKind::Switch { .. })));
        assert!((160..=200).contains(&events), "{form:?}: {events}");
        assert!(read.losses.count(laggard_model::Loss::TruncatedInput) > 0, "{form:?}");
    }
}

#[test]
fn losses_flagged_by_the_kernel_are_written() {
    const MISSED: u64 = 1 << 31;
    for form in [DatForm::V6, DatForm::V7] {
        let pages = [page(1000, 0, &[switch(0, 7, 8)]), page(2000, MISSED, &[switch(0, 8, 7)])].concat();
        let (events, _) = round_trip(form, &[pages]);
        assert!(matches!(events[1].kind, EventKind::Lost { .. }), "{events:?}");
        assert_eq!(events.len(), 3);
    }
}

#[test]
fn an_empty_recording_is_a_valid_file() {
    for form in [DatForm::V6, DatForm::V7] {
        assert!(round_trip(form, &[Vec::new(), Vec::new()]).0.is_empty());
    }
}
