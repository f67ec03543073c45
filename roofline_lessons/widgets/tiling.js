// The tiling scene in the browser (scenes/tiling_marks.py, tiling_picture.py): tables and slider steps -> marks and texts. Pure, like
// driver.js, whose `si` and `number` it uses; golden vectors hold it equal to the Python scene, numbers and text.

const TILING_UNITS = [["s", 1], ["ms", 1e3], ["µs", 1e6], ["ns", 1e9]];
const TILING_NICE = [
  [1, 5], [1.2, 6], [1.5, 5], [2, 4], [2.5, 5], [3, 6], [4, 4], [5, 5], [6, 6], [8, 4], [10, 5],
];
const TILING_HALO = {
  recompute: "halo: each tile computes it again",
  "cache rows": "halo: kept along a row, computed again down",
  "cache all": "halo: kept on the chip, computed once",
};

/** All marks and texts of the tiling explorer: name -> its traits. */
export function tiling(t, controls) {
  // a menu may have brought a shorter network or another grid a moment before its slider hears of it
  const depth = clamp(controls.depth, 1, t.names.length);
  const tile = clamp(controls.tile, 0, t.tiles.length - 1);
  const capacity = t.capacities[clamp(controls.memory, 0, t.capacities.length - 1)];
  const once = tilingFlops(t.plans[0][tile]);
  const all = t.plans.map((plans, i) => tilingCandidate(t, plans[tile], i + 1, once, capacity));
  const best = all.filter((c) => c.fits).reduce((a, b) => (b.seconds < a.seconds ? b : a));
  return {...tilingChart(all, depth, best.depth), ...tilingTexts(t, all, depth, best.depth, t.tiles[tile], capacity)};
}

// -- the model (cost.py) ----------------------------------------------------------------------------------------------

const tilingSum = (values) => values.reduce((a, b) => a + b, 0);
const tilingFlops = (plan) => tilingSum(plan.mac_flops) + tilingSum(plan.other_flops);

/** One fusion depth: its kernels' times, what it computes and reads again, whether it fits. */
function tilingCandidate(t, plan, depth, once, capacity) {
  const launch = t.launch_seconds ?? 0;
  const slow = Math.min(t.vector_peak ?? t.peak, t.peak);
  const arithmetic = plan.mac_flops.map((flops, i) => flops / t.peak + plan.other_flops[i] / slow);
  const memory = plan.dram_bytes.map((bytes, i) =>
    Math.max(bytes / t.bandwidth, ...t.levels.map((bandwidth) => plan.on_chip_bytes[i] / bandwidth)));
  const tileBytes = Math.max(...plan.tile_bytes);
  const weightBytes = Math.max(...plan.weight_bytes);
  const over = capacity === null ? 0 : Math.max(Math.max(tileBytes, weightBytes) - capacity, 0);
  return {
    depth, name: t.names[depth - 1], pyramid: plan.pyramid, launch, arithmetic, memory, tileBytes, weightBytes,
    seconds: tilingSum(arithmetic.map((a, i) => launch + Math.max(a, memory[i]))),
    arithmeticSeconds: tilingSum(arithmetic), memorySeconds: tilingSum(memory), flops: tilingFlops(plan),
    dramBytes: tilingSum(plan.dram_bytes), haloBytes: tilingSum(plan.halo_bytes), again: tilingFlops(plan) - once,
    over, fits: over === 0, what: weightBytes > tileBytes ? "weights" : "tiles",
    needed: Math.max(tileBytes, weightBytes),
  };
}

// -- the chart --------------------------------------------------------------------------------------------------------

