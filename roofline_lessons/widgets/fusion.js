// The arithmetic half of the fusion scene, in the browser: tables and slider steps -> marks and texts.
//
// Pure, as driver.js is, whose functions it uses. The Python scene (scenes/fusion_marks.py, fusion_words.py) is the
// reference, and golden vectors (tests/browser/test_fusion_explorer.py) hold the two equal, numbers and text.

// -- what a plan costs (cost.py), and how far a run has come ----------------------------------------------------------

/** The estimate of a plan: that of driver.js for its rows of the table of kernels. */
function planEstimate(t, plan, controls) {
  const rows = plan.map((k) => t.kernels[k]);
  const column = (name) => rows.map((row) => row[name]);
  const table = {
    ...t, names: plan, mac_flops: column("mac_flops"), other_flops: column("other_flops"),
    on_chip_bytes: column("on_chip_bytes"), dram_bytes: rows.map(bytesOf),
  };
  const e = estimate(table, {bandwidth: controls.bandwidth, peak: 0});
  const joules = energyParts(t, e.totalFlops, e.totalBytes, e.totalOnChip, e.totalSeconds);
  return {...e, table, launch: t.launch_seconds ?? 0, joules};
}

/** Joules by part, null where unknown, and their total: null unless arithmetic and DRAM are known. */
function energyParts(t, flops, bytes, onChip, seconds) {
  const parts = [
    ["arithmetic", t.joules_per_flop, flops], [t.dram, t.joules_per_dram_byte, bytes],
    ["on-chip memory", t.joules_per_on_chip_byte, onChip], ["static power", t.static_watts, seconds],
  ].map(([name, each, many]) => [name, each === null ? null : each * many]);
  const known = parts[0][1] !== null && parts[1][1] !== null;
  return {parts, total: known ? sum(parts.map(([, joules]) => joules ?? 0)) : null};
}

function kernelJoules(t, e, i) {
  return energyParts(t, e.flops[i], e.table.dram_bytes[i], e.table.on_chip_bytes[i], e.seconds[i]).total;
}

/** Whether the clock has passed an end: a hair early, because sums differ in the last bits between languages. */
function isOver(clock, end) {
  return clock >= end * (1 - 1e-9);
}

/** [kernel, DRAM bytes, joules] of a run after some seconds. */
function soFar(t, e, clock) {
  let start = 0, moved = 0, joules = 0;
  for (let i = 0; i < e.seconds.length; i++) {
    const part = kernelJoules(t, e, i);
    if (!isOver(clock, start + e.seconds[i])) {
      const busy = Math.max(clock - start - e.launch, 0) / (e.seconds[i] - e.launch);
      return [i, moved + e.table.dram_bytes[i] * busy, part === null ? null : joules + part * busy];
    }
    start += e.seconds[i];
    moved += e.table.dram_bytes[i];
    joules += part ?? 0;
  }
  return [e.seconds.length - 1, e.totalBytes, e.joules.total];
}

// -- the fusion scene (fusion_marks.py) -------------------------------------------------------------------------------

const TRAIL = 12;

/** All marks and texts of the fusion explorer: name -> its traits. */
export function fusion(t, controls) {
  const s = fusionShown(t, controls);
  const e = s.now ?? s.before;
  const marks = roofMarks(t, e);
  marks.label_ridge.text = [`ridge ${number(e.peak / e.bandwidth)}`];
  return {...marks, ...fusionPoints(t, s), ...fusionTexts(t, s)};
}

/** The plan that is drawn, and what it and its neighbours cost. */
function fusionShown(t, controls) {
  const at = (depth) => {
    const i = t.index[depth - 1][controls.on_chip];
    const over = i < 0 ? t.misfits[-1 - i] : null;
    return {over, plan: t.plans[over ? over.plan : i]};
  };
  const depth = Math.min(controls.depth, t.index.length); // tables of a smaller graph may come before its slider
  const {over, plan} = at(depth);
  const others = t.index.map((_, d) => {
    const other = at(d + 1);
    return other.over ? null : planEstimate(t, other.plan, controls).totalSeconds;
  });
  const unfused = t.plans[t.unfused[controls.on_chip]];
  const before = planEstimate(t, unfused, controls);
  const now = over ? null : planEstimate(t, plan, controls);
  const longest = Math.max(before.totalSeconds, now ? now.totalSeconds : 0);
  const tick = controls.clock;
  const clock = tick / t.clock_steps * longest;
  const current = now === null || tick === 0 || isOver(clock, now.totalSeconds) ? null : soFar(t, now, clock)[0];
  return {
    plan, over, others, unfused, before, now, longest, tick, clock, current, depth,
    onChip: t.on_chip_sizes[controls.on_chip],
  };
}

