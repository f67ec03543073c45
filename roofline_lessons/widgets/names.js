// What a screen reader says of an explorer's menus and buttons: attributes for elements, by CSS selector. ipywidgets
// has no trait for them. The view shows nothing; elements may come onto the page after it, so it tries again.

const PATIENCE = 20, FIRST_DELAY = 50, LONGEST_DELAY = 3000; // milliseconds; a minute in all

/** Give each element its attributes. False while one of them is not there. */
function give(explorer, names) {
  let complete = explorer !== null;
  for (const [css, attributes] of Object.entries(names)) {
    const element = explorer?.querySelector(css);
    complete &&= Boolean(element);
    for (const [name, value] of Object.entries(attributes)) element?.setAttribute(name, value);
  }
  return complete;
}

export default {
  render({model, el}) {
    el.style.display = "none";
    let timer = null;
    const name = (left = PATIENCE, delay = FIRST_DELAY) => {
      clearTimeout(timer);
      if (give(el.closest(".rl-explorer"), model.get("names")) || left === 0) return;
      timer = setTimeout(() => name(left - 1, Math.min(2 * delay, LONGEST_DELAY)), delay);
    };
    const again = () => name();
    model.on("change:names", again);
    again();
    return () => {
      clearTimeout(timer);
      model.off("change:names", again);
    };
  },
};
