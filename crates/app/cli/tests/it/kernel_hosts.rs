//! `laggard kernel path` over the traces of two hosts whose clocks differ.

use crate::outcome::laggard;
use std::path::Path;

/// Clock offset of the second host, in nanoseconds.
const AHEAD_NS: u64 = 1_000_000_000_000;
const US: u64 = 1_000;

/// A trace in the Common Trace Format, as LTTng writes them, of one CPU.
struct Ctf {
    bytes: Vec<u8>,
    ahead_ns: u64,
}

/// Fields of a packet that both hosts record.
type Packet = (u32, u32);

impl Ctf {
    fn new(ahead_ns: u64) -> Ctf {
        Ctf { bytes: 0xc1fc_1fc1_u32.to_le_bytes().to_vec(), ahead_ns }
    }

    fn event(&mut self, us: u64, id: u8) {
        self.bytes.push(id);
        self.bytes.extend((10_000_000_000 + us * US + self.ahead_ns).to_le_bytes());
    }

    fn numbers(&mut self, numbers: &[u32]) {
        numbers.iter().for_each(|number| self.bytes.extend(number.to_le_bytes()));
    }

    fn text(&mut self, text: &str) {
        self.bytes.extend(text.as_bytes());
        self.bytes.push(0);
    }

    fn switch(&mut self, us: u64, prev: (u32, &str, u32), next: (u32, &str)) {
        self.event(us, 0);
        self.text(prev.1);
        self.numbers(&[prev.0, prev.2]);
        self.text(next.1);
        self.numbers(&[next.0]);
    }

    /// Receives a packet and wakes a thread for it.
    fn receive(&mut self, us: u64, packet: Packet, woken: (u32, &str)) {
        self.event(us, 2);
        self.numbers(&[3]);
        self.event(us + 1, 5);
        self.numbers(&[packet.0, packet.1, 0x18]);
        self.event(us + 2, 1);
        self.text(woken.1);
        self.numbers(&[woken.0, 0]);
        self.event(us + 3, 3);
        self.numbers(&[3]);
        self.switch(us + 5, (0, "swapper/0", 0), woken);
    }

    fn send(&mut self, us: u64, packet: Packet) {
        self.event(us, 4);
        self.numbers(&[packet.0, packet.1, 0x18]);
    }

    fn write(&self, folder: &Path, host: &str) -> String {
        let folder = folder.join(host);
        std::fs::create_dir(&folder).unwrap();
        let u32_field = |name: &str| format!("integer {{ size = 32; align = 8; }} {name}; ");
        let event = |id: u8, name: &str, fields: String| {
            format!("event {{ name = \"{name}\"; id = {id}; fields := struct {{ {fields} }}; }};\n")
        };
        let packet = ["seq", "ack_seq", "flags"].map(u32_field).concat();
        let switch = [
            "string prev_comm; ".to_owned(),
            ["prev_tid", "prev_state"].map(u32_field).concat(),
            "string next_comm; ".to_owned(),
            u32_field("next_tid"),
        ];
        let metadata = [
            "/* CTF 1.8 */\ntrace { major = 1; minor = 8; byte_order = le; packet.header := struct { ".to_owned(),
            u32_field("magic"),
            format!("}}; }};\nenv {{ domain = \"kernel\"; hostname = \"{host}\"; }};\n"),
            "clock { name = mono; freq = 1000000000; };\nstream { event.header := struct { integer { size = 8; align = 8; } \
             id; integer { size = 64; align = 8; map = clock.mono.value; } timestamp; }; };\n"
                .to_owned(),
            event(0, "sched_switch", switch.concat()),
            event(1, "sched_waking", format!("string comm; {}", ["tid", "target_cpu"].map(u32_field).concat())),
            event(2, "irq_softirq_entry", u32_field("vec")),
            event(3, "irq_softirq_exit", u32_field("vec")),
            event(4, "inet_sock_local_out", packet.clone()),
            event(5, "inet_sock_local_in", packet),
        ];
        std::fs::write(folder.join("metadata"), metadata.concat()).unwrap();
        std::fs::write(folder.join("channel0_0"), &self.bytes).unwrap();
        folder.to_str().unwrap().to_owned()
    }
}

/// A front end queries a database three times; each packet takes 100 µs, each query 2 ms.
fn hosts(folder: &Path) -> [String; 2] {
    let (mut front, mut db) = (Ctf::new(0), Ctf::new(AHEAD_NS));
    let (client, server) = ((100, "front"), (200, "db"));
    front.switch(0, (0, "swapper/0", 0), client);
    db.switch(0, (0, "swapper/0", 0), server);
    db.switch(10, (200, "db", 1), (0, "swapper/0"));
    for round in 0..3 {
        let (us, number) = (1_000 + u64::from(round) * 10_000, 500 + round);
        front.send(us, (number, 7));
        front.switch(us + 10, (100, "front", 1), (0, "swapper/0"));
        db.receive(us + 100, (number, 7), server);
        db.send(us + 2_105, (9_000 + number, number));
        db.switch(us + 2_115, (200, "db", 1), (0, "swapper/0"));
        front.receive(us + 2_205, (9_000 + number, number), client);
    }
    front.switch(30_000, (100, "front", 1), (0, "swapper/0"));
    [front.write(folder, "shop-1"), db.write(folder, "db-1")]
}

#[test]
fn a_path_continues_on_the_host_that_responds() {
    let folder = tempfile::tempdir().unwrap();
    let [front, db] = hosts(folder.path());
    let report = laggard(&["kernel", "path", &front, &db, "--thread", "front", "--output", "json"]).json();
    assert_eq!(report["executions"].as_array().unwrap().len(), 1);
    let workers = report["workers"].as_array().unwrap();
    let on = |host: &str| workers.iter().find(|worker| worker["host"] == host).unwrap();
    assert_eq!((&on("db-1")["thread"], &on("db-1")["own"]), (&"db".into(), &false.into()));
    // Three queries of 2,000 µs of work, 5 µs of scheduling latency, and part of the packets' transit.
    let worked_ns = on("db-1")["total_ns"].as_u64().unwrap();
    assert!((6_000 * US..6_300 * US).contains(&worked_ns), "{worked_ns}");
    let wait =
        report["waits"].as_array().unwrap().iter().find(|wait| wait["cause"] == "other_thread").unwrap();
    assert_eq!(
        (&wait["thread"], &wait["waker"], &wait["count"]),
        (&"front".into(), &"db on db-1".into(), &3.into())
    );
    let aligned = &report["input"]["traces"][1]["aligned"];
    assert_eq!((&aligned["packets_from_first"], &aligned["packets_to_first"]), (&3.into(), &3.into()));
    // A packet takes 101 µs until it is recorded, which is the uncertainty in either direction.
    assert!(aligned["bound_ns"].as_u64().unwrap() < 110 * US, "{aligned}");
}

#[test]
fn unalignable_traces_are_analyzed_separately_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let [front, _] = hosts(folder.path());
    let mut silent = Ctf::new(0);
    silent.switch(0, (0, "swapper/0", 0), (200, "db"));
    silent.switch(900, (200, "db", 1), (0, "swapper/0"));
    let silent = silent.write(folder.path(), "db-2");
    let report =
        laggard(&["kernel", "path", &front, &silent, "--thread", "front", "--output", "json"]).json();
    assert_eq!(report["input"]["traces"].as_array().unwrap().len(), 2);
    assert!(report["input"]["traces"][1]["aligned"].is_null());
    let cautions = report["cautions"].to_string();
    assert!(
        cautions.contains("db-2` end at its host") && cautions.contains("no packet is in both"),
        "{cautions}"
    );
}