function fusionPoints(t, s) {
  const e = s.now ?? s.before;
  const shown = [], x = [], y = [];
  for (let i = 0; s.now && i < s.plan.length; i++) {
    if (!(s.now.flops[i] > 0 && s.now.table.dram_bytes[i] > 0)) continue;
    shown.push(i);
    x.push(s.now.flops[i] / s.now.table.dram_bytes[i]);
    y.push(s.now.flops[i] / s.now.seconds[i]);
  }
  const before = totalPoint(s.before);
  const now = s.now ? totalPoint(s.now) : [];
  const moved = before.length === 1 && now.length === 1 && String(before) !== String(now);
  const apart = moved || s.now === null ? before : [];
  const total = moved ? "now" : "unfused";
  const glow = shown.map((i, j) => [x[j], y[j], i]).filter(([, , i]) => i === s.current);
  return {
    kernels: {x, y, colors: shown.length ? shown.map(colorOf) : [colorOf(0)]},
    names: grouped(t, [...shown.map((i, j) => [x[j], y[j], LETTERS[i]]), ...now.map((p) => [...p, total])]),
    before: xy(before),
    now: xy(now),
    trail: xy(moved ? trail(t, before[0], now[0], s.now.peak / s.now.bandwidth) : []),
    glow: xy(glow),
    label_on_chip: onChipLabels(t, e),
    label_bandwidth: bandwidthLabel(t, e, [...before, ...now]),
    label_before: {...xy(apart), text: apart.map(() => "unfused")},
  };
}

function bandwidthLabel(t, e, taken) {
  const [x0, x1] = t.x_limits;
  const far = Math.sqrt(Math.sqrt(Math.sqrt(x1 / x0)));
  const at = clamp(e.peak / e.bandwidth, x0, x1);
  const middle = Math.sqrt(x0 * at);
  const places = [Math.sqrt(middle * at), middle, Math.sqrt(x0 * middle)];
  const x = places.find((place) => taken.every(([px]) => Math.max(px / place, place / px) > far)) ?? places[0];
  const name = t.levels.length ? `${t.memory} ` : "";
  const [right, up] = t.beside;
  return {x: [x * right], y: [x * e.bandwidth * up], text: [name + si(e.bandwidth, "B/s")]};
}

function onChipLabels(t, e) {
  const levels = t.levels.slice(0, ON_CHIP_ROOFS);
  const [low, high] = t.roof_labels;
  return {
    x: levels.map(([, bandwidth]) => clamp(e.peak / bandwidth, low, high)),
    y: levels.map((_, i) => e.peak * (i === 0 ? t.lift : t.lift * t.lift)),
    text: levels.map(([name, bandwidth]) => `${levels.length === 1 ? "on chip" : name} ${si(bandwidth, "B/s")}`),
  };
}

function xy(points) {
  return {x: points.map((p) => p[0]), y: points.map((p) => p[1])};
}

function totalPoint(e) {
  return e.totalFlops > 0 && e.totalBytes > 0 ? [[e.totalFlops / e.totalBytes, e.totalFlops / e.totalSeconds]] : [];
}

function trail(t, a, b, ridge) {
  const [x0, x1] = t.x_limits, [y0, y1] = t.y_limits;
  const across = Math.log(b[0] / a[0]), up = Math.log(b[1] / a[1]);
  const long = Math.hypot(across / Math.log(x1 / x0), up / Math.log(y1 / y0));
  const bow = (a[0] < ridge ? 4 : -4) * (0.06 + 0.2 * long) * Math.log(y1 / y0);
  const points = [];
  for (let i = 0; i <= TRAIL; i++) {
    const p = i / TRAIL;
    points.push([a[0] * Math.exp(across * p), a[1] * Math.exp(up * p + bow * p * (1 - p))]);
  }
  return points;
}

function grouped(t, named) {
  const groups = [];
  const [nearX, nearY] = t.near;
  for (const [a, b, name] of named) {
    const near = groups.find(([x, y]) => Math.max(a / x, x / a) < nearX && Math.max(b / y, y / b) < nearY);
    if (near) near[2].push(name);
    else groups.push([a, b, [name]]);
  }
  const text = groups.map(([, , names]) => together(names)), ends = t.label_ends;
  const x = groups.map(([x], i) => Math.min(x, ends[Math.min(text[i].length, ends.length - 1)]));
  return {x, y: groups.map(([, y]) => y), text};
}

