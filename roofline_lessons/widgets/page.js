// Widgets in a page of their own: what their browser halves expect of Jupyter, and no more. No kernel, no network.
//
// The page holds, in this order: this file; the AMD modules of the installed packages, each in a <script> that says
// whose it is in data-package; a call of `showWidgets` with the states of the widgets. export.py writes it.

const modules = {};
const half = (name) => modules[name.startsWith("@jupyter-widgets/") ? "widgetsnbextension" : name];

/** AMD's define. Every module needs ipywidgets' own at most, and that comes first: each can be made at once. */
window.define = (...parts) => {
  const make = parts.pop();
  const needs = parts.find(Array.isArray) ?? [];
  const made = make(...needs.map((name) => name === "module" ? {uri: location.href} : half(name)));
  modules[document.currentScript.dataset.package] = made;
};
window.define.amd = {};

// ipywidgets' own half (base and controls in one) is made for the classic Notebook: it looks at its version when loaded,
// and asks for three of its modules when it adds its styles.
const nothing = () => {};
const notebook = {
  "base/js/namespace": {notebook: {container: {on: nothing}}},
  "base/js/events": {on: nothing},
  "notebook/js/outputarea": {OutputArea: {prototype: {register_mime_type: nothing}}},
};
window.Jupyter = {version: "6.5.0"};
window.requirejs = (names, use) => { if (names.length === 3) use(...names.map((name) => notebook[name])); };
window.requirejs.config = nothing;

/** The part of a widget manager that models and views use when nobody is there to talk to. */
class Manager {
  constructor(states) {
    this.states = states;
    this.models = {};
  }

  async loadClass(name, module) {
    const found = half(module)?.[name];
    if (!found) throw new Error(`This page has no ${name} of ${module}.`);
    return found;
  }

  get_model(id) {
    return this.models[id] ??= this.make(id);
  }

  async make(id) {
    const {model_name, model_module, state, buffers = []} = this.states[id];
    const bytes = buffers.map((b) => new DataView(Uint8Array.from(atob(b.data), (c) => c.charCodeAt(0)).buffer));
    const {put_buffers} = half("@jupyter-widgets/base");
    put_buffers(state, buffers.map((b) => b.path), bytes);
    const Model = await this.loadClass(model_name, model_module);
    const attributes = await Model._deserialize_state(state, this);
    return Object.assign(
      new Model(attributes, {model_id: id, widget_manager: this}), {name: model_name, module: model_module}
    );
  }

  /** A view of a model. One after another for each model, as its views expect. */
  create_view(model, options = {}) {
    const view = model.state_change.then(async () => {
      const View = await this.loadClass(model.get("_view_name"), model.get("_view_module"));
      const made = new View({model, options: this.setViewOptions(options)});
      made.listenTo(model, "destroy", made.remove);
      await made.render();
      return made;
    });
    model.state_change = view;
    if (model.views) model.views[`view ${Object.keys(model.views).length}`] = view;
    return view;
  }

  setViewOptions = (options = {}) => options;
  callbacks = () => ({});
  resolveUrl = async (url) => url;
  inline_sanitize = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
}

/** Make every widget (a driver has no view) and put the view of one of them into the page. */
async function showWidgets(states, id, place) {
  await half("@jupyter-widgets/controls").load_ipython_extension(); // its styles
  const manager = new Manager(states);
  const model = await manager.get_model(id);
  const {luminoWidget} = await manager.create_view(model);
  half("@jupyter-widgets/base").JupyterLuminoWidget.attach(luminoWidget, place);
  await Promise.all(Object.keys(states).map((each) => manager.get_model(each)));
  addEventListener("resize", () => luminoWidget.processMessage({type: "resize", width: -1, height: -1}));
}
