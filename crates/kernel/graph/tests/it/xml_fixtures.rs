//! Small event traces with the published reference's graphs and paths.

use crate::chains::{
    ALWAYS, assert_tiles, expected_links, expected_segments, graph_as_expected, path_as_expected,
};
use laggard_kernel_graph::{ExecutionGraph, GraphBuilder, GraphSettings, HostId, WorkerId, WorkerKind};
use laggard_model::{
    Cpu, EventKind, IpiVector, KernelEvent, KernelTexts, KernelTime, Losses, PrevState, Socket, Tid,
};
use laggard_testkit::data_folder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;

/// One event of a fixture: its attributes, and its fields by name.
struct XmlEvent {
    name: String,
    time: u64,
    fields: BTreeMap<String, String>,
}

fn attribute(line: &str, name: &str) -> Option<String> {
    let from = line.find(&format!("{name}=\""))? + name.len() + 2;
    let length = line[from..].find('"')?;
    Some(line[from..from + length].to_owned())
}

fn read_xml(text: &str) -> Vec<XmlEvent> {
    let mut events: Vec<XmlEvent> = Vec::new();
    for line in text.lines() {
        if line.contains("<event ") {
            let name = attribute(line, "name").expect("an event's name");
            let time = attribute(line, "timestamp").and_then(|time| time.parse().ok()).expect("a time");
            events.push(XmlEvent { name, time, fields: BTreeMap::new() });
        } else if let (true, Some(event)) = (line.contains("<field "), events.last_mut()) {
            let name = attribute(line, "name").expect("a field's name");
            event.fields.insert(name, attribute(line, "value").expect("a field's value"));
        }
    }
    events
}

impl XmlEvent {
    fn number(&self, name: &str) -> u32 {
        self.fields[name].parse().expect("a number")
    }

    fn kernel_event(&self, texts: &mut KernelTexts) -> KernelEvent {
        let mut text = |name: &str| texts.intern(&self.fields[name]);
        let message = |event: &XmlEvent| Socket::Message(u64::from(event.number("msgid")));
        let kind = match self.name.as_str() {
            "sched_switch" => EventKind::Switch {
                prev: Tid(self.number("prev_tid")),
                prev_name: text("prev_comm"),
                prev_state: PrevState(self.number("prev_state")),
                next: Tid(self.number("next_tid")),
                next_name: text("next_comm"),
            },
            "sched_wakeup" => {
                EventKind::Wakeup { tid: Tid(self.number("tid")), name: text("comm"), target: None }
            }
            "irq_handler_entry" => EventKind::IrqEntry { irq: self.number("irq"), name: text("name") },
            "irq_handler_exit" => EventKind::IrqExit { irq: self.number("irq") },
            "softirq_entry" => EventKind::SoftirqEntry { vector: self.number("vec") as u8 },
            "softirq_exit" => EventKind::SoftirqExit { vector: self.number("vec") as u8 },
            "softirq_raise" => EventKind::SoftirqRaise { vector: self.number("vec") as u8 },
            "do_IRQ_entry" => EventKind::IpiEntry(IpiVector::Other),
            "do_IRQ_return" => EventKind::IpiExit(IpiVector::Other),
            "netif_receive_skb_internal_entry" => EventKind::ReceptionEntry,
            "netif_receive_skb_internal_return" => EventKind::ReceptionExit,
            "packet_sent" => EventKind::PacketSent(message(self)),
            "packet_received" => EventKind::PacketReceived(message(self)),
            "statedump_interrupt" => EventKind::InterruptName {
                irq: self.number("irq"),
                name: text("name"),
                thread: Tid(self.number("thread")),
            },
            other => EventKind::Other { name: texts.intern(other), fields: texts.intern("") },
        };
        let cpu = Cpu(self.number("cpu") as u16);
        KernelEvent { time: KernelTime::from_ns(self.time), cpu, flags: None, recorded: None, kind }
    }
}

/// The graph of several traces on one clock, and the hosts' names by number.
fn built(folder: &Path, traces: &Value, settings: GraphSettings) -> (ExecutionGraph, Vec<String>) {
    let mut hosts = Vec::new();
    let mut texts = Vec::new();
    let mut events = Vec::new();
    for trace in traces.as_array().expect("traces") {
        let file = folder.join(trace[1].as_str().expect("a file name"));
        let text = std::fs::read_to_string(file).expect("a fixture can be read");
        let mut own = KernelTexts::default();
        let read = read_xml(&text).into_iter().map(|event| (hosts.len(), event.kernel_event(&mut own)));
        events.extend(read.collect::<Vec<_>>());
        hosts.push(trace[0].as_str().expect("a host's name").to_owned());
        texts.push(own);
    }
    events.sort_by_key(|(_, event)| event.time);
    let mut builder = GraphBuilder::new(settings, HostId(0));
    for (host, event) in &events {
        builder.push_from(HostId(*host as u16), event, &texts[*host]);
    }
    (builder.finish(&mut Losses::none()), hosts)
}

fn text(value: &Value) -> String {
    value.as_str().expect("a worker's name").to_owned()
}

#[test]
fn graphs_and_paths_of_small_traces_equal_the_reference() {
    let Some(folder) = data_folder("kernel/tc-graph-fixtures") else { return };
    let cases = std::fs::read_to_string(folder.join("xml-expected.json")).expect("the fixtures can be read");
    let cases: Value = serde_json::from_str(&cases).expect("the fixtures are JSON");
    let cases = cases.as_object().expect("cases by name");
    assert_eq!(cases.len(), 5);
    for (case_name, case) in cases {
        let (graph, hosts) = built(&folder, &case["traces"], GraphSettings::compat());
        let name = |id: WorkerId| {
            let worker = graph.worker(id);
            let host = &hosts[usize::from(worker.host.0)];
            match worker.kind {
                WorkerKind::Thread { tid, .. } => format!("{host}/{}", tid.0),
                WorkerKind::Idle(_) => format!("{host}/0"),
                WorkerKind::Interrupts(_) => format!("{host}/-1"),
            }
        };
        let expected = &case["graph"];
        let expected = (expected_segments(&expected["chains"]), expected_links(&expected["links"], text));
        assert_eq!(graph_as_expected(&graph, name), expected, "{case_name}");
        for (worker, expected) in case["paths"].as_object().expect("paths by worker") {
            let id = (0..graph.workers().len() as u32).map(WorkerId).find(|&id| name(id) == *worker);
            let path = graph.critical_path(id.expect("the worker is in the graph"), ALWAYS);
            assert_tiles(&path);
            let expected = (expected_segments(&expected["chains"]), expected_links(&expected["links"], text));
            assert_eq!(path_as_expected(&path, name), expected, "{case_name}: {worker}");
        }
    }
}
