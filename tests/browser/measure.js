// How long from a key press to the painted picture. `measure.start(css)`, press a key, `await measure.result()`.
//
// The clock starts with the key's own time stamp and stops after the first frame is painted that shows a change inside
// the element `css`: an attribute of the drawing, or a new image once it is decoded.
window.measure ??= (() => {
  let keyTime, paintedTime, changed, inFrame = false, observer, finish;
  const channel = new MessageChannel(); // its messages arrive when the frame in which they were sent is painted

  addEventListener("keydown", (event) => { keyTime ??= event.timeStamp; }, true);

  function frame() {
    inFrame = true;
    const before = changed; // a change made after this frame, by no frame's callback, is not painted with it
    channel.port2.postMessage(before);
    requestAnimationFrame(frame);
  }

  channel.port1.onmessage = ({data: before}) => {
    if (changed && (before || changed === "in frame") && paintedTime === undefined) {
      paintedTime = performance.now();
      observer.disconnect();
      finish(paintedTime - keyTime);
    }
    inFrame = false;
  };
  requestAnimationFrame(frame);

  const imageIn = (node) => node.matches?.("img") ? node : node.querySelector?.("img");

  async function see(records) {
    if (keyTime === undefined) return;
    const now = inFrame ? "in frame" : "between frames";
    const drawn = records.some((r) => r.attributeName === "d");
    const image = !drawn && records.flatMap((r) => [r.target, ...r.addedNodes]).map(imageIn).find((n) => n);
    if (image) await image.decode();
    else if (records.every((r) => r.type === "childList")) return; // an output that is cleared is no picture
    changed ??= image ? "between frames" : now;
  }

  let done;
  return {
    start(css) {
      keyTime = paintedTime = changed = undefined;
      done = new Promise((resolve) => { finish = resolve; });
      observer = new MutationObserver(see);
      observer.observe(document.querySelector(css), {subtree: true, childList: true, attributeFilter: ["d", "src"]});
    },
    result: () => Promise.race([
      done, new Promise((_, fail) => setTimeout(() => fail(new Error("the picture did not change")), 5000)),
    ]),
  };
})();
