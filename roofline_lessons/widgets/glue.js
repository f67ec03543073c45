// Joins the pure arithmetic (driver.js and its like) to the widgets: listens to the controls, moves the marks
// (marks.js), one frame per move.
//
// It runs where the page is, so a slider never waits for the kernel, and goes on when the kernel is busy, gone, or was
// never there (an exported page). It is the only writer of the marks' traits once they exist: a late push from Python
// would overwrite a newer picture. Python sends new tables and sets the controls, nothing else.

const SCENES = {roofline, fusion, tiling};
const PICTURES = {tiling: "Chart of time against layers per kernel"};

/** {name: "IPY_MODEL_<id>"} -> {name: widget model}. */
async function resolve(model, trait) {
  const models = {};
  for (const [name, reference] of Object.entries(model.get(trait))) {
    const id = String(reference).replace(/^IPY_MODEL_/, "");
    models[name] = await model.widget_manager.get_model(id);
  }
  return models;
}

/** Lists of numbers become what bqplot holds. A new array each time: it redraws for a new one only. */
function held(value) {
  return Array.isArray(value) && typeof value[0] === "number" ? Float64Array.from(value) : value;
}

function same(a, b) {
  if (!Array.isArray(a) || !Array.isArray(b)) return a === b;
  return a.length === b.length && a.every((value, i) => value === b[i]);
}

function drive(model, controls, marks) {
  let shown = {};
  let frame = null;
  let more = false;

  function draw() {
    const steps = Object.fromEntries(Object.entries(controls).map(([name, c]) => [name, c.get("value")]));
    const view = SCENES[model.get("scene")](model.get("tables"), steps);
    for (const [name, traits] of Object.entries(view)) {
      const before = shown[name] ?? {};
      const changed = Object.entries(traits).filter(([trait, value]) => !same(value, before[trait]));
      if (changed.length === 0 || !(name in marks)) continue;
      if (moveMark(marks[name], Object.fromEntries(changed))) continue;
      // set_state, not set: the kernel is not told, so nothing comes back later
      marks[name].set_state(Object.fromEntries(changed.map(([trait, value]) => [trait, held(value)])));
    }
    shown = view;
  }

  // The first change is drawn at once: the next frame shows it, and has less to do. Changes that follow before that
  // frame are drawn together in it.
  function request() {
    if (frame === null) draw();
    else more = true;
    frame ??= requestAnimationFrame(next);
  }

  function next() {
    frame = null;
    if (more) {
      more = false;
      request();
    }
  }

  const listened = Object.values(controls).map((control) => [control, "change:value"]);
  listened.push([model, "change:tables"]);
  for (const [source, event] of listened) source.on(event, request);
  draw();

  return () => {
    if (frame !== null) cancelAnimationFrame(frame);
    for (const [source, event] of listened) source.off(event, request);
  };
}

export default {
  async initialize({model}) {
    const controls = await resolve(model, "controls");
    const marks = await resolve(model, "marks");
    return drive(model, controls, marks);
  },

  // The view is empty. It gives the explorer what it lacks for a screen reader: names of the sliders and their values
  // with the unit, what the picture is, and a sentence that is read out when it changes.
  async render({model, el}) {
    el.style.display = "none";
    const labels = Object.entries(model.get("labels"));
    const texts = await resolve(model, "marks");
    const watched = new Map();
    const explorer = () => el.closest(".rl-explorer");
    const name = (css, attributes) => {
      const element = explorer()?.querySelector(css);
      for (const [name, value] of Object.entries(attributes)) {
        if (element && element.getAttribute(name) !== value) element.setAttribute(name, value);
      }
    };
    const nameSlider = (control, label) => {
      const words = texts[`${control}_text`].get("value").replace(/<[^>]*>/g, "");
      name(`.rl-control-${control} .noUi-handle`, {"aria-label": label, "aria-valuetext": words});
    };
    const nameAll = () => {
      name(".rl-sentence .widget-html-content", {role: "status", "aria-live": "polite"});
      const picture = PICTURES[model.get("scene")] ?? "Roofline plot";
      name("svg.svg-figure", {role: "img", "aria-label": `${picture}; the sentence and the table say what it shows`});
      for (const [control, label] of labels) {
        nameSlider(control, label);
        watch(control, label);
      }
    };
    // the slider writes its bare step as its value at each key and each new end, also where nothing else changes
    const watch = (control, label) => {
      const slider = explorer()?.querySelector(`.rl-control-${control}`);
      if (!slider || watched.has(control)) return;
      watched.set(control, new MutationObserver(() => nameSlider(control, label)));
      watched.get(control).observe(slider, {
        subtree: true, childList: true, attributes: true, attributeFilter: ["aria-valuetext"],
      });
    };
    const listened = labels.map(([control, label]) => [texts[`${control}_text`], () => nameSlider(control, label)]);
    for (const [text, changed] of listened) text.on("change:value", changed);
    const late = [0, 300, 1500, 5000].map((delay) => setTimeout(nameAll, delay)); // sliders come onto the page after this
    return () => {
      late.forEach(clearTimeout);
      for (const observer of watched.values()) observer.disconnect();
      for (const [text, changed] of listened) text.off("change:value", changed);
    };
  },
};
