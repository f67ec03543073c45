// The arithmetic half of the scenes, in the browser: tables and slider steps -> marks and texts.
//
// Pure: no widget, no page, no state; Node or a test can import it. The Python scene is the reference, and golden
// vectors (tests/browser/test_driver.py) hold the two equal, numbers and text. So keep this small and keep it the same.

// -- numbers as a person reads them (text.py) -------------------------------------------------------------------------

const PREFIXES = {"-12": "p", "-9": "n", "-6": "µ", "-3": "m", 0: "", 3: "k", 6: "M", 9: "G", 12: "T", 15: "P", 18: "E"};

/** The leading decimal digits of |value| and the power of ten of the first. toExponential rounds ties up, as text.py. */
function digits(value, significant) {
  const [mantissa, exponent] = Math.abs(value).toExponential(significant - 1).split("e");
  return [mantissa.replace(".", ""), Number(exponent)];
}

/** Digits with the point after digit number `exponent`, zeros filled in. */
function plain(text, exponent) {
  if (exponent < 0) return "0." + "0".repeat(-exponent - 1) + text;
  if (exponent >= text.length - 1) return text + "0".repeat(exponent - text.length + 1);
  return text.slice(0, exponent + 1) + "." + text.slice(exponent + 1);
}

export function number(value, significant = 3) {
  if (Number.isNaN(value)) return "unknown";
  if (!Number.isFinite(value)) return value < 0 ? "-∞" : "∞";
  if (value === 0) return "0";
  const [text, exponent] = digits(value, significant);
  const sign = value < 0 ? "-" : "";
  return exponent > -4 && exponent < 6 ? sign + plain(text, exponent) : `${sign}${plain(text, 0)}e${exponent}`;
}

export function si(value, unit, significant = 3) {
  if (value === null || Number.isNaN(value)) return "unknown";
  if (value === 0 || !Number.isFinite(value)) return `${number(value)} ${unit}`;
  const [text, exponent] = digits(value, significant);
  const thousand = Math.min(Math.max(Math.floor(exponent / 3) * 3, -12), 18);
  return `${value < 0 ? "-" : ""}${plain(text, exponent - thousand)} ${PREFIXES[thousand]}${unit}`;
}

export function percent(share) {
  return `${Math.floor(100 * share + 0.5)} %`;
}

// -- the model (cost.py) ----------------------------------------------------------------------------------------------

const BALANCED_WITHIN = 1.05;
const BOUNDS = ["compute", "memory", "launch", "balanced"];

/** FLOP/s under the roof: min(peak, intensity x bandwidth). Williams, Waterman, Patterson 2009, section 3. */
export function attainable(intensity, peak, bandwidth) {
  return Math.min(peak, intensity * bandwidth);
}

/** Index into BOUNDS of what limits a kernel. */
export function classify(arithmetic, memory, launch) {
  const slower = Math.max(arithmetic, memory);
  const faster = Math.min(arithmetic, memory);
  if (launch > slower) return 2;
  if (slower === 0) return 1; // nothing at all to do: neither limits
  if (slower <= BALANCED_WITHIN * faster) return 3;
  return arithmetic > memory ? 0 : 1;
}

/** Times, bounds and totals of all kernels with the sliders' factors in bandwidth and peaks (cost.Estimate). */
export function estimate(t, controls) {
  const bandwidth = t.bandwidth * t.bandwidth_factors[controls.bandwidth];
  const factor = t.peak_factors[controls.peak];
  const peak = t.peak * factor;
  const vectorPeak = t.vector_peak === null ? null : t.vector_peak * factor;
  const launch = t.launch_seconds ?? 0;
  const e = {
    bandwidth, peak, vectorPeak, arithmetic: [], memory: [], seconds: [], bound: [], flops: [],
    secondsByBound: [0, 0, 0, 0], counts: [0, 0, 0, 0],
    totalSeconds: 0, noOverlap: 0, totalFlops: 0, totalBytes: 0, totalOnChip: 0,
  };
  for (let i = 0; i < t.names.length; i++) {
    const arithmetic = t.mac_flops[i] / peak + t.other_flops[i] / Math.min(vectorPeak ?? peak, peak);
    let memory = t.dram_bytes[i] / bandwidth;
    for (const [, levelBandwidth] of t.levels) memory = Math.max(memory, t.on_chip_bytes[i] / levelBandwidth);
    const seconds = launch + Math.max(arithmetic, memory);
    const bound = classify(arithmetic, memory, launch);
    e.arithmetic.push(arithmetic);
    e.memory.push(memory);
    e.seconds.push(seconds);
    e.bound.push(bound);
    e.flops.push(t.mac_flops[i] + t.other_flops[i]);
    e.secondsByBound[bound] += seconds;
    e.counts[bound] += 1;
    e.totalSeconds += seconds;
    e.noOverlap += launch + arithmetic + memory;
    e.totalFlops += e.flops[i];
    e.totalBytes += t.dram_bytes[i];
    e.totalOnChip += t.on_chip_bytes[i];
  }
  return e;
}

