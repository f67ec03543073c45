// Sends a file that a person chose to the kernel behind the page. In parts: the server ends the connection at a message
// of more than 10 MB.
const PART = 4 * 1024 * 1024;

const megabytes = (bytes) => `${Math.ceil(bytes / 1e6)} MB`;

export default {
  render({model, el}) {
    const input = document.createElement("input");
    Object.assign(input, {type: "file", accept: model.get("accept")});
    input.setAttribute("aria-label", model.get("label"));
    const said = document.createElement("span");
    said.setAttribute("role", "status");
    el.classList.add("rl-upload");
    el.append(input, said);

    async function send(file) {
      model.send({kind: "start", name: file.name, bytes: file.size});
      for (let at = 0; at < file.size; at += PART) {
        const part = await file.slice(at, at + PART).arrayBuffer();
        model.send({kind: "part", at}, undefined, [part]);
        said.textContent = `sending ${file.name}: ${megabytes(at + part.byteLength)} of ${megabytes(file.size)}`;
      }
      model.send({kind: "end"});
      said.textContent = "";
    }

    input.addEventListener("change", async () => {
      const [file] = input.files;
      if (!file) return;
      const most = model.get("most_bytes");
      if (file.size > most) {
        said.textContent =
          `${file.name} has ${megabytes(file.size)}; the page sends at most ${megabytes(most)}. ` +
          "Write its path into the field instead: then nothing is copied.";
      } else {
        input.disabled = true;
        await send(file).catch((error) => (said.textContent = `${file.name} cannot be sent: ${error.message}`));
        input.disabled = false;
      }
      input.value = ""; // the same file may be chosen again
    });
  },
};
