// Where the data goes and how long it takes: the two SVG pictures of the fusion scene, in the browser.
//
// Pure. The reference is scenes/fusion_picture.py and fusion_bars.py; golden vectors (tests/browser/
// test_fusion_explorer.py) hold the strings equal to the letter.

const KERNEL_COLORS = ["#0072b2", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];
const READ_COLOR = "#d55e00", WRITE_COLOR = "#0072b2", OVER_COLOR = "#d55e00";
const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
const WIDTH = 600, HEIGHT = 240;
const DRAM_END = 32, CHIP = 118, BOX = 116, WIDEST = 190, MARGIN = 26;
const BAR_LEFT = 62, BAR_WIDTH = 372, BAR_HEIGHT = 34;
const PULSES = 3, LAP = 45;
const HALO = 'paint-order="stroke" stroke="var(--jp-layout-color0, #fff)" stroke-width="3.5" stroke-linejoin="round"';

/** A coordinate in tenths. Halves go up in both languages, also where one falls a last bit short of a half. */
function px(value) {
  return String(Math.floor(value * 10 + 0.5 + 1e-6) / 10);
}

function colorOf(kernel) {
  return KERNEL_COLORS[kernel % KERNEL_COLORS.length];
}

function fusionAmount(t, moved) {
  const value = moved / t.unit[1];
  return value < 0.01 ? "&lt;0.01" : number(value, value < 100 ? 2 : 3);
}

function fusionPicture(t, plan, over, current, tick) {
  const rows = plan.map((k) => t.kernels[k]);
  const order = rows.flatMap((row) => row.ops);
  const slot = Math.min((WIDTH - MARGIN) / order.length, WIDEST);
  const left = (WIDTH - MARGIN - slot * order.length) / 2;
  const place = {};
  order.forEach((op, i) => { place[op] = left + slot * i; });
  const parts = [dramBar(t.dram), ...goneArrows(t, rows, place, slot)];
  rows.forEach((row, i) => {
    const tile = row.tile && over === null ? ` · tile ${row.tile[0]} × ${row.tile[1]}` : "";
    const name = `kernel ${LETTERS[i]}${tile}`;
    const box = [place[row.ops[0]] + 2, slot * row.ops.length - 4];
    const title = `${name}: ${operatorNames(t, row)}`;
    parts.push(i === over ? overBox(box, title) : kernelBox(i, box, name, title, i === current));
  });
  parts.push(...chipEdges(t, rows, place, slot), ...order.map((op) => operatorBox(t, op, place[op], slot)));
  const words = []; // above all arrows
  rows.forEach((row, i) => dramArrows(t, row, place, slot, i === current && over === null ? tick : null, parts, words));
  const kernels = rows.map((row, i) => `${LETTERS[i]}: ${operatorNames(t, row)}`).join("; ");
  const said = `${rows.length} kernels below ${t.dram}. ${kernels}. The ledger says what each tensor moves.`;
  return `<svg class="rl-where" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${said}">` +
    `${parts.join("")}${words.join("")}</svg>`;
}

function operatorNames(t, row) {
  return row.ops.map((op) => t.names[op]).join(", ");
}

function dramBar(word) {
  return `<rect x="1" y="1" width="${WIDTH - 2}" height="${DRAM_END - 2}" rx="6" fill="${READ_COLOR}" ` +
    `fill-opacity="0.1" stroke="${READ_COLOR}" stroke-width="1.5"/><text x="${WIDTH / 2}" y="22" ` +
    `text-anchor="middle" font-size="16" font-weight="600" fill="currentColor">${word}</text>`;
}

function kernelBox(i, box, name, title, runs) {
  const color = colorOf(i);
  const frame = boxFrame(box);
  const glow = runs ? `<rect ${frame} fill="none" stroke="${color}" stroke-width="13" stroke-opacity="0.4"/>` : "";
  const words = box[1] > 190 ? name : box[1] > 78 ? name.split(" ·")[0] : LETTERS[i];
  return `<g class="rl-kernel${runs ? " rl-runs" : ""}"><title>${title}</title>${glow}` +
    `<rect ${frame} fill="${color}" fill-opacity="${runs ? 0.35 : 0.1}" stroke="${color}" ` +
    `stroke-width="${runs ? 4 : 2}"/>${boxText(box, words, "")}</g>`;
}

function overBox(box, title) {
  const [x, width] = box;
  let path = "";
  for (let i = -Math.floor(BOX / 14); i < Math.ceil(width / 14); i++) {
    const low = Math.max(14 * i, 0);
    const high = Math.min(14 * i + BOX, width);
    path += `M${px(x + low)} ${px(CHIP + BOX - (low - 14 * i))}L${px(x + high)} ${px(CHIP + BOX - (high - 14 * i))}`;
  }
  return `<g class="rl-kernel rl-over"><title>${title}</title><rect ${boxFrame(box)} fill="${OVER_COLOR}" ` +
    `fill-opacity="0.1" stroke="${OVER_COLOR}" stroke-width="2.5" stroke-dasharray="7 4"/><path d="${path}" ` +
    `stroke="${OVER_COLOR}" stroke-opacity="0.55"/>${boxText(box, width > 96 ? "does not fit" : "✕", HALO)}</g>`;
}