function together(names) {
  const words = [true, false].map((which) => names.filter((n) => LETTERS.includes(n) === which).join(" "));
  return words.filter((word) => word).join(" · ");
}

function fusionTexts(t, s) {
  const whole = s.now ?? s.before;
  const texts = {
    title: `<span class="rl-title">${t.network}</span><br>${t.device} · ${t.precision}`,
    depth_text: `${s.depth} operator${s.depth === 1 ? "" : "s"}`,
    bandwidth_text: si(whole.bandwidth, "B/s"),
    on_chip_text: s.onChip === null ? "unknown" : si(s.onChip, "B"),
    clock_text: clockText(t, s),
    rules_text: `<b>${t.rules}</b>: ${t.whose}.`,
    picture: fusionPicture(t, s.plan, s.over ? s.over.kernel : null, s.current, s.tick),
    removed: removedText(t, s),
    bars: timeBars(barRow(t, s, s.before, true), s.now ? barRow(t, s, s.now, false) : null, overText(s)),
    on_chip_note: onChipNote(t, s),
    energy: fusionEnergy(s),
    sentence: `${firstSentence(t, s)}<br><small>${secondSentence(s)}</small>`,
    formula: fusionFormula(t, s),
    off_plot: fusionOffPlot(t, s),
    ledger: ledger(t, s),
  };
  return Object.fromEntries(Object.entries(texts).map(([name, value]) => [name, {value}]));
}

function clockText(t, s) {
  const slowed = t.clock_seconds / s.longest;
  const pace = slowed >= 1 ? `slowed ${number(slowed, 2)} times` : `speeded up ${number(1 / slowed, 2)} times`;
  return `${si(s.clock, "s")} of ${si(s.longest, "s")} <small>${pace}</small>`;
}

function removedText(t, s) {
  const kinds = '<span class="rl-key-read">▼</span> read with weights ' +
    `<span class="rl-key-write">▲</span> write, in ${t.unit[0]} &nbsp; `;
  const before = si(s.before.totalBytes, "B");
  if (s.now === null) return `${kinds}${before} unfused; this plan does not fit`;
  const saved = s.before.totalBytes - s.now.totalBytes;
  if (saved === 0) return `${kinds}┊ saved: nothing of ${before}`;
  if (saved < 0) return `${kinds}<b>${si(-saved, "B")} more</b> than the ${before} of unfused`;
  return `${kinds}┊ saved: <b>${si(saved, "B")} of ${before}</b>`;
}

function barRow(t, s, e, unfused) {
  const kernelOf = {};
  s.plan.forEach((k, i) => { for (const op of t.kernels[k].ops) kernelOf[op] = i; });
  const rows = unfused ? s.unfused : s.plan;
  const kernels = rows.map((k, i) => ({
    letter: kernelOf[t.kernels[k].ops[0]],
    launch: e.launch,
    memory: e.memory[i],
    arithmetic: e.arithmetic[i],
    seconds: e.seconds[i],
    title: `${operatorNames(t, t.kernels[k])}: ${si(e.seconds[i], "s")}, of which launch ${si(e.launch, "s")}; ` +
      `memory ${si(e.memory[i], "s")}, arithmetic ${si(e.arithmetic[i], "s")}`,
  }));
  const running = s.tick > 0;
  const done = running && isOver(s.clock, e.totalSeconds);
  const [, moved, joules] = soFar(t, e, running ? s.clock : e.totalSeconds);
  return {
    kernels,
    longest: s.longest,
    time: si(running ? Math.min(s.clock, e.totalSeconds) : e.totalSeconds, "s") + (done ? " · done" : ""),
    moved: [si(moved, "B"), ...(joules === null ? [] : [si(joules, "J")])].join(" · "),
    cursor: running ? Math.min(s.clock, e.totalSeconds) : null,
  };
}

function overText(s) {
  return s.over ? `does not fit: ${thousands(s.over.bytes)} B of ${thousands(s.onChip)} B` : "";
}

function thousands(value) {
  return String(Math.floor(value + 0.5)).replace(/\B(?=(\d{3})+$)/g, ",");
}