function tilingChart(all, depth, best) {
  const longest = Math.max(...all.flatMap((c) => [c.seconds, c.arithmeticSeconds, c.memorySeconds]));
  const [unit, factor] = TILING_UNITS.find(([, f]) => longest * f >= 1) ?? TILING_UNITS.at(-1);
  const [limit, ticks] = tilingNice(longest * factor * 1.1);
  const x = all.map((c) => c.depth);
  const y = all.map((c) => c.seconds * factor);
  const name = (c) => `${c.name} · ${si(c.seconds, "s")} · ${tilingFitWords(c)}`;
  const points = (chosen) => ({x: chosen.map((c) => c.depth), y: chosen.map((c) => c.seconds * factor)});
  const fit = all.filter((c) => c.fits);
  const tooBig = all.filter((c) => !c.fits);
  const last = fit.at(-1).depth;
  const now = depth - 1;
  const star = best - 1;
  const lift = limit * 0.1;
  // below its point where it would cover the other label
  const away = Math.abs(now - star) < 0.3 * x.length && Math.abs(y[now] - y[star]) < lift ? -lift : lift;
  return {
    x_scale: {min: 0.5, max: x.length + 0.5},
    x_axis: {tick_values: x},
    y_scale: {min: 0, max: limit},
    y_axis: {label: `time, ${unit}`, tick_values: ticks},
    arithmetic: {x, y: all.map((c) => c.arithmeticSeconds * factor)},
    memory: {x, y: all.map((c) => c.memorySeconds * factor)},
    // a gap where it does not fit; bqplot cannot end with one
    times: {x: x.slice(0, last), y: all.map((c, i) => (c.fits ? y[i] : NaN)).slice(0, last)},
    now: {x: [x[now]], y: [y[now]]},
    fits: {...points(fit), names: fit.map(name)},
    too_big: {...points(tooBig), names: tooBig.map(name)},
    crosses: {...points(tooBig), text: tooBig.map(() => "✕")},
    star: {x: [x[star]], y: [y[star]], text: ["★"]},
    label_best: {x: [tilingInside(best, x.length)], y: [y[star] + lift], text: [`fastest ${si(all[star].seconds, "s")}`]},
    label_now: {
      x: [tilingInside(depth, x.length)], y: [y[now] + away], text: now === star ? [] : [tilingNowWords(all[now])],
    },
  };
}

function tilingNice(value) {
  let step = 1;
  while (value > 10 * step) step *= 10;
  const [end, parts] = TILING_NICE.find(([n]) => n * step >= value) ?? TILING_NICE.at(-1);
  return [end * step, Array.from({length: parts + 1}, (_, i) => end * step * i / parts)];
}

function tilingFitWords(c) {
  return c.fits ? "fits" : `does not fit: ${tilingWhole(c.needed)} B of ${tilingWhole(c.needed - c.over)} B`;
}

/** Where a label of a depth has its middle: no nearer to the edge than an eighth of the axis. */
function tilingInside(depth, depths) {
  return clamp(depth, 0.5 + 0.125 * depths, 0.5 + 0.875 * depths);
}

function tilingNowWords(c) {
  return c.fits ? `now ${si(c.seconds, "s")}` : "does not fit";
}

/** A count in full: 226,304. */
function tilingWhole(count) {
  return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",");
}

// -- the words --------------------------------------------------------------------------------------------------------

function tilingTexts(t, all, depth, best, tile, capacity) {
  const c = all[depth - 1];
  const unfused = all[0];
  const [height, width] = c.pyramid.at(-1);
  const grid = `${Math.ceil(height / tile)} × ${Math.ceil(width / tile)} tiles`;
  const texts = {
    depth_text: `${depth} <small>of ${all.length}</small> ${c.name}`,
    tile_text: `${tile} × ${tile} <small>${depth === 1 ? "not used" : grid}</small>`,
    memory_text: tilingMemory(t, capacity),
    time: `${si(c.seconds, "s")} <small>${c.fits ? `unfused ${si(unfused.seconds, "s")}` : "if it did fit"}</small>`,
    bytes: `${si(c.dramBytes, "B")} <small>unfused ${si(unfused.dramBytes, "B")}</small>`,
    again: `${c.again === 0 ? "nothing" : si(c.again, "FLOP")} ` +
      `<small>${number(100 * c.again / unfused.flops, 2)} % more work</small>`,
    halo: `${si(c.haloBytes, "B")} <small>of the ${t.dram} bytes</small>`,
    fit: tilingFit(c, capacity, t.unknown_capacity),
    picture: tilingPicture(t, c),
    sentence: tilingSentence(all, depth, best, t.dram),
    formula: tilingFormula(c),
    table: tilingTable(all, depth, best, t.dram),
  };
  return Object.fromEntries(Object.entries(texts).map(([name, value]) => [name, {value}]));
}

function tilingMemory(t, capacity) {
  if (capacity === null) return t.unknown_capacity ? "unknown" : "no limit";
  return `${si(capacity, "B")} <small>${tilingWhole(capacity)} B</small>`;
}

function tilingSentence(all, depth, best, dram) {
  const [now, fastest, deepest, unfused] = [all[depth - 1], all[best - 1], all.at(-1), all[0]];
  const time = si(now.seconds, "s");
  const record = `${fastest.name} is the fastest that fits: ${si(fastest.seconds, "s")}.`;
  if (!now.fits) {
    return `<b>${now.name} does not fit:</b> its ${now.what} need ${tilingWhole(now.needed)} B of ` +
      `${tilingWhole(now.needed - now.over)} B, ${tilingWhole(now.over)} B too many. ${record}`;
  }
  if (now !== fastest) {
    return `<b>${now.name} takes ${time}.</b> ${record} ${now.name} is slower because ${tilingWhy(now, fastest, dram)}.`;
  }
  const first = `<b>${now.name} takes ${time}</b>, the fastest that fits at this tile.`;
  const other = now !== deepest ? deepest : unfused;
  if (!other.fits) return `${first} ${other.name} does not fit.`;
  return `${first} ${other.name} takes ${si(other.seconds, "s")}, because ${tilingWhy(other, now, dram)}.`;
}