function boxFrame(box) {
  return `x="${px(box[0])}" y="${CHIP}" width="${px(box[1])}" height="${BOX}" rx="9"`;
}

function boxText(box, words, look) {
  return `<text x="${px(box[0] + box[1] / 2)}" y="${CHIP + BOX - 14}" text-anchor="middle" font-size="15" ` +
    `font-weight="600" fill="currentColor" ${look}>${words}</text>`;
}

function operatorBox(t, op, x, slot) {
  const [top, bottom] = t.labels[op];
  const size = px(Math.min(Math.max((slot - 15) / (0.62 * Math.max(top.length, bottom.length)), 8), 14));
  const middle = px(x + slot / 2);
  const y = bottom ? [CHIP + 36, CHIP + 54] : [CHIP + 45, 0];
  const words = [top, bottom].map((line, i) => line
    ? `<text x="${middle}" y="${y[i]}" text-anchor="middle" font-size="${size}" fill="currentColor">${line}</text>`
    : "");
  return `<g><title>${t.names[op]}</title><rect x="${px(x + 6)}" y="${CHIP + 14}" width="${px(slot - 12)}" ` +
    `height="54" rx="5" fill="var(--jp-layout-color0, #fff)" stroke="currentColor" stroke-opacity="0.55"/>` +
    `${words.join("")}</g>`;
}

function chipEdges(t, rows, place, slot) {
  const parts = [];
  for (const row of rows) {
    for (const [a, b] of t.edges) {
      if (!row.ops.includes(a) || !row.ops.includes(b)) continue;
      let path;
      if (place[b] - place[a] < 1.5 * slot) {
        path = `M${px(place[a] + slot - 6)} ${CHIP + 41}H${px(place[b] + 6)}`;
      } else {
        const start = px(place[a] + slot / 2), end = px(place[b] + slot / 2), low = CHIP + 68;
        path = `M${start} ${low}C${start} ${low + 20} ${end} ${low + 20} ${end} ${low}`;
      }
      parts.push(`<path d="${path}" fill="none" stroke="currentColor" stroke-width="2"/>`);
    }
  }
  return parts;
}

/** The arrows of a kernel: [operator, tensor, 0 read or 1 write, bytes]. Weights come along with the first read. */
function trips(row) {
  const arrow = (way) => ([tensor, moved, op]) => [op, tensor, way, moved];
  let reads = row.reads.filter(([, moved, op]) => op >= 0 && moved > 0).map(arrow(0));
  const constants = sum(row.reads.filter(([, , op]) => op < 0).map(([, moved]) => moved)) + (row.again ?? 0);
  if (reads.length) reads[0][3] += constants;
  else if (constants) reads = [[row.ops[0], -1, 0, constants]];
  return [...reads, ...row.writes.filter(([, moved]) => moved > 0).map(arrow(1))];
}

function bytesOf(row) {
  return sum([...row.reads, ...row.writes].map(([, moved]) => moved)) + (row.again ?? 0);
}

function sum(values) {
  return values.reduce((a, b) => a + b, 0);
}

function arrowAt(t, place, slot, op, tensor, way) {
  const arrows = t.arrows[op];
  return place[op] + slot * (arrows.findIndex((a) => a[0] === tensor && a[1] === way) + 0.5) / arrows.length;
}

function goneArrows(t, rows, place, slot) {
  const made = new Set(rows.flatMap((row) => trips(row).map((trip) => String(trip.slice(0, 3)))));
  const parts = [];
  t.arrows.forEach((arrows, op) => {
    for (const [tensor, way] of arrows) {
      if (made.has(String([op, tensor, way]))) continue;
      parts.push(
        `<path class="rl-gone" d="M${px(arrowAt(t, place, slot, op, tensor, way))} ${DRAM_END + 4}V${CHIP - 4}" ` +
        'stroke="currentColor" stroke-opacity="0.45" stroke-width="1.5" stroke-dasharray="2 5"/>'
      );
    }
  });
  return parts;
}

function dramArrows(t, row, place, slot, tick, parts, words) {
  let reads = 0;
  for (const [op, tensor, way, moved] of trips(row)) {
    const x = arrowAt(t, place, slot, op, tensor, way);
    const name = tensor < 0 ? "constants" : t.tensors[tensor];
    const width = 1.5 + 4.5 * moved / t.most;
    parts.push(dramArrow(x, way, width, `${way ? "write" : "read"} ${name}: ${si(moved, "B")}`));
    if (tick !== null) parts.push(...pulses(x, way, tick));
    const y = way ? 58 : 98 - 19 * (reads % 2);
    reads += 1 - way;
    words.push(
      `<text x="${px(x + 4 + width / 2)}" y="${y}" font-size="13" fill="currentColor" ${HALO}>` +
      `${fusionAmount(t, moved)}</text>`
    );
  }
}