function onChipNote(t, s) {
  const rows = s.plan.map((k) => t.kernels[k]);
  const have = s.onChip === null ? "an unknown size" : `${thousands(s.onChip)} B`;
  const most = (some, key) => some.reduce((a, b) => key(rows[b]) > key(rows[a]) ? b : a);
  const tiled = rows.map((_, i) => i).filter((i) => rows[i].tile);
  if (s.over) return `On chip: ${have}, for tiles and for weights each.`;
  if (tiled.length) {
    const i = most(tiled, (row) => row.needs[0]);
    const [height, width] = rows[i].tile;
    return `On chip: kernel ${LETTERS[i]} works in tiles of ${height} × ${width}, the fastest that fit; its tiles ` +
      `take ${thousands(rows[i].needs[0])} B, its weights ${thousands(rows[i].needs[1])} B, of ${have} for each.`;
  }
  const again = rows.map((_, i) => i).filter((i) => rows[i].again !== null);
  if (!again.length) {
    return "On chip: every kernel here streams through, so the size of the on-chip memory changes nothing.";
  }
  const i = most(again, (row) => row.again);
  return rows[i].again
    ? `On chip: ${have} are too few for kernel ${LETTERS[i]}; it reads ${si(rows[i].again, "B")} again.`
    : `On chip: all that kernel ${LETTERS[i]} needs at once fits into ${have}; nothing is read again.`;
}

function fusionEnergy(s) {
  const runs = s.now && String(s.plan) !== String(s.unfused) ? [s.before, s.now] : [s.before];
  if (s.before.joules.total === null) return "Energy: unknown for this device.";
  const parts = s.before.joules.parts;
  const words = parts.map(([name, known], i) => known === null ? null
    : `${name} ${runs.map((e) => si(e.joules.parts[i][1], "J")).join(" → ")}`).filter((word) => word !== null);
  const missing = parts.filter(([, known]) => known === null).map(([name]) => name).join(", ");
  return `<b>Energy ${runs.map((e) => si(e.joules.total, "J")).join(" → ")}</b> ` +
    `<small>${words.join(" · ")}${missing ? `; without ${missing}: unknown` : ""}</small>`;
}

function firstSentence(t, s) {
  if (s.now === null) {
    return `Fusing up to ${s.depth} operators does not fit: the ${s.over.what} of kernel ${LETTERS[s.over.kernel]} ` +
      `need ${thousands(s.over.bytes)} B of ${thousands(s.onChip)} B on the chip, ` +
      `${thousands(s.over.bytes - s.onChip)} B too many.`;
  }
  const moved = si(s.now.totalBytes, "B"), time = si(s.now.totalSeconds, "s");
  if (String(s.plan) === String(s.unfused)) {
    const kernels = `${s.plan.length} kernel${s.plan.length === 1 ? "" : "s"}`;
    const why = s.depth === 1 ? "Unfused" : `The rule set “${t.rules}” fuses nothing here`;
    return `${why}: ${kernels}, ${moved} to and from ${t.dram}, <b>${time}</b>.`;
  }
  const saved = s.before.totalBytes - s.now.totalBytes;
  const bytes = saved >= 0
    ? `keeps ${si(saved, "B")} out of ${t.dram}` : `moves ${si(-saved, "B")} more through ${t.dram}`;
  const gain = s.before.totalSeconds / s.now.totalSeconds;
  return `Fusing up to ${s.depth} operators ${bytes}: <b>${si(s.before.totalSeconds, "s")} → ${time} ` +
    `(${number(gain, 2)}×${gain < 0.995 ? ", slower" : ""})</b>.`;
}

const VERBS = {
  memory: "waits for memory", compute: "is limited by arithmetic", launch: "is mostly being started",
  balanced: "sits on the ridge",
};

const WORTH = 0.02;

function secondSentence(s) {
  if (s.now === null) return "Make the on-chip memory larger, or the depth smaller.";
  const e = s.now, i = slowest(e);
  const moved = e.table.dram_bytes[i];
  const intensity = moved ? number(e.flops[i] / moved) : "∞";
  const ridge = number(e.peak / e.bandwidth);
  const share = percent(e.seconds[i] / e.totalSeconds);
  const limit = s.plan.length > 1 ? `Kernel ${LETTERS[i]} takes longest (${share}) and` : "The only kernel";
  const least = (1 - WORTH) * e.totalSeconds;
  const faster = s.others.map((_, d) => d + 1).filter((d) => s.others[d - 1] !== null && s.others[d - 1] < least);
  const advice = faster.some((d) => d > s.depth) ? "A larger depth is faster."
    : faster.some((d) => d < s.depth) ? "A smaller depth is faster." : `No other depth is faster by more than ${percent(WORTH)}.`;
  return `${limit} ${VERBS[BOUNDS[e.bound[i]]]} (${intensity} FLOP/B, ridge ${ridge}). ${advice}`;
}

