// Writes a small kernel trace as `trace-cmd report` prints it: a shop's thread that takes orders, asks a database and
// reads from a disk. With `slow`, every third order waits longer for the disk.
//
//     node kernel_text.mjs normal > normal.txt; node kernel_text.mjs slow > slow.txt

const slow = process.argv[2] === "slow";
const lines = [];
let clock_us = 1_000_000;
let state = slow ? 7 : 3;

/** A number of 0..1, the same ones every time. */
function draw() {
  state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
  return state / 2_147_483_648;
}

/** A time of about `us`, in microseconds. */
const about = (us) => Math.round(us * (0.9 + 0.2 * draw()));

function event(cpu, comm, pid, name, text) {
  const at = (clock_us / 1e6).toFixed(6).padStart(12);
  const who = `${comm}-${pid}`.padStart(20);
  lines.push(`${who}  [00${cpu}] ${at}000: ${`${name}:`.padEnd(22)}${text}`);
}

function sleeps(cpu, comm, pid, why) {
  event(cpu, comm, pid, "sched_switch", `${comm}:${pid} [120] ${why} ==> swapper/${cpu}:0 [120]`);
}

function runs(cpu, comm, pid) {
  event(cpu, "<idle>", 0, "sched_switch", `swapper/${cpu}:0 [120] R ==> ${comm}:${pid} [120]`);
}

function wakes(cpu, by, byPid, comm, pid, target) {
  event(cpu, by, byPid, "sched_waking", `comm=${comm} pid=${pid} prio=120 target_cpu=00${target}`);
  event(cpu, by, byPid, "sched_wakeup", `${comm}:${pid} [120] CPU:00${target}`);
}

function database(us) {
  wakes(0, "shop", 100, "db", 200, 1);
  sleeps(0, "shop", 100, "S");
  clock_us += 4;
  runs(1, "db", 200);
  clock_us += us;
  wakes(1, "db", 200, "shop", 100, 0);
  clock_us += 4;
  runs(0, "shop", 100);
  clock_us += 3;
  sleeps(1, "db", 200, "S");
}

function disk(us) {
  sleeps(0, "shop", 100, "D");
  clock_us += us;
  event(0, "<idle>", 0, "irq_handler_entry", "irq=36 name=virtio1-req.0");
  event(0, "<idle>", 0, "irq_handler_exit", "irq=36 ret=handled");
  event(0, "<idle>", 0, "softirq_entry", "vec=4 [action=BLOCK]");
  wakes(0, "<idle>", 0, "shop", 100, 0);
  event(0, "<idle>", 0, "softirq_exit", "vec=4 [action=BLOCK]");
  clock_us += 3;
  runs(0, "shop", 100);
}

function order(number) {
  event(0, "shop", 100, "print", `tracing_mark_write: order begin ${number}`);
  clock_us += about(300);
  database(about(800));
  clock_us += about(150);
  disk(about(slow && number % 3 === 0 ? 6_000 : 400));
  clock_us += about(200);
  event(0, "shop", 100, "print", `tracing_mark_write: order end ${number}`);
  clock_us += about(500);
}

runs(0, "shop", 100);
for (let number = 1; number <= 60; number += 1) order(number);
sleeps(0, "shop", 100, "S");
console.log(["cpus=2", ...lines].join("\n"));