// -- the roofline scene (scenes/roofline_marks.py) ----------------------------------------------------------------------

const FAMILIES = [
  "convolution", "depthwise convolution", "matrix product", "elementwise", "reduction", "data movement",
];
const BOUND_COLORS = {compute: "#0072b2", memory: "#d55e00", launch: "#8a8a8a", balanced: "#009e73"};
const ON_CHIP_ROOFS = 2;

/** All marks and texts of the roofline explorer: name -> its traits. */
export function roofline(t, controls) {
  const e = estimate(t, controls);
  return {...roofMarks(t, e), ...pointMarks(t, e), ...textMarks(t, e)};
}

function clamp(value, low, high) {
  return Math.min(Math.max(value, low), high);
}

function roof(bandwidth, peak, x0, x1) {
  const x = [x0, clamp(peak / bandwidth, x0, x1), x1];
  return {x, y: x.map((v) => attainable(v, peak, bandwidth))};
}

function roofMarks(t, e) {
  const [x0, x1] = t.x_limits;
  const y0 = t.y_limits[0];
  const {bandwidth, peak} = e;
  const marks = {roof: roof(bandwidth, peak, x0, x1)};
  for (let i = 0; i < ON_CHIP_ROOFS; i++) {
    const visible = i < t.levels.length;
    marks[`roof_${i}`] = {...roof(visible ? t.levels[i][1] : bandwidth, peak, x0, x1), visible};
  }
  const vector = e.vectorPeak !== null && e.vectorPeak < peak ? e.vectorPeak : null;
  marks.vector_peak = {
    x: [(vector ?? peak) / bandwidth, x1], y: [vector ?? peak, vector ?? peak], visible: vector !== null,
  };
  const ridge = peak / bandwidth;
  const at = clamp(ridge, x0, x1);
  marks.ridge = {x: [at, at], y: [y0, peak], visible: x0 <= ridge && ridge <= x1};
  marks.label_peak = {x: [x1 / 1.1], y: [peak * t.lift], text: [`peak ${si(peak, "FLOP/s")}`]};
  const slope = Math.sqrt(Math.sqrt(x0 * at) * at);
  marks.label_bandwidth = {
    x: [slope * t.beside[0]], y: [slope * bandwidth * t.beside[1]], text: [`${t.memory} ${si(bandwidth, "B/s")}`],
  };
  marks.label_ridge = {x: [at], y: [y0 * t.lift], text: [`ridge ${number(ridge)} FLOP/B`]};
  return marks;
}

function pointMarks(t, e) {
  const longest = Math.max(...e.seconds);
  const marks = {};
  for (const name of FAMILIES) marks[`points ${name}`] = {x: [], y: [], size: [], colors: [], names: []};
  for (let i = 0; i < t.names.length; i++) {
    if (!(e.flops[i] > 0 && t.dram_bytes[i] > 0)) continue;
    const mark = marks[`points ${t.families[i]}`];
    const intensity = e.flops[i] / t.dram_bytes[i];
    const bound = BOUNDS[e.bound[i]];
    mark.x.push(intensity);
    mark.y.push(e.flops[i] / e.seconds[i]);
    mark.size.push(e.seconds[i] / longest);
    mark.colors.push(BOUND_COLORS[bound]);
    mark.names.push(
      `${t.names[i]} · ${si(e.flops[i], "FLOP")} · ${si(t.dram_bytes[i], "B")} · ` +
      `${number(intensity)} FLOP/B · ${si(e.seconds[i], "s")} · ${bound}`
    );
  }
  const drawn = e.totalFlops > 0 && e.totalBytes > 0;
  const intensity = e.totalFlops / e.totalBytes;
  marks.total = {
    x: drawn ? [intensity] : [],
    y: drawn ? [e.totalFlops / e.totalSeconds] : [],
    names: drawn ? [`whole network · ${number(intensity)} FLOP/B · ${si(e.totalSeconds, "s")}`] : [],
  };
  return marks;
}

const ADVICE = {
  memory: "Most of the time is waiting for memory: more bandwidth or fewer bytes help most, a higher peak less.",
  compute: "Most of the time is arithmetic: a higher peak or fewer FLOPs help most, more bandwidth less.",
  launch: "Most of the time goes into starting kernels: fewer kernels help, a faster chip hardly does.",
  balanced: "Most of the time is spent on the ridge: arithmetic and memory are equally busy.",
};