/** Why one depth is slower than another: the part of its time that grows most. */
function tilingWhy(slow, fast, dram) {
  const arithmetic = slow.arithmeticSeconds - fast.arithmeticSeconds;
  const memory = slow.memorySeconds - fast.memorySeconds;
  const launches = slow.arithmetic.length - fast.arithmetic.length;
  const launch = slow.launch * launches;
  const most = Math.max(arithmetic, memory, launch);
  if (most < 0.1 * (slow.seconds - fast.seconds)) return "arithmetic and memory hide less of each other";
  if (most === arithmetic) return `its tiles overlap: ${si(slow.again, "FLOP")} are computed again`;
  if (most === launch) return `it starts ${launches} more kernel${launches === 1 ? "" : "s"}`;
  const more = slow.dramBytes - fast.dramBytes;
  return more > 0 ? `it moves ${si(more, "B")} more to and from ${dram}` : "its on-chip traffic takes longer";
}

function tilingFormula(c) {
  const start = c.launch ? `${si(c.launch, "s")} + ` : "";
  const parts = c.name.slice(1, -1).split("][").map((name, i) =>
    `[${name}] ${start}max(${si(c.arithmetic[i], "s")}, ${si(c.memory[i], "s")})`);
  return "time = sum over kernels of launch + max(FLOP ÷ peak, bytes ÷ bandwidth)<br>" +
    `${si(c.seconds, "s")} = ${parts.join(" &nbsp;+&nbsp; ")}`;
}

function tilingTable(all, depth, best, dram) {
  const head = `layers per kernel|kernels|time|arithmetic|memory|computed again|${dram} bytes|tiles|weights|fits`
    .split("|").map((h) => `<th>${h}</th>`).join("");
  const body = all.map((c) => {
    const mark = (c.depth === best ? "★ " : "") + (c.depth === depth ? "▸ " : "");
    const cells = [
      `${mark}${c.depth}`, c.name, si(c.seconds, "s"), si(c.arithmeticSeconds, "s"), si(c.memorySeconds, "s"),
      si(c.again, "FLOP"), si(c.dramBytes, "B"), `${tilingWhole(c.tileBytes)} B`, `${tilingWhole(c.weightBytes)} B`,
      c.fits ? "yes" : `no: ${tilingWhole(c.over)} B too many`,
    ];
    return `<tr>${cells.map((cell) => `<td>${cell}</td>`).join("")}</tr>`;
  });
  return '<table class="rl-table"><caption>Every depth at this tile; ★ fastest that fits, ▸ now</caption>' +
    `<tr>${head}</tr>${body.join("")}</table>`;
}

function tilingFit(c, capacity, unknown) {
  const end = Math.max(c.tileBytes, c.weightBytes, capacity ?? 1);
  const limit = capacity === null ? "" : `<i style="left:${tilingPx(100 * capacity / end)}%"></i>`;
  const rows = [["tiles", c.tileBytes], ["weights", c.weightBytes]].map(([name, needed]) =>
    `<div class="rl-fit"><span>${name}</span><span class="rl-fit-track">` +
    `<b${capacity !== null && needed > capacity ? " class=rl-over" : ""} ` +
    `style="width:${tilingPx(100 * needed / end)}%"></b>${limit}</span><span>${tilingWhole(needed)} B</span></div>`);
  let words = `✕ ${tilingFitWords(c)}`;
  if (c.depth === 1) words = "✓ nothing is kept: each layer streams";
  else if (capacity === null) words = unknown ? "unknown on this device, not checked" : "✓ no limit is set";
  else if (c.fits) words = `✓ each fits in ${tilingWhole(capacity)} B`;
  return `${rows.join("")}<div class="rl-fit-words">${words}</div>`;
}

// -- the picture of a tile --------------------------------------------------------------------------------------------

const TILING_WIDTH = 560;
const TILING_HEIGHT = 152;
const TILING_GAP = 40;
const TILING_BASE = 104;
const TILING_LARGEST = 98;

const TILING_HATCH =
  'width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">' +
  '<rect width="6" height="6" class="rl-hatch-ground"/><rect width="2.4" height="6" class="rl-hatch-line"/>' +
  "</pattern></defs>";

