//! Two hosts with known clocks.

use super::{NoAlignment, PacketTimes, Side};
use laggard_model::{Cpu, EventKind, KernelEvent, KernelTime, Socket};
use proptest::prelude::*;

fn event(time: u64, kind: EventKind) -> KernelEvent {
    KernelEvent { time: KernelTime::from_ns(time), cpu: Cpu(0), flags: None, recorded: None, kind }
}

fn tcp(sequence: u32) -> Socket {
    Socket::Tcp { sequence, acknowledgment: 1, flags: 16, ports: 0 }
}

/// The second host's clock of a simulation.
#[derive(Clone, Copy, Debug)]
struct Truth {
    offset_ns: u64,
    drift_ppm: f64,
}

impl Truth {
    fn second(self, first: u64) -> u64 {
        (self.offset_ns + first).saturating_add_signed((first as f64 * self.drift_ppm * 1e-6) as i64)
    }
}

/// One packet: when it is sent on the first host's clock, how long it takes, and which way it goes.
#[derive(Clone, Copy, Debug)]
struct Packet {
    sent: u64,
    delay: u64,
    forth: bool,
}

fn times(truth: Truth, packets: &[Packet]) -> PacketTimes {
    let mut times = PacketTimes::default();
    for (sequence, packet) in (1..).zip(packets) {
        let (sent, received) =
            (EventKind::PacketSent(tcp(sequence)), EventKind::PacketReceived(tcp(sequence)));
        let (from, to) = (packet.sent, packet.sent + packet.delay);
        if packet.forth {
            times.push(Side::First, &event(from, sent));
            times.push(Side::Second, &event(truth.second(to), received));
        } else {
            times.push(Side::Second, &event(truth.second(from), sent));
            times.push(Side::First, &event(to, received));
        }
    }
    times
}

#[test]
fn one_packet_each_way_gives_the_middle() {
    let truth = Truth { offset_ns: 1_000_000, drift_ppm: 0.0 };
    let packets =
        [Packet { sent: 100, delay: 50, forth: true }, Packet { sent: 200, delay: 50, forth: false }];
    let found = times(truth, &packets).align().unwrap();
    let at = found.clock.to_second(KernelTime::from_ns(175)).ns();
    assert!(at.abs_diff(truth.second(175)) <= 1, "{at}");
    assert!(found.bound_ns >= 50 && found.bound_ns <= 60, "{}", found.bound_ns);
}

#[test]
fn packets_in_one_direction_or_none_align_nothing() {
    let truth = Truth { offset_ns: 5, drift_ppm: 0.0 };
    assert_eq!(times(truth, &[]).align().unwrap_err(), NoAlignment::NoPackets);
    for forth in [true, false] {
        let packets = [Packet { sent: 100, delay: 50, forth }];
        assert_eq!(times(truth, &packets).align().unwrap_err(), NoAlignment::OneDirection);
    }
}

#[test]
fn a_clock_that_is_set_contradicts_itself() {
    let mut packets = PacketTimes::default();
    let mut pass = |sequence, forth, first, second| {
        let (sent, received) =
            (EventKind::PacketSent(tcp(sequence)), EventKind::PacketReceived(tcp(sequence)));
        let (first_kind, second_kind) = if forth { (sent, received) } else { (received, sent) };
        packets.push(Side::First, &event(first, first_kind));
        packets.push(Side::Second, &event(second, second_kind));
    };
    pass(1, true, 1_000, 1_100);
    pass(2, false, 1_300, 1_200);
    // The second clock jumps back by a millisecond.
    pass(3, true, 5_000_000, 4_000_100);
    pass(4, false, 5_000_300, 4_000_200);
    pass(5, true, 9_000_000, 9_000_100);
    pass(6, false, 9_000_300, 9_000_200);
    assert!(matches!(packets.align(), Err(NoAlignment::Contradiction { .. })));
}

#[test]
fn packets_that_look_alike_are_not_used() {
    let truth = Truth { offset_ns: 1_000_000, drift_ppm: 0.0 };
    let packets =
        [Packet { sent: 100, delay: 50, forth: true }, Packet { sent: 200, delay: 50, forth: false }];
    let mut times = times(truth, &packets);
    // Sent twice, the first lost: the second arrives before the time of "the last one sent".
    times.push(Side::First, &event(300, EventKind::PacketSent(tcp(9))));
    times.push(Side::First, &event(900_000, EventKind::PacketSent(tcp(9))));
    times.push(Side::Second, &event(truth.second(400), EventKind::PacketReceived(tcp(9))));
    assert_eq!(times.align().unwrap().packets_forth, 1);
}

fn packets() -> impl Strategy<Value = Vec<Packet>> {
    let packet = (0_u64..60_000_000_000, 20_000_u64..5_000_000, any::<bool>());
    prop::collection::vec(packet, 2..200).prop_map(|rows| {
        let mut packets: Vec<Packet> =
            rows.into_iter().map(|(sent, delay, forth)| Packet { sent, delay, forth }).collect();
        packets[0].forth = true;
        packets[1].forth = false;
        packets
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_truth_lies_within_the_bound(
        offset_ns in 0_u64..1 << 40,
        drift_ppm in -100.0..100.0_f64,
        packets in packets(),
    ) {
        // Times are far from the clock's origin, so that a negative drift does not lead before it.
        let truth = Truth { offset_ns: offset_ns + (1 << 41), drift_ppm };
        let found = times(truth, &packets).align().expect("one clock explains the packets");
        for packet in &packets {
            let at = found.clock.to_second(KernelTime::from_ns(packet.sent));
            prop_assert!(at.ns().abs_diff(truth.second(packet.sent)) <= found.bound_ns + 2);
            let back = found.clock.to_first(at).ns();
            prop_assert!(back.abs_diff(packet.sent) <= 2);
        }
    }

    #[test]
    fn many_packets_both_ways_bring_the_clocks_close(drift_ppm in -100.0..100.0_f64, seed in any::<u64>()) {
        let truth = Truth { offset_ns: 1 << 41, drift_ppm };
        let mut state = seed;
        let mut draw = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        // Most packets are held up by something, some are not: 30 µs.
        let packets: Vec<Packet> = (0..2000)
            .map(|index| Packet {
                sent: index * 5_000_000,
                delay: 30_000 + if draw(10) == 0 { draw(3_000) } else { draw(2_000_000) },
                forth: index % 2 == 0,
            })
            .collect();
        let found = times(truth, &packets).align().unwrap();
        prop_assert!((found.clock.drift_ppm() - drift_ppm).abs() < 1.0);
        let at = found.clock.to_second(KernelTime::from_ns(5_000_000_000)).ns();
        prop_assert!(at.abs_diff(truth.second(5_000_000_000)) < 3_000);
    }
}