function textMarks(t, e) {
  const n = t.names.length;
  const shares = e.secondsByBound.map((s) => s / e.totalSeconds);
  const limit = BOUNDS[e.secondsByBound.indexOf(Math.max(...e.secondsByBound))];
  const peak = si(e.peak, "FLOP/s");
  const bandwidth = si(e.bandwidth, "B/s");
  const ridge = number(e.peak / e.bandwidth);
  const hidden = [];
  for (let i = 0; i < n; i++) {
    if (!(e.flops[i] > 0)) hidden.push(`${t.names[i]} does no arithmetic`);
    else if (!(t.dram_bytes[i] > 0)) hidden.push(`${t.names[i]} moves no ${t.dram} byte`);
  }
  const launch = t.launch_seconds === null ? "unknown, not counted" : `${si(t.launch_seconds, "s")} each`;
  const intensity = e.totalBytes ? e.totalFlops / e.totalBytes : Infinity;
  const texts = {
    bandwidth_text: bandwidth,
    peak_text: peak,
    time: `${si(e.totalSeconds, "s")} <small>to ${si(e.noOverlap, "s")} without overlap</small>`,
    bytes: si(e.totalBytes, "B"),
    work: `${si(e.totalFlops, "FLOP")} <small>${n} kernels, launch ${launch}</small>`,
    intensity: `${number(intensity)} FLOP/B <small>ridge ${ridge}</small>`,
    energy: energyText(t, e),
    bar: bar(e.counts, shares),
    sentence:
      `${t.network} on ${t.device} at ${t.precision} takes ${si(e.totalSeconds, "s")}: ` +
      `${e.counts[1]} of ${n} kernels wait for memory, ${percent(shares[1])} of the time. ${ADVICE[limit]}${t.note}`,
    formula:
      `attainable = min(peak, intensity × bandwidth) = min(${peak}, intensity × ${bandwidth}) &nbsp;·&nbsp; ` +
      `ridge = ${peak} ÷ ${bandwidth} = ${ridge} FLOP/B`,
    off_plot: hidden.length
      ? `Not on the plot (its axes are logarithmic): ${hidden.join("; ")}.` : "Every kernel is on the plot.",
    table: table(t, e),
  };
  return Object.fromEntries(Object.entries(texts).map(([name, value]) => [name, {value}]));
}

function energyText(t, e) {
  const parts = [
    ["arithmetic", t.joules_per_flop, e.totalFlops], [t.dram, t.joules_per_dram_byte, e.totalBytes],
    ["on-chip memory", t.joules_per_on_chip_byte, e.totalOnChip], ["static power", t.static_watts, e.totalSeconds],
  ];
  if (parts[0][1] === null || parts[1][1] === null) return "unknown";
  let joules = 0;
  for (const [, each, amount] of parts) if (each !== null) joules += amount * each;
  const missing = parts.filter(([, each]) => each === null).map(([name]) => name).join(", ");
  return si(joules, "J") + (missing ? ` <small>without ${missing}: unknown</small>` : "");
}

function bar(counts, shares) {
  const parts = BOUNDS.map((name, i) => shares[i] > 0
    ? `<span title="${name}" style="width:${percent(shares[i]).replace(" ", "")};background:${BOUND_COLORS[name]}">` +
      `${shares[i] > 0.2 ? name : ""}</span>` : "");
  const words = BOUNDS.map((name, i) => `${name} ${percent(shares[i])} (${counts[i]})`).filter((_, i) => counts[i] > 0);
  return `<div class="rl-bar">${parts.join("")}</div><small>${words.join(", ")}</small>`;
}

function table(t, e, rows = 10) {
  const order = t.names.map((_, i) => i).sort((i, j) => e.seconds[j] - e.seconds[i]).slice(0, rows);
  const titles = `kernel|family|FLOP|${t.dram} bytes|FLOP/B|time|limit`;
  const head = titles.split("|").map((h) => `<th>${h}</th>`).join("");
  const body = order.map((i) => {
    const moved = t.dram_bytes[i];
    const cells = [
      t.names[i], t.families[i], si(e.flops[i], "FLOP"), si(moved, "B"),
      moved ? number(e.flops[i] / moved) : "∞", si(e.seconds[i], "s"), BOUNDS[e.bound[i]],
    ];
    return `<tr>${cells.map((c) => `<td>${c}</td>`).join("")}</tr>`;
  });
  return `<table class="rl-table"><caption>The ten kernels that take longest</caption><tr>${head}</tr>` +
    `${body.join("")}</table>`;
}