function dramArrow(x, way, width, title) {
  const half = 4 + width / 2;
  const [start, end, head] = way === 0 ? [DRAM_END + 2, CHIP - 2, -10] : [CHIP - 2, DRAM_END + 2, 10];
  const color = way === 0 ? READ_COLOR : WRITE_COLOR;
  return `<g class="rl-${way ? "write" : "read"}"><title>${title}</title>` +
    `<path d="M${px(x)} ${start}V${end + head}" stroke="${color}" stroke-width="${px(width)}"/>` +
    `<path d="M${px(x - half)} ${end + head}H${px(x + half)}L${px(x)} ${end}Z" fill="${color}"/></g>`;
}

function pulses(x, way, tick) {
  const parts = [];
  for (let i = 0; i < PULSES; i++) {
    const done = (tick * PULSES + i * LAP) % (PULSES * LAP) / (PULSES * LAP);
    const y = DRAM_END + 8 + (CHIP - DRAM_END - 20) * (way === 0 ? done : 1 - done);
    parts.push(
      `<circle class="rl-pulse" cx="${px(x)}" cy="${px(y)}" r="5" fill="var(--jp-layout-color0, #fff)" ` +
      `stroke="${way === 0 ? READ_COLOR : WRITE_COLOR}" stroke-width="2.5"/>`
    );
  }
  return parts;
}

function timeBars(before, now, over) {
  const rows = [timeBar("unfused", before, 6)];
  if (now) {
    rows.push(timeBar("now", now, 58));
  } else {
    rows.push(
      '<text x="0" y="80" font-size="14" fill="currentColor">now</text>' +
      `<text x="${BAR_LEFT}" y="80" font-size="15" font-weight="600" fill="${OVER_COLOR}">✕ ${over}</text>`
    );
  }
  const said = `unfused ${before.time}, now ${now ? now.time : over}`;
  return `<svg class="rl-bars" viewBox="0 0 ${WIDTH} 98" role="img" aria-label="${said}">${rows.join("")}</svg>`;
}

function timeBar(name, row, y) {
  const scale = BAR_WIDTH / row.longest;
  const parts = [`<text x="0" y="${y + 22}" font-size="14" fill="currentColor">${name}</text>`];
  let at = 0;
  for (const kernel of row.kernels) {
    parts.push(timeSegment(kernel, BAR_LEFT + at * scale, scale, y));
    at += kernel.seconds;
  }
  parts.push(...barLetters(row.kernels, scale, y));
  const end = px(BAR_LEFT + at * scale + 10);
  parts.push(
    `<text x="${end}" y="${y + 15}" font-size="15" font-weight="600" fill="currentColor">${row.time}</text>` +
    `<text x="${end}" y="${y + 32}" font-size="13" fill="currentColor" fill-opacity="0.75">${row.moved}</text>`
  );
  if (row.cursor !== null) {
    const x = px(BAR_LEFT + row.cursor * scale);
    parts.push(
      `<path class="rl-cursor" d="M${x} ${y - 5}V${y + BAR_HEIGHT + 5}" stroke="currentColor" stroke-width="3"/>`
    );
  }
  return parts.join("");
}

function timeSegment(kernel, x, scale, y) {
  const color = colorOf(kernel.letter);
  const half = BAR_HEIGHT / 2;
  const inner = x + kernel.launch * scale;
  const box = (left, top, seconds, height, fill, opacity) =>
    `<rect x="${px(left)}" y="${top}" width="${px(seconds * scale)}" height="${height}" fill="${fill}" ` +
    `fill-opacity="${opacity}"/>`;
  return `<g><title>${kernel.title}</title>` +
    box(x, y, kernel.launch, BAR_HEIGHT, "currentColor", "0.6") +
    box(inner, y, kernel.memory, half, color, "0.6") +
    box(inner, y + half, kernel.arithmetic, half, color, "0.25") +
    `<rect x="${px(x)}" y="${y}" width="${px(kernel.seconds * scale)}" height="${BAR_HEIGHT}" fill="none" ` +
    `stroke="${color}" stroke-width="1.5"/></g>`;
}

function barLetters(kernels, scale, y) {
  const runs = [];
  let at = 0;
  for (const kernel of kernels) {
    const last = runs.at(-1);
    if (last && last[0] === kernel.letter) last[2] = at + kernel.seconds;
    else runs.push([kernel.letter, at, at + kernel.seconds]);
    at += kernel.seconds;
  }
  return runs.filter(([, start, end]) => (end - start) * scale > 14).map(([letter, start, end]) =>
    `<text x="${px(BAR_LEFT + (start + end) / 2 * scale)}" y="${y + 22}" text-anchor="middle" font-size="14" ` +
    `font-weight="600" fill="currentColor" ${HALO}>${LETTERS[letter]}</text>`);
}