function slowest(e) {
  return e.seconds.indexOf(Math.max(...e.seconds));
}

function fusionFormula(t, s) {
  if (s.now === null) return "time of a kernel = launch + max(bytes ÷ bandwidth, FLOP ÷ peak)";
  const e = s.now, i = slowest(e);
  const known = t.launch_seconds !== null;
  const roofs = [["DRAM", e.bandwidth], ...t.levels];
  const bytes = (level) => level === "DRAM" ? e.table.dram_bytes[i] : e.table.on_chip_bytes[i];
  const [level, bandwidth] = roofs.reduce((a, b) => bytes(b[0]) / b[1] > bytes(a[0]) / a[1] ? b : a);
  const memory = `${si(bytes(level), "B")} ÷ ${si(bandwidth, "B/s")}`;
  const vector = Math.min(e.vectorPeak ?? e.peak, e.peak);
  const macs = e.table.mac_flops[i], other = e.table.other_flops[i];
  const work = vector < e.peak
    ? `${si(macs, "FLOP")} ÷ ${si(e.peak, "FLOP/s")} + ${si(other, "FLOP")} ÷ ${si(vector, "FLOP/s")}`
    : `${si(macs + other, "FLOP")} ÷ ${si(e.peak, "FLOP/s")}`;
  const where = level === "DRAM" ? "bytes ÷ bandwidth" : `${level} bytes ÷ its bandwidth`;
  const [law, start] = known ? ["launch + ", `${si(t.launch_seconds, "s")} + `] : ["", ""];
  const note = known ? "" : "; what starting a kernel costs is unknown here and left out";
  return `time of kernel ${LETTERS[i]} = ${law}max(${where}, FLOP ÷ peak) = ${start}max(${memory}, ${work}) ` +
    `= ${si(e.seconds[i], "s")}${note}`;
}

function fusionOffPlot(t, s) {
  if (s.now === null) return "";
  const hidden = [];
  for (let i = 0; i < s.plan.length; i++) {
    if (s.now.flops[i] === 0) hidden.push(`kernel ${LETTERS[i]} does no arithmetic`);
    else if (s.now.table.dram_bytes[i] === 0) hidden.push(`kernel ${LETTERS[i]} moves no ${t.dram} byte`);
  }
  return hidden.length ? `Not on the plot (its axes are logarithmic): ${hidden.join("; ")}.` : "";
}

function ledger(t, s) {
  const before = bytesByTensor(t, s.unfused), now = bytesByTensor(t, s.plan);
  const names = [...new Set([...before.keys(), ...now.keys()])].filter((n) => n >= 0);
  const rows = names.map((n) => [t.tensors[n], before.get(n) ?? 0, now.get(n) ?? 0]);
  if (before.get(-1) || now.get(-1)) rows.push(["read again", before.get(-1), now.get(-1)]);
  const total = (some) => [1, 2].map((i) => sum(some.map((row) => row[i])));
  const shown = rows.filter(([, a, b]) => a !== b).sort((p, q) => (p[2] - p[1]) - (q[2] - q[1]));
  const same = rows.filter(([, a, b]) => a === b);
  if (same.length) shown.push([`${same.length} others, unchanged`, ...total(same)]);
  shown.push(["<b>all</b>", ...total(rows)]);
  const body = shown.map(([name, a, b]) =>
    `<tr><td>${name}</td><td>${si(a, "B")}</td><td>${si(b, "B")}</td><td>${si(a - b, "B")}</td></tr>`).join("");
  const head = ["tensor", "unfused", "now", "kept on chip"].map((h) => `<th>${h}</th>`).join("");
  return `<table class="rl-table"><tr>${head}</tr>${body}</table>`;
}

function bytesByTensor(t, plan) {
  const moved = new Map();
  for (const k of plan) {
    for (const [tensor, bytes] of [...t.kernels[k].reads, ...t.kernels[k].writes, [-1, t.kernels[k].again ?? 0]]) {
      moved.set(tensor, (moved.get(tensor) ?? 0) + bytes);
    }
  }
  return moved;
}
