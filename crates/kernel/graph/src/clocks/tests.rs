//! Two hosts with known clocks.

use super::{ClockAlignmentError, ClockSide, PacketTimes};
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
struct TrueClock {
    offset_ns: u64,
    drift_ppm: f64,
}

impl TrueClock {
    fn second(self, first: u64) -> u64 {
        (self.offset_ns + first).saturating_add_signed((first as f64 * self.drift_ppm * 1e-6) as i64)
    }
}

/// One packet: its sending time on the first host's clock, its transit time, and its direction.
#[derive(Clone, Copy, Debug)]
struct SimulatedPacket {
    sent: u64,
    delay: u64,
    forward: bool,
}

fn times(truth: TrueClock, packets: &[SimulatedPacket]) -> PacketTimes {
    let mut times = PacketTimes::default();
    for (sequence, packet) in (1..).zip(packets) {
        let (sent, received) =
            (EventKind::PacketSent(tcp(sequence)), EventKind::PacketReceived(tcp(sequence)));
        let (from, to) = (packet.sent, packet.sent + packet.delay);
        if packet.forward {
            times.push(ClockSide::First, &event(from, sent));
            times.push(ClockSide::Second, &event(truth.second(to), received));
        } else {
            times.push(ClockSide::Second, &event(truth.second(from), sent));
            times.push(ClockSide::First, &event(to, received));
        }
    }
    times
}

#[test]
fn one_packet_in_each_direction_gives_the_midpoint() {
    let truth = TrueClock { offset_ns: 1_000_000, drift_ppm: 0.0 };
    let packets = [
        SimulatedPacket { sent: 100, delay: 50, forward: true },
        SimulatedPacket { sent: 200, delay: 50, forward: false },
    ];
    let alignment = times(truth, &packets).align().unwrap();
    let time = alignment.clock.to_second(KernelTime::from_ns(175)).ns();
    assert!(time.abs_diff(truth.second(175)) <= 1, "{time}");
    assert!(alignment.bound_ns >= 50 && alignment.bound_ns <= 60, "{}", alignment.bound_ns);
}

#[test]
fn packets_in_one_direction_or_none_align_nothing() {
    let truth = TrueClock { offset_ns: 5, drift_ppm: 0.0 };
    assert_eq!(times(truth, &[]).align().unwrap_err(), ClockAlignmentError::NoPackets);
    for forward in [true, false] {
        let packets = [SimulatedPacket { sent: 100, delay: 50, forward }];
        assert_eq!(times(truth, &packets).align().unwrap_err(), ClockAlignmentError::OneDirection);
    }
}

#[test]
fn a_clock_that_is_set_contradicts_itself() {
    let mut packets = PacketTimes::default();
    let mut pass = |sequence, forward, first, second| {
        let (sent, received) =
            (EventKind::PacketSent(tcp(sequence)), EventKind::PacketReceived(tcp(sequence)));
        let (first_kind, second_kind) = if forward { (sent, received) } else { (received, sent) };
        packets.push(ClockSide::First, &event(first, first_kind));
        packets.push(ClockSide::Second, &event(second, second_kind));
    };
    pass(1, true, 1_000, 1_100);
    pass(2, false, 1_300, 1_200);
    // The second clock jumps back by a millisecond.
    pass(3, true, 5_000_000, 4_000_100);
    pass(4, false, 5_000_300, 4_000_200);
    pass(5, true, 9_000_000, 9_000_100);
    pass(6, false, 9_000_300, 9_000_200);
    assert!(matches!(packets.align(), Err(ClockAlignmentError::Contradiction { .. })));
}

#[test]
fn ambiguous_packets_are_not_used() {
    let truth = TrueClock { offset_ns: 1_000_000, drift_ppm: 0.0 };
    let packets = [
        SimulatedPacket { sent: 100, delay: 50, forward: true },
        SimulatedPacket { sent: 200, delay: 50, forward: false },
    ];
    let mut times = times(truth, &packets);
    // Sent twice, the first lost: the second arrives before the time of "the last one sent".
    times.push(ClockSide::First, &event(300, EventKind::PacketSent(tcp(9))));
    times.push(ClockSide::First, &event(900_000, EventKind::PacketSent(tcp(9))));
    times.push(ClockSide::Second, &event(truth.second(400), EventKind::PacketReceived(tcp(9))));
    assert_eq!(times.align().unwrap().packets_forward, 1);
}

fn packets() -> impl Strategy<Value = Vec<SimulatedPacket>> {
    let packet = (0_u64..60_000_000_000, 20_000_u64..5_000_000, any::<bool>());
    prop::collection::vec(packet, 2..200).prop_map(|rows| {
        let mut packets: Vec<SimulatedPacket> =
            rows.into_iter().map(|(sent, delay, forward)| SimulatedPacket { sent, delay, forward }).collect();
        packets[0].forward = true;
        packets[1].forward = false;
        packets
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_true_offset_lies_within_the_bound(
        offset_ns in 0_u64..1 << 40,
        drift_ppm in -100.0..100.0_f64,
        packets in packets(),
    ) {
        // Times are far from the clock's origin, so that a negative drift does not make them negative.
        let truth = TrueClock { offset_ns: offset_ns + (1 << 41), drift_ppm };
        let alignment = times(truth, &packets).align().expect("one clock explains the packets");
        for packet in &packets {
            let time = alignment.clock.to_second(KernelTime::from_ns(packet.sent));
            prop_assert!(time.ns().abs_diff(truth.second(packet.sent)) <= alignment.bound_ns + 2);
            let original = alignment.clock.to_first(time).ns();
            prop_assert!(original.abs_diff(packet.sent) <= 2);
        }
    }

    #[test]
    fn many_packets_in_both_directions_align_the_clocks_closely(drift_ppm in -100.0..100.0_f64, seed in any::<u64>()) {
        let truth = TrueClock { offset_ns: 1 << 41, drift_ppm };
        let mut state = seed;
        let mut draw = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        // Most packets are delayed; the others take 30 µs.
        let packets: Vec<SimulatedPacket> = (0..2000)
            .map(|index| SimulatedPacket {
                sent: index * 5_000_000,
                delay: 30_000 + if draw(10) == 0 { draw(3_000) } else { draw(2_000_000) },
                forward: index % 2 == 0,
            })
            .collect();
        let alignment = times(truth, &packets).align().unwrap();
        prop_assert!((alignment.clock.drift_ppm() - drift_ppm).abs() < 1.0);
        let time = alignment.clock.to_second(KernelTime::from_ns(5_000_000_000)).ns();
        prop_assert!(time.abs_diff(truth.second(5_000_000_000)) < 3_000);
    }
}
