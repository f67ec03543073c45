// Says in the browser what only the browser can know: that widgets are drawn, and how far away the kernel is.
export default {
  async initialize({model}) {
    const text = await model.widget_manager.get_model(model.get("text").replace("IPY_MODEL_", ""));
    const sent = performance.now();
    text.set_state({value: "✓ The browser draws widgets. ✗ The kernel has not answered yet."});
    model.on("msg:custom", () => {
      const milliseconds = Math.max(1, Math.round(performance.now() - sent));
      text.set_state({value: `✓ The browser draws widgets. ✓ The kernel answered after ${milliseconds} ms.`});
    });
    model.send({question: "are you there?"});
  },
};