function tilingPicture(t, c) {
  const frames = c.pyramid;
  const streams = c.depth === 1;
  const gaps = (frames.length - 1) * TILING_GAP;
  const side = Math.min(TILING_LARGEST, Math.floor((TILING_WIDTH - 4 - gaps) / frames.length));
  const zoom = streams ? 1 : tilingZoom(frames);
  const left = Math.floor((TILING_WIDTH - frames.length * side - gaps) / 2);
  const parts = frames.map((frame, i) => {
    const x = left + i * (side + TILING_GAP);
    const arrow = i < c.depth ? tilingArrow(t.letters[i], x + side, TILING_BASE - side / 2) : "";
    return tilingFrame(frame, x, side, zoom, streams, t.hatch) + arrow;
  });
  const walk = frames.map(tilingSize).reverse().join(" → ");
  const title = streams ? "one layer per kernel streams through whole tensors" : `one tile needs ${walk}`;
  const caption = streams
    ? "One layer per kernel: it streams through its input once. There is no tile and no halo."
    : `One tile needs, walking back: <b>${walk}</b><br>` +
      '<svg width="14" height="14" aria-hidden="true"><rect width="14" height="14" class="rl-own"/></svg> the ' +
      'tile\'s own part &nbsp; <svg width="14" height="14" aria-hidden="true">' +
      `<rect width="14" height="14" class="rl-halo" style="fill:url(#${t.hatch})"/></svg> ${TILING_HALO[t.halo]}` +
      (zoom < 1 ? `<br><small>Enlarged: each square is ${percent(zoom)} of its tensor's side.</small>` : "");
  return `<svg class="rl-pyramid" viewBox="0 0 ${TILING_WIDTH} ${TILING_HEIGHT}" role="img"><title>${title}</title>` +
    `<defs><pattern id="${t.hatch}" ${TILING_HATCH}${parts.join("")}</svg><div>${caption}</div>`;
}

/** The share of each tensor's side that is drawn: so much that every region is in it with some room. */
function tilingZoom(frames) {
  return Math.min(1, 1.15 * Math.max(...frames.flatMap((f) => [(f[3] - f[2]) / f[0], (f[7] - f[6]) / f[1]])));
}

function tilingFrame(frame, x, side, zoom, streams, hatch) {
  const [height, width, r0, r1, ownR0, ownR1, c0, c1, ownC0, ownC1] = frame;
  const y = TILING_BASE - side;
  const middle = x + side / 2;
  const px = tilingPx;
  const [top, down] = tilingWindow(height, zoom, ownR0 + ownR1, side);
  const [left, along] = tilingWindow(width, zoom, ownC0 + ownC1, side);
  const halo = `rl-halo" style="fill:url(#${hatch})`;
  const region = streams ? [] : [[halo, r0, r1, c0, c1], ["rl-own", ownR0, ownR1, ownC0, ownC1]];
  const parts = region.map(([name, upper, lower, leftEdge, rightEdge]) =>
    `<rect class="${name}" x="${px(x + (leftEdge - left) * along)}" y="${px(y + (upper - top) * down)}" ` +
    `width="${px((rightEdge - leftEdge) * along)}" height="${px((lower - upper) * down)}"/>`);
  const whole = streams ? "rl-own" : "rl-tensor";
  const label = streams ? tilingExtent(height, width) : tilingSize(frame);
  const below = streams ? ""
    : `<text class="rl-of" x="${px(middle)}" y="${TILING_BASE + 40}">of ${tilingExtent(height, width)}</text>`;
  return `<rect class="${whole}" x="${px(x)}" y="${px(y)}" width="${px(side)}" height="${px(side)}"/>${parts.join("")}` +
    `<rect class="rl-outline" x="${px(x)}" y="${px(y)}" width="${px(side)}" height="${px(side)}"/>` +
    `<text x="${px(middle)}" y="${TILING_BASE + 21}">${label}</text>${below}`;
}

function tilingWindow(size, zoom, twiceMiddle, side) {
  const shown = size * zoom;
  return [Math.min(Math.max(twiceMiddle / 2 - shown / 2, 0), size - shown), side / shown];
}

function tilingArrow(letter, x, y) {
  return `<path class="rl-arrow" d="M${tilingPx(x + 6)} ${tilingPx(y)}h${TILING_GAP - 18}m-7 -6l8 6l-8 6"/>` +
    `<text x="${tilingPx(x + TILING_GAP / 2)}" y="${tilingPx(y - 10)}">${letter}</text>`;
}

function tilingSize(frame) {
  return tilingExtent(frame[3] - frame[2], frame[7] - frame[6]);
}

function tilingExtent(height, width) {
  return height === width ? `${height}` : `${height}×${width}`;
}

function tilingPx(value) {
  return String(Math.floor(value * 10 + 0.5) / 10);
}
