//! Writes perf.data: files and the pipe form, both byte orders, plain and compressed.

use crate::encode_records::Order;
use crate::encode_trace_dat::{RecordedMachine, TraceDat};
use std::io::Write;

/// Bits of `sample_type`: IP, TID, TIME, CPU, PERIOD, RAW, IDENTIFIER, as `perf record` sets it for tracepoints.
pub(crate) const SAMPLE_TYPE: u64 = 1 | 2 | 4 | 1 << 7 | 1 << 8 | 1 << 10 | 1 << 16;

/// The number of the only event.
const ID: u64 = 77;

/// Kinds of records.
pub(crate) const LOST: u32 = 2;
pub(crate) const COMM: u32 = 3;
pub(crate) const EXIT: u32 = 4;
pub(crate) const FORK: u32 = 7;
pub(crate) const LOST_SAMPLES: u32 = 13;
const SAMPLE: u32 = 9;
const FINISHED_ROUND: u32 = 68;

/// How a file is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PerfForm {
    File,
    Compressed,
    Pipe,
}

/// Time, CPU, and thread of a record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerfPosition {
    pub(crate) ns: u64,
    pub(crate) cpu: u32,
    pub(crate) tid: u32,
}

/// Records under construction.
pub(crate) struct PerfData {
    order: Order,
    records: Vec<u8>,
}

impl PerfData {
    pub(crate) fn new(order: Order) -> PerfData {
        PerfData { order, records: Vec::new() }
    }

    fn push(mut self, kind: u32, body: &[u8]) -> PerfData {
        self.records.extend(record(self.order, kind, body));
        self
    }

    /// A sample of a tracepoint.
    pub(crate) fn sample(self, position: PerfPosition, raw: &[u8]) -> PerfData {
        let order = self.order;
        let mut body = order.u64(ID).to_vec();
        body.extend(order.u64(0xffff_ffff_8100_0000));
        body.extend([order.u32(position.tid), order.u32(position.tid)].concat());
        body.extend(order.u64(position.ns));
        body.extend([order.u32(position.cpu), order.u32(0)].concat());
        body.extend(order.u64(1));
        let padded = (raw.len() + 4).next_multiple_of(8) - 4;
        body.extend(order.u32(padded as u32));
        body.extend(raw);
        body.resize(body.len() + padded - raw.len(), 0);
        self.push(SAMPLE, &body)
    }

    /// A record that ends with a thread, a time, a CPU and a number.
    pub(crate) fn aside(self, kind: u32, position: PerfPosition, body: &[u8]) -> PerfData {
        let order = self.order;
        let mut body = body.to_vec();
        body.extend([order.u32(position.tid), order.u32(position.tid)].concat());
        body.extend(order.u64(position.ns));
        body.extend([order.u32(position.cpu), order.u32(0)].concat());
        body.extend(order.u64(ID));
        self.push(kind, &body)
    }

    /// The end of a round.
    pub(crate) fn round(self) -> PerfData {
        self.push(FINISHED_ROUND, &[])
    }

    fn attribute(&self, clock: u32) -> Vec<u8> {
        let order = self.order;
        let mut out = order.u32(2).to_vec();
        out.extend(order.u32(128));
        out.extend(order.u64(311));
        out.extend(order.u64(1));
        out.extend(order.u64(SAMPLE_TYPE));
        out.extend(order.u64(0));
        let bits = [18, 25].map(|bit| if order == Order::Little { 1_u64 << bit } else { 1 << (63 - bit) });
        out.extend(order.u64(bits[0] | bits[1]));
        out.resize(92, 0);
        out.extend(order.u32(clock));
        out.resize(128, 0);
        out
    }

    /// The features: host, CPUs, clock; in a file also the format texts.
    fn features(&self) -> Vec<(u32, Vec<u8>)> {
        let order = self.order;
        let mut host = order.u32(8).to_vec();
        host.extend(b"host-7\0\0");
        let cpus = [order.u32(2), order.u32(2)].concat();
        let mut clock = [order.u32(1), order.u32(1)].concat();
        clock.extend(order.u64(1_700_000_000_000_000_000));
        clock.extend(order.u64(1_000_000_000));
        vec![(3, host), (7, cpus), (29, clock)]
    }

    fn texts(&self) -> Vec<u8> {
        TraceDat::new(RecordedMachine { order: self.order, long_bytes: 8 }, Vec::new()).texts("0.6")
    }

    pub(crate) fn written(&self, form: PerfForm) -> Vec<u8> {
        match form {
            PerfForm::File => self.file(&self.records),
            PerfForm::Compressed => self.file(&self.compressed()),
            PerfForm::Pipe => self.pipe(),
        }
    }

    fn magic(&self) -> Vec<u8> {
        if self.order == Order::Little { b"PERFILE2".to_vec() } else { b"2ELIFREP".to_vec() }
    }

    fn file(&self, records: &[u8]) -> Vec<u8> {
        let order = self.order;
        let features: Vec<(u32, Vec<u8>)> =
            std::iter::once((1, self.texts())).chain(self.features()).collect();
        let (ids_at, attributes_at) = (104, 112);
        let data_at = attributes_at + 128 + 16;
        let mut out = self.magic();
        for number in [104, 144, attributes_at, 144, data_at, records.len() as u64, 0, 0] {
            out.extend(order.u64(number));
        }
        out.extend(order.u64(features.iter().map(|(number, _)| 1 << number).sum()));
        out.extend([0; 24]);
        assert_eq!(out.len(), ids_at);
        out.extend(order.u64(ID));
        out.extend(self.attribute(1));
        out.extend(order.u64(ids_at as u64));
        out.extend(order.u64(8));
        out.extend(records);
        let mut offset = out.len() + 16 * features.len();
        for (_, data) in &features {
            out.extend(order.u64(offset as u64));
            out.extend(order.u64(data.len() as u64));
            offset += data.len();
        }
        out.extend(features.into_iter().flat_map(|(_, data)| data));
        out
    }

    /// One stream, flushed every 200 bytes, so that records lie across compressed records.
    fn compressed(&self) -> Vec<u8> {
        let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).expect("memory");
        let (mut out, mut taken) = (Vec::new(), 0);
        for part in self.records.chunks(200) {
            encoder.write_all(part).expect("memory");
            encoder.flush().expect("memory");
            let packed = encoder.get_ref()[taken..].to_vec();
            taken += packed.len();
            out.extend(record(self.order, 81, &packed));
        }
        out
    }

    fn pipe(&self) -> Vec<u8> {
        let order = self.order;
        let mut out = self.magic();
        out.extend(order.u64(16));
        let mut attribute = self.attribute(1);
        attribute.extend(order.u64(ID));
        out.extend(record(order, 64, &attribute));
        for (number, data) in self.features() {
            let mut body = order.u64(u64::from(number)).to_vec();
            body.extend(data);
            out.extend(record(order, 80, &body));
        }
        let texts = self.texts();
        out.extend(record(order, 66, &order.u32(texts.len() as u32)));
        let padded = texts.len().next_multiple_of(8) - texts.len();
        out.extend(texts);
        out.extend(vec![0; padded]);
        out.extend(&self.records);
        out
    }
}

fn record(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let mut out = order.u32(kind).to_vec();
    out.extend(order.u16(0));
    out.extend(order.u16(body.len() as u16 + 8));
    out.extend(body);
    out
}
