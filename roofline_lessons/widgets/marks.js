// Moves bqplot's marks where they stand.
//
// bqplot redraws a mark whole when one of its arrays is new: it styles every point again and asks for transitions that
// begin with the next frame, even those of no duration. For 150 points that is 15 ms. A slider mostly moves what is
// there: then only what differs is written into the drawing, at once. So this file knows how bqplot keeps the data of a
// mark (`mark_data`, an object for each point) and what its views are made of. The versions are pinned, and
// tests/browser compare what was moved with what bqplot draws itself.

/** Traits of a mark -> the field of its points. `colors` is no field: bqplot looks colours up by index. */
const FIELDS = {x: "x", y: "y", size: "size", names: "name", text: "text"};

/**
 * Where a kind of mark keeps its points, and how its views follow; `changed`: field -> the indices that differ.
 * A transition that bqplot has asked for (a menu changed an axis) would come later with what was right before.
 */
const KINDS = {
  Lines: {
    points: (mark) => mark.mark_data.length === 1 ? mark.mark_data[0].values : [],
    follow(view) {
      const path = (curve) => view.line(curve.values) + view.path_closure();
      view.d3el.selectAll(".line").interrupt("update_line_xy").attr("d", path);
    },
  },
  Scatter: {
    points: (mark) => mark.mark_data,
    follow(view, changed) {
      const {x, y} = view.scales;
      const place = (p) => `translate(${x.scale(p.x) + x.offset},${y.scale(p.y) + y.offset})`;
      const differing = (...fields) => view.d3el.selectAll(".object_grp")
        .filter((point) => fields.some((field) => changed[field].has(point.index)));
      differing("x", "y").interrupt("update_position")
        .attr("transform", (point) => place(point) + view.get_element_rotation(point));
      differing("size").select(".dot").interrupt("draw_elements").attr("d", (point) => view.dot(point));
      differing("name").select(".dot_text").text((point) => point.name); // hidden: what is seen is a tooltip
      const {fill, stroke} = view.model.attributes;
      const color = (point) => view.get_mark_color(point, point.index);
      differing("colors").select(".dot").style("fill", fill ? color : "none").style("stroke", stroke || color);
    },
  },
  Label: {
    points: (mark) => mark.mark_data,
    follow(view, changed) {
      view.update_position();
      if (changed.text.size) view.update_text();
    },
  },
};

/** Whether values differ by more than their last bits, which nobody can see. */
function differ(a, b) {
  return a !== b && !(Math.abs(a - b) <= 1e-12 * Math.abs(a));
}

/** Bring a mark and its views to new values of some traits. False if bqplot must draw it: other traits, more points. */
function moveMark(mark, traits) {
  const kind = KINDS[mark.get("_view_name")];
  const points = kind ? kind.points(mark) : [];
  const fits = ([trait, values]) => (trait in FIELDS || trait === "colors") && values.length === points.length;
  if (points.length === 0 || !Object.entries(traits).every(fits)) return false;
  const changed = {colors: new Set()};
  for (const field of Object.values(FIELDS)) changed[field] = new Set();
  for (const [trait, values] of Object.entries(traits)) {
    const field = FIELDS[trait];
    const before = mark.get(trait);
    points.forEach((point, i) => {
      if (differ(field ? point[field] : before[i % before.length], values[i])) changed[field ?? trait].add(i);
      if (field) point[field] = values[i];
    });
    mark.attributes[trait] = held(values); // what a later view is drawn from; no event, which would redraw the mark
  }
  for (const view of Object.values(mark.views ?? {})) view.then((drawn) => kind.follow(drawn, changed));
  return true;
}

