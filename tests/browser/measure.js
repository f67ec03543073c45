// How long from a key press to the painted picture. `measure.start(css)`, press a key, `await measure.result()`.
// `measure.parts` has, for each press: how long until the page heard the key, until the change was in the page, until
// the frame began that painted it, and until that frame was done.
//
// The clock starts with the key's own time stamp and stops after the first frame is painted that shows a change inside
// the element `css`: an attribute of the drawing, or a new image once it is decoded.
window.measure ??= (() => {
  let keyTime, heardTime, changedTime, paintedTime, changed, inFrame = false, observer, finish;
  const parts = [];
  const channel = new MessageChannel(); // its messages arrive when the frame in which they were sent is painted

  addEventListener("keydown", (event) => {
    if (keyTime !== undefined) return;
    keyTime = event.timeStamp;
    heardTime = performance.now();
  }, true);

  function frame() {
    inFrame = true;
    // `before`: a change made after this frame, by no frame's callback, is not painted with it
    channel.port2.postMessage({before: changed, frameTime: performance.now()});
    requestAnimationFrame(frame);
  }

  channel.port1.onmessage = ({data: {before, frameTime}}) => {
    if (changed && (before || changed === "in frame") && paintedTime === undefined) {
      paintedTime = performance.now();
      observer.disconnect();
      const begun = Math.max(frameTime, changedTime); // a change in the frame's own callbacks waits for no frame
      parts.push([heardTime - keyTime, changedTime - heardTime, begun - changedTime, paintedTime - begun]);
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
    changedTime ??= performance.now();
    changed ??= image ? "between frames" : now;
  }

  let done;
  return {
    parts,
    start(css) {
      keyTime = changedTime = paintedTime = changed = undefined;
      done = new Promise((resolve) => { finish = resolve; });
      observer = new MutationObserver(see);
      observer.observe(document.querySelector(css), {subtree: true, childList: true, attributeFilter: ["d", "src"]});
    },
    result: () => Promise.race([
      done, new Promise((_, fail) => setTimeout(() => fail(new Error("the picture did not change")), 5000)),
    ]),
  };
})();
