// The address line and the history of a page of the lab. Every state is an address, so the browser's Back and Forward,
// and Undo and Redo, are steps through states: the server loads the state that the address says.
(() => {
  const BURST = 40, PER_SECOND = 5; // browsers ignore more than about 200 changes of the address in 30 seconds
  let left = BURST, before = performance.now(), waiting = null, timer = 0;

  function write() {
    clearTimeout(timer);
    timer = 0;
    left -= 1;
    const { address, push, mark } = waiting;
    waiting = null;
    history[push ? "pushState" : "replaceState"](mark, "", address);
  }

  window.lab = {
    // Show a state in the address line: as a step of its own, or in place of the present one.
    show(address, push, mark) {
      const now = performance.now();
      left = Math.min(BURST, left + ((now - before) / 1000) * PER_SECOND);
      before = now;
      waiting = { address, push: push || (waiting !== null && waiting.push), mark };
      if (left >= 1) write();
      else if (!timer) timer = setTimeout(write, 1000 / PER_SECOND);
    },
    // Copy the link to a path, as this page was reached; where only this computer reaches it so, by the address of the class.
    share(path, address) {
      const local = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
      return window.lab.copy((local && address ? address : location.origin) + path);
    },
    // Copy a text; pages over plain HTTP from another computer have no navigator.clipboard.
    async copy(text) {
      if (navigator.clipboard) return navigator.clipboard.writeText(text);
      const field = document.createElement("textarea");
      field.value = text;
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
    },
  };
  addEventListener("popstate", (event) => {
    if (event.state && event.state.lab) emitEvent("lab_history", { query: location.search.slice(1), ...event.state.lab });
  });
})();
