// The perceptron in a browser: learning step by step, the mistake bound, its proof, and a figure of them all.
// One ES module without dependencies. The lessons of the documentation and `rosenblatt.widget` use it; a test compares
// every weight of a hundred runs with the library's.

const COLOURS = { plus: "#0072B2", minus: "#E69F00", w: "#009E73", update: "#CC79A7", wrong: "#D55E00" };
const TINT = 0.11; // of the side of a class
const MOST_EPOCHS = 200;

// Step of a rule: how far an example moves the weights, w += tau y x. `sqnorm` is ‖x‖², bias input included.
export const RULES = {
  rosenblatt: ({ eta = 1 } = {}) => (score, y) => (y * score <= 0 ? eta : 0),
  margin: ({ eta = 1, beta = 1 } = {}) => (score, y) => (y * score <= beta ? eta : 0),
  "passive-aggressive": ({ C = 1 } = {}) => (score, y, sqnorm) => {
    const loss = 1 - y * score;
    return loss > 0 && sqnorm > 0 ? Math.min(C ?? Infinity, loss / sqnorm) : 0;
  },
  logistic: ({ eta = 1 } = {}) => (score, y) => eta / (1 + Math.exp(Math.min(y * score, 700))),
};

// The most mistakes (of `margin`: updates) that a rule makes from zero weights on separable rows, in any order; null: no bound.
export function bound(rule, parameters, { radius, gamma }) {
  const { eta = 1, beta = 1, C = 1 } = parameters ?? {};
  if (rule === "rosenblatt") return (radius / gamma) ** 2;
  if (rule === "margin") return (radius ** 2 + (2 * beta) / eta) / gamma ** 2;
  if (rule === "passive-aggressive") return Math.max(radius ** 2, 1 / (C ?? Infinity)) / gamma ** 2;
  return null;
}

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

// A run over rows, one example at a time. Weights have the bias first; without an intercept it stays zero.
export class Run {
  constructor({ rows, labels, rule = "rosenblatt", parameters = {}, intercept = true, start = null, orders = null }) {
    if (!(rule in RULES)) throw new Error(`rule must be one of ${Object.keys(RULES).join(", ")}, not ${rule}`);
    Object.assign(this, { labels, rule, parameters, intercept, orders });
    this.inputs = rows.map((row) => [intercept ? 1 : 0, ...row]);
    this.tau = RULES[rule](parameters);
    this.w = start ? [...start] : new Array(1 + (rows[0]?.length ?? 2)).fill(0);
    this.zero = !start || start.every((value) => value === 0);
    this.clock = 0; // examples seen
    this.mistakes = 0;
    this.ledger = []; // { row, y, score, tau, clock, w } of every update
    this.sum = this.w.map(() => 0); // of the weights after each example
    this.voters = [{ w: [...this.w], lived: 0 }]; // every hypothesis with the examples it survived
    this.converged = false;
    this.updatesBefore = 0; // the pass
  }

  get n() { return this.labels.length; }
  get epoch() { return this.n ? Math.floor(this.clock / this.n) : 0; }
  get finished() { return !this.n || this.converged || this.epoch >= MOST_EPOCHS; }

  rowAt(clock) {
    const order = this.orders?.[Math.floor(clock / this.n)];
    return order ? order[clock % this.n] : clock % this.n;
  }

  // Look at one example; returns the line of the ledger where the weights moved, else null.
  step() {
    if (this.finished) return null;
    if (this.clock % this.n === 0) this.updatesBefore = this.ledger.length;
    const row = this.rowAt(this.clock), x = this.inputs[row], y = this.labels[row];
    const score = dot(this.w, x), tau = this.tau(score, y, dot(x, x));
    if (y * score <= 0) this.mistakes += 1;
    let line = null;
    if (tau > 0) {
      this.w = this.w.map((value, i) => value + tau * y * x[i]);
      line = { row, y, score: y * score, tau: tau * y, clock: this.clock, w: [...this.w] };
      this.ledger.push(line);
      this.voters.push({ w: line.w, lived: 0 });
    }
    this.voters.at(-1).lived += 1;
    this.sum = this.sum.map((value, i) => value + this.w[i]);
    this.clock += 1;
    if (this.clock % this.n === 0) this.converged = this.ledger.length === this.updatesBefore;
    return line;
  }

  // Go on until the weights move, or to the end of the pass.
  update() { while (!this.finished && !this.step()); }
  pass() { const end = (this.epoch + 1) * this.n; while (this.clock < end && !this.finished) this.step(); }
  to(clock) { while (this.clock < clock && !this.finished) this.step(); }

  // After every update: v·u and what it is at least, ‖v‖² and what it is at most; for Rosenblatt's rule from zero weights.
  lemmas({ u, gamma, radius }) {
    let moved = 0, squared = 0;
    return this.ledger.map(({ w, tau }) => {
      moved += Math.abs(tau);
      squared += tau * tau;
      return { dot: dot(w, u), floor: gamma * moved, sqnorm: dot(w, w), ceiling: radius ** 2 * squared };
    });
  }

  // Weights of what predicts; `voted` has none of its own.
  weights(hypothesis = "last") {
    if (hypothesis === "averaged" && this.clock) return this.sum.map((value) => value / this.clock);
    return hypothesis === "voted" ? null : [...this.w];
  }

  // Score of a row: that of the weights, or Σ lived·sign(v·x) / clock of the vote.
  score(row, hypothesis = "last") {
    const x = [this.intercept ? 1 : 0, ...row];
    if (hypothesis !== "voted") return dot(this.weights(hypothesis), x);
    if (!this.clock) return 0;
    return this.voters.reduce((sum, { w, lived }) => sum + lived * Math.sign(dot(w, x)), 0) / this.clock;
  }
}

// Naive Bayes of features that are zero or one, as a hyperplane with the bias first; frequencies are smoothed by one.
export function naiveBayes(rows, labels) {
  const own = { 1: rows.filter((_, i) => labels[i] > 0), "-1": rows.filter((_, i) => labels[i] < 0) };
  const share = (label, k, value) => (own[label].filter((row) => row[k] === value).length + 1) / (own[label].length + 2);
  const odds = (value) => rows[0].map((_, k) => Math.log(share(1, k, value) / share(-1, k, value)));
  const present = odds(1), absent = odds(0);
  const prior = Math.log(own[1].length / own[-1].length);
  return [absent.reduce((sum, value) => sum + value, prior), ...present.map((value, k) => value - absent[k])];
}

// Wolfe's point of least norm in the hull of y(1, x): the best separator and its margin, or the rows that forbid one.
// Returns { separable, u, gamma, radius, rows } or { separable: false, rows, weights }.
export function separability(rows, labels, intercept = true) {
  const points = rows.map((row, i) => [intercept ? 1 : 0, ...row].map((value) => labels[i] * value));
  if (!points.length) return null;
  const radius = Math.sqrt(Math.max(...points.map((p) => dot(p, p))));
  const combine = (used, weights) => used.reduce((sum, i, k) => sum.map((v, j) => v + weights[k] * points[i][j]), points[0].map(() => 0));
  const first = points.reduce((best, p, i) => (dot(p, p) < dot(points[best], points[best]) ? i : best), 0);
  let used = [first], weights = [1], x = points[first];
  const tiny = 1e-12 * radius ** 2;
  for (let round = 0; round < 50 * (points.length + 10); round++) {
    let next = 0;
    points.forEach((p, i) => { if (dot(p, x) < dot(points[next], x)) next = i; });
    if (dot(x, x) <= tiny || dot(points[next], x) >= dot(x, x) - tiny || used.includes(next)) break;
    used = [...used, next];
    weights = [...weights, 0];
    for (;;) { // the nearest point of the affine hull, walked towards only as far as the hull reaches
      const found = affine(used.map((i) => points[i]));
      if (!found) { used.pop(); weights.pop(); break; }
      if (found.every((value) => value > 1e-12)) { weights = found; break; }
      const share = Math.min(...found.map((value, k) => (value <= 1e-12 ? weights[k] / Math.max(weights[k] - value, 1e-300) : 1)));
      weights = weights.map((value, k) => (1 - share) * value + share * found[k]);
      const left = weights.map((value) => value > 1e-12);
      if (left.every(Boolean)) left[weights.indexOf(Math.min(...weights))] = false;
      used = used.filter((_, k) => left[k]);
      weights = weights.filter((_, k) => left[k]);
    }
    x = combine(used, weights);
  }
  const total = weights.reduce((sum, value) => sum + value, 0), norm = Math.sqrt(dot(x, x));
  const u = x.map((value) => value / (norm || 1));
  const gamma = Math.min(...points.map((p) => dot(p, u)));
  if (norm <= 1e-6 * radius || gamma <= 1e-9 * radius) return { separable: false, rows: used, weights: weights.map((value) => value / total) };
  return { separable: true, u, gamma, radius, rows: used };
}

// Weights, adding up to one, of the point of least norm in the affine hull of a few points.
function affine(points) {
  const n = points.length, size = n + 1;
  const A = Array.from({ length: size }, (_, i) => [...Array.from({ length: size }, (_, j) => (i && j ? dot(points[i - 1], points[j - 1]) : i || j ? 1 : 0)), i ? 0 : 1]);
  for (let k = 0; k < size; k++) {
    let best = k;
    for (let i = k + 1; i < size; i++) if (Math.abs(A[i][k]) > Math.abs(A[best][k])) best = i;
    if (Math.abs(A[best][k]) < 1e-13) return null;
    [A[k], A[best]] = [A[best], A[k]];
    for (let i = 0; i < size; i++) {
      if (i === k) continue;
      const factor = A[i][k] / A[k][k];
      for (let j = k; j <= size; j++) A[i][j] -= factor * A[k][j];
    }
  }
  return A.slice(1).map((row, i) => row[size] / row[i + 1]);
}

// Figure

const SVG = "http://www.w3.org/2000/svg";
const STYLE = `
.rosenblatt-live { border: 1px solid #8886; border-radius: 10px; padding: 10px; margin: 14px 0; font: 15px/1.45 system-ui, sans-serif; font-variant-numeric: tabular-nums; max-width: 980px; }
.rosenblatt-live .both { display: flex; flex-wrap: wrap; gap: 12px; }
.rosenblatt-live .plane { flex: 3 1 330px; min-width: 0; } .rosenblatt-live .numbers { flex: 2 1 280px; min-width: 0; }
.rosenblatt-live svg { width: 100%; height: auto; display: block; touch-action: none; user-select: none; }
.rosenblatt-live svg:focus-visible { outline: 3px solid #56B4E9; }
.rosenblatt-live .bar { display: flex; flex-wrap: wrap; gap: 6px; margin: 6px 0; }
.rosenblatt-live button { font: inherit; color: inherit; background: none; border: 1px solid #8888; border-radius: 7px; padding: 3px 10px; cursor: pointer; }
.rosenblatt-live button:disabled { opacity: .38; cursor: not-allowed; border-style: dashed; }
.rosenblatt-live button[aria-pressed=true] { box-shadow: inset 0 0 0 2px currentColor; }
.rosenblatt-live button.first { background: #0072B2; border-color: #0072B2; color: #fff; }
.rosenblatt-live button:focus-visible { outline: 3px solid #56B4E9; outline-offset: 1px; }
.rosenblatt-live table { width: 100%; border-collapse: collapse; font-size: 14px; margin: 4px 0 0; display: table; }
.rosenblatt-live th, .rosenblatt-live td { text-align: right; padding: 1px 5px; border: 0; border-bottom: 1px solid #8884; white-space: nowrap; }
.rosenblatt-live .ledger { overflow-x: auto; }
.rosenblatt-live .legend { display: flex; flex-wrap: wrap; gap: 2px 14px; margin-top: 6px; font-size: 14px; opacity: .85; }
.rosenblatt-live .legend span { display: inline-flex; align-items: center; gap: 5px; } .rosenblatt-live .legend svg { width: 26px; height: 18px; }`;

const svg = (tag, attributes, ...children) => {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};
const written = (value, digits = 3) => String(Number(value.toPrecision(digits))).replace("-", "−").replace("e+", "e");
const vector = (values) => `(${values.map((value) => written(value)).join(", ")})`;
const counted = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

// The features of a map are monomials, each as two powers and a factor, or by "signs" whether a coordinate is positive.
// Without a map a point is its own row.
const features = (map, [x, y]) => {
  if (map === "signs") return [x > 0 ? 1 : 0, y > 0 ? 1 : 0];
  return map ? map.map(([i, j, factor]) => factor * x ** i * y ** j) : [x, y];
};

/* Draw a run into an element and let it be stepped. Options: points [[x, y], …], labels [±1, …], rule, parameters,
   intercept, start, orders, hypothesis, clock, proof, map, box [x0, y0, x1, y1], classes [of −1, of +1], lines [{w, label}],
   fixed (points cannot be edited), learner ("naive-bayes": fitted anew at every change, without steps). Returns { run, options, show(options), stop(), onChange }. */
export function figure(element, options) {
  const shadow = element.ownerDocument;
  if (!shadow.getElementById("rosenblatt-live-style")) {
    const style = shadow.createElement("style");
    style.id = "rosenblatt-live-style";
    style.textContent = STYLE;
    shadow.head.append(style);
  }
  element.classList.add("rosenblatt-live");
  const figure = { options: null, run: null, past: [], timer: 0, tool: "move", proof: null, cursor: null, onChange: null };

  const make = (tag, parent, attributes = {}, text = "") => {
    const made = shadow.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.textContent = text;
    parent.append(made);
    return made;
  };
  element.replaceChildren();
  const both = make("div", element, { class: "both" });
  const left = make("div", both, { class: "plane" }), right = make("div", both, { class: "numbers" });
  const plane = left.appendChild(svg("svg", { role: "img", tabindex: 0, "data-part": "plane" }));
  const button = (bar, name, act, kind = "") => {
    const made = make("button", bar, { type: "button", ...(kind ? { class: kind } : {}) }, name);
    made.addEventListener("click", act);
    return made;
  };
  const steps = make("div", left, { class: "bar", role: "toolbar", "aria-label": "Steps" });
  const tools = make("div", left, { class: "bar", role: "toolbar", "aria-label": "Tools" });
  const status = make("div", left, { role: "status", "data-part": "status" });
  const answer = make("div", left, { "data-part": "answer" });
  const legend = make("div", left, { class: "legend", "data-part": "legend" });
  const chart = right.appendChild(svg("svg", { viewBox: "0 0 320 150", role: "img", "aria-label": "Mistakes against the bound", "data-part": "chart" }));
  const lemmas = make("div", right, { "data-part": "lemmas" });
  const weights = make("div", right, { "data-part": "weights" });
  const ledger = make("div", right, { class: "ledger" });

  const anew = () => {
    const { points, labels, map, rule, parameters, intercept, start, orders } = figure.options;
    const rows = points.map((point) => features(map, point));
    figure.run = new Run({ rows, labels, rule, parameters, intercept, start, orders: points.length === figure.options.ordered ? orders : null });
    figure.rows = rows;
    figure.best = undefined;
    figure.fitted = figure.options.learner === "naive-bayes" && new Set(labels).size === 2 ? naiveBayes(rows, labels) : null;
  };
  const go = (clock) => { if (clock < figure.run.clock) anew(); figure.run.to(clock); };
  const act = (what) => () => {
    stop();
    const { run } = figure;
    if (what === "back") go(figure.past.pop() ?? run.clock - 1);
    else if (what === "restart") { figure.past = []; anew(); }
    else { figure.past.push(run.clock); run[what](); }
    draw();
  };
  const stop = () => { clearInterval(figure.timer); figure.timer = 0; };
  const buttons = {
    back: button(steps, "Back", act("back")),
    step: button(steps, "Step", act("step"), "first"),
    update: button(steps, "Update", act("update")),
    pass: button(steps, "Epoch", act("pass")),
    run: button(steps, "Run", () => {
      if (figure.timer) stop();
      else {
        figure.past.push(figure.run.clock);
        figure.timer = setInterval(() => { figure.run.update(); if (figure.run.finished) stop(); draw(); }, 90);
      }
      draw();
    }),
    restart: button(steps, "Restart", act("restart")),
    ask: button(steps, "Is it separable?", () => { figure.proof = !figure.proof; draw(); }),
  };
  const toolButtons = {};
  for (const [name, title] of [["move", "Move"], ["plus", "Put +1"], ["minus", "Put −1"], ["flip", "Flip"], ["erase", "Erase"]])
    toolButtons[name] = button(tools, title, () => { figure.tool = name; draw(); });

  // Editing

  const box = () => figure.options.box;
  const letters = () => (1500 * (box()[2] - box()[0])) / (plane.clientWidth || 600); // 15 px
  const where = (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(plane.getScreenCTM().inverse());
    return [at.x / 100, -at.y / 100].map((value, k) => Math.round(100 * Math.min(Math.max(value, box()[k]), box()[k + 2])) / 100);
  };
  const nearest = ([x, y]) => {
    const reach = (0.03 * (box()[2] - box()[0])) ** 2;
    let found = -1, least = reach;
    figure.options.points.forEach(([u, v], i) => { const d = (u - x) ** 2 + (v - y) ** 2; if (d <= least) { least = d; found = i; } });
    return found;
  };
  const edit = (change) => { // what was learned is learned again from the changed examples
    const clock = figure.run.clock;
    const points = figure.options.points.map((point) => [...point]), labels = [...figure.options.labels];
    change(points, labels);
    Object.assign(figure.options, { points, labels });
    anew();
    figure.run.to(clock);
    draw();
  };
  const use = (at, i) => {
    if (figure.tool === "plus" || figure.tool === "minus") edit((points, labels) => { points.push(at); labels.push(figure.tool === "plus" ? 1 : -1); });
    else if (i >= 0 && figure.tool === "flip") edit((_, labels) => { labels[i] *= -1; });
    else if (i >= 0 && figure.tool === "erase") edit((points, labels) => { points.splice(i, 1); labels.splice(i, 1); });
  };
  let held = -1;
  plane.addEventListener("pointerdown", (event) => {
    if (figure.options.fixed || event.button) return;
    const at = where(event), i = nearest(at);
    if (figure.tool === "move") { held = i; if (i >= 0) plane.setPointerCapture(event.pointerId); } else use(at, i);
  });
  plane.addEventListener("pointermove", (event) => { if (held >= 0) edit((points) => { points[held] = where(event); }); });
  plane.addEventListener("pointerup", () => { held = -1; });
  plane.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
    if (figure.options.fixed || !(by || event.key === "Enter")) return;
    event.preventDefault();
    const step = (box()[2] - box()[0]) * (event.shiftKey ? 0.0625 : 0.0125);
    figure.cursor ??= [(box()[0] + box()[2]) / 2, (box()[1] + box()[3]) / 2];
    const i = nearest(figure.cursor);
    if (!by) return use(figure.cursor, i);
    const to = figure.cursor.map((value, k) => Math.round(100 * Math.min(Math.max(value + by[k] * step, box()[k]), box()[k + 2])) / 100);
    figure.cursor = to;
    if (event.altKey && i >= 0) edit((points) => { points[i] = to; });
    else draw();
  });

  // Drawing

  const line = (w, look) => { // w0 + w1 x + w2 y = 0, where it crosses the box
    const [x0, y0, x1, y1] = box(), ends = [];
    if (Math.abs(w[2]) >= Math.abs(w[1])) { if (w[2]) for (const x of [x0, x1]) ends.push([x, -(w[0] + w[1] * x) / w[2]]); }
    else for (const y of [y0, y1]) ends.push([-(w[0] + w[2] * y) / w[1], y]);
    if (ends.length === 2) plane.append(svg("line", { x1: 100 * ends[0][0], y1: -100 * ends[0][1], x2: 100 * ends[1][0], y2: -100 * ends[1][1], stroke: "currentColor", ...look }));
  };
  const arrow = ([x, y], [u, v], colour, label, part) => {
    const angle = Math.atan2(v - y, u - x), unit = (box()[2] - box()[0]) * 100, size = unit / 50;
    const tip = (turn) => `${100 * u - size * Math.cos(angle + turn)},${-100 * v + size * Math.sin(angle + turn)}`;
    plane.append(svg("path", { d: `M${100 * x},${-100 * y}L${100 * u},${-100 * v}M${tip(0.45)}L${100 * u},${-100 * v}L${tip(-0.45)}`, stroke: colour, fill: "none", "stroke-width": unit / 260, "data-part": part }));
    const text = svg("text", { x: 100 * u + 1.6 * size * Math.cos(angle), y: -100 * v - 1.6 * size * Math.sin(angle) + size / 2, "font-size": letters(), "font-weight": 700, fill: colour, "text-anchor": "middle" });
    text.textContent = label;
    plane.append(text);
  };
  const score = (row) => (figure.fitted ? figure.fitted[0] + dot(figure.fitted.slice(1), row) : figure.run.score(row, figure.options.hypothesis));
  const region = (unit) => { // where the score is positive, in cells; only for curved boundaries and votes
    const [x0, y0, x1, y1] = box(), nx = 96, ny = 72, { options } = figure;
    const at = (i, j) => [x0 + ((x1 - x0) * i) / nx, y0 + ((y1 - y0) * j) / ny];
    const values = Array.from({ length: ny + 1 }, (_, j) => Array.from({ length: nx + 1 }, (_, i) => score(features(options.map, at(i, j)))));
    let path = "", plus = "", minus = "";
    for (let j = 0; j < ny; j++)
      for (let i = 0; i < nx; i++) {
        const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]], own = corners.map(([a, b]) => values[b][a]), cuts = [];
        const [left, top] = at(i, j + 1), cell = `M${100 * left},${-100 * top}h${(100 * (x1 - x0)) / nx}v${(100 * (y1 - y0)) / ny}h${(-100 * (x1 - x0)) / nx}z`;
        if (own[0] + own[1] + own[2] + own[3] > 0) plus += cell;
        else minus += cell;
        for (let k = 0; k < 4; k++) {
          const a = own[k], b = own[(k + 1) % 4];
          if (a > 0 === b > 0) continue;
          const [p, q] = [at(...corners[k]), at(...corners[(k + 1) % 4])], share = a / (a - b);
          cuts.push(`${100 * (p[0] + share * (q[0] - p[0]))},${-100 * (p[1] + share * (q[1] - p[1]))}`);
        }
        for (let k = 0; k + 1 < cuts.length; k += 2) path += `M${cuts[k]}L${cuts[k + 1]}`;
      }
    plane.append(svg("path", { d: plus, fill: COLOURS.plus, opacity: TINT }), svg("path", { d: minus, fill: COLOURS.minus, opacity: TINT }), svg("path", { d: path, stroke: "currentColor", fill: "none", "stroke-width": unit / 400, "data-part": "boundary" }));
  };
  const half = (w, colour) => { // the half-plane of positive scores as a polygon
    const [x0, y0, x1, y1] = box(), corners = [[x0, y0], [x1, y0], [x1, y1], [x0, y1]], inside = [];
    const value = ([x, y]) => w[0] + w[1] * x + w[2] * y;
    corners.forEach((p, k) => {
      const q = corners[(k + 1) % 4], a = value(p), b = value(q);
      if (a > 0) inside.push(p);
      if (a > 0 !== b > 0) inside.push([p[0] + (a / (a - b)) * (q[0] - p[0]), p[1] + (a / (a - b)) * (q[1] - p[1])]);
    });
    plane.append(svg("polygon", { points: inside.map(([x, y]) => `${100 * x},${-100 * y}`).join(" "), fill: colour, opacity: TINT }));
  };

  function draw() {
    const { run, options, rows } = figure, { points, labels, hypothesis, map } = options, [x0, y0, x1, y1] = box();
    const unit = 100 * (x1 - x0), pixel = unit / (plane.clientWidth || 600), mark = Math.max(unit / 115, 5 * pixel) * (points.length > 200 ? 0.7 : 1), straight = !map && hypothesis !== "voted";
    plane.replaceChildren();
    plane.setAttribute("viewBox", `${100 * x0} ${-100 * y1} ${unit} ${100 * (y1 - y0)}`);
    plane.setAttribute("aria-label", `${points.length} examples; ${run.mistakes} mistakes after ${run.clock} examples. Arrow keys move a cursor, Enter uses the tool.`);
    const w = run.weights(hypothesis), moving = figure.fitted || run.clock || !run.zero;
    if (moving && straight && w.some(Boolean)) {
      half(w, COLOURS.plus);
      half(w.map((value) => -value), COLOURS.minus);
      line(w, { "stroke-width": unit / 400, "data-part": "boundary" });
      const norm = Math.hypot(w[1], w[2]);
      if (norm) {
        const foot = [(-w[0] * w[1]) / norm ** 2, (-w[0] * w[2]) / norm ** 2].map((v, k) => Math.min(Math.max(v, box()[k]), box()[k + 2]));
        arrow(foot, foot.map((v, k) => v + ((0.11 * (x1 - x0)) / norm) * w[1 + k]), COLOURS.w, "w", "normal");
      }
    } else if (moving && !straight) region(unit);
    for (const own of options.lines ?? []) line(own.w, { "stroke-width": unit / 400, "stroke-dasharray": `${unit / 300} ${unit / 120}`, "stroke-linecap": "round", "data-part": "line" });
    figure.best ??= separability(rows, labels, options.intercept);
    const best = figure.best, both = new Set(labels).size === 2;
    if (figure.proof && best && both) prove(best, unit, mark);
    const looked = run.clock ? run.rowAt(run.clock - 1) : -1, last = run.ledger.at(-1);
    points.forEach(([x, y], i) => {
      const cx = 100 * x, cy = -100 * y, wrong = moving && labels[i] * score(rows[i]) <= 0;
      if (i === looked) plane.append(svg("circle", { cx, cy, r: 2.3 * mark, fill: "currentColor", opacity: 0.25, "data-part": "halo" }));
      plane.append(labels[i] > 0 ? svg("circle", { cx, cy, r: mark, fill: COLOURS.plus, "data-part": "plus" })
        : svg("rect", { x: cx - mark, y: cy - mark, width: 2 * mark, height: 2 * mark, fill: COLOURS.minus, "data-part": "minus" }));
      if (wrong) plane.append(svg("circle", { cx, cy, r: 1.75 * mark, fill: "none", stroke: COLOURS.wrong, "stroke-width": mark / 3.2, "data-part": "wrong" }));
    });
    if (last && last.clock === run.clock - 1 && !map) {
      const x = points[last.row], norm = Math.hypot(...x) || 1, sign = Math.sign(last.tau);
      arrow(x, x.map((v) => v + (sign * v * 0.11 * (x1 - x0)) / norm), COLOURS.update, `${sign > 0 ? "+" : "−"}x`, "update");
    }
    if (figure.cursor) plane.append(svg("circle", { cx: 100 * figure.cursor[0], cy: -100 * figure.cursor[1], r: 1.6 * mark, fill: "none", stroke: "currentColor", "stroke-width": mark / 3, "data-part": "cursor" }));
    words(best, both, last, looked);
    explain(best, both);
    numbers(best, both);
    buttons.back.disabled = buttons.restart.disabled = !run.clock;
    for (const name of ["step", "update", "pass", "run"]) buttons[name].disabled = run.finished;
    buttons.run.textContent = figure.timer ? "Pause" : "Run";
    buttons.ask.setAttribute("aria-pressed", String(Boolean(figure.proof)));
    steps.style.display = chart.style.display = options.learner ? "none" : "";
    tools.hidden = Boolean(options.fixed);
    tools.style.display = options.fixed ? "none" : "";
    for (const [name, made] of Object.entries(toolButtons)) made.setAttribute("aria-pressed", String(name === figure.tool));
    figure.onChange?.(figure);
  }
  function prove(best, unit, mark) {
    const { points, labels, map } = figure.options;
    if (best.separable) {
      if (!map) {
        line(best.u, { stroke: COLOURS.w, "stroke-width": unit / 380, "data-part": "proof" });
        const least = Math.min(...figure.rows.map((row, i) => labels[i] * (best.u[0] + dot(best.u.slice(1), row))));
        for (const side of [least, -least]) line([best.u[0] + side, ...best.u.slice(1)], { stroke: COLOURS.w, "stroke-width": unit / 500, "stroke-dasharray": `${unit / 110} ${unit / 130}`, "data-part": "band" });
      }
      return;
    }
    for (const label of [1, -1]) {
      const own = best.rows.filter((i) => labels[i] === label);
      own.forEach((i, k) => own.slice(k + 1).forEach((j) => { if (!map) plane.append(svg("line", { x1: 100 * points[i][0], y1: -100 * points[i][1], x2: 100 * points[j][0], y2: -100 * points[j][1], stroke: COLOURS.wrong, "stroke-width": unit / 330, "data-part": "hull" })); }));
    }
    best.rows.forEach((i, k) => {
      plane.append(svg("circle", { cx: 100 * points[i][0], cy: -100 * points[i][1], r: 2 * mark, fill: "none", stroke: COLOURS.wrong, "stroke-width": mark / 2, "data-part": "culprit" }));
      const text = svg("text", { x: 100 * points[i][0] + 2.6 * mark, y: -100 * points[i][1] - 1.6 * mark, "font-size": letters(), "font-weight": 700, fill: COLOURS.wrong });
      text.textContent = written(2 * best.weights[k]);
      plane.append(text);
    });
  }
  function words(best, both, last, looked) {
    const { run, options } = figure;
    if (!run.n) status.textContent = "Put some points on the plane.";
    else if (options.learner) {
      const wrong = figure.rows.filter((row, i) => options.labels[i] * score(row) <= 0).length;
      status.textContent = figure.fitted ? `Fitted in one go: ${wrong} of ${run.n} misclassified.` : "There are not examples of both classes.";
    }
    else if (!run.clock) status.textContent = "Nothing seen yet. Press Step: the learner looks at one example.";
    else if (run.converged) status.textContent = `A clean pass: no update in pass ${run.epoch}. ${counted(run.mistakes, "mistake")} in all.`;
    else if (last && last.clock === run.clock - 1) {
      const by = run.inputs[looked].slice(1).map((value) => Math.abs(last.tau) * value);
      status.textContent = `Row ${looked} (y = ${last.y > 0 ? "+1" : "−1"}): ${last.score <= 0 ? "a mistake" : "right, but the rule moves"}, w ${last.tau > 0 ? "+=" : "−="} ${vector(by)}.`;
    } else status.textContent = `Row ${looked}: right, nothing moves. ${counted(run.mistakes, "mistake")} in ${counted(run.clock, "example")}.`;
    answer.textContent = !figure.proof ? "" : !both ? "There are not examples of both classes." : best.separable
      ? `Yes: margin ${written(best.gamma)} in the space of (1, x), R = ${written(best.radius)}.`
      : options.intercept === false ? "No: a weighted sum of rows, each with its sign, is zero." : "No: a weighted average of one class equals one of the other. This does not say why: classes may overlap or lie as in XOR, or a label may be wrong.";
  }
  function explain(best, both) { // the marks that are drawn, and no others
    const { options } = figure, [minus, plus] = options.classes ?? [], drawn = (part) => plane.querySelector(`[data-part=${part}]`) !== null;
    const line = (colour, dashes = "") => svg("path", { d: "M0,9h26", stroke: colour, "stroke-width": 2.2, "stroke-dasharray": dashes });
    const ring = (colour, width) => svg("circle", { cx: 13, cy: 9, r: 6.5, fill: "none", stroke: colour, "stroke-width": width });
    const item = (mark, text) => make("span", legend).append(svg("svg", { viewBox: "0 0 26 18", "aria-hidden": true }, mark), text);
    legend.replaceChildren();
    item(svg("circle", { cx: 13, cy: 9, r: 6, fill: COLOURS.plus }), plus ? `${plus} (+1)` : "y = +1");
    item(svg("rect", { x: 7, y: 3, width: 12, height: 12, fill: COLOURS.minus }), minus ? `${minus} (−1)` : "y = −1");
    if (drawn("wrong")) item(ring(COLOURS.wrong, 2.2), "misclassified");
    if (drawn("halo")) item(svg("circle", { cx: 13, cy: 9, r: 8, fill: "currentColor", opacity: 0.25 }), "being looked at");
    if (drawn("boundary")) item(line("currentColor"), "boundary");
    for (const { label } of options.lines ?? []) if (label) item(line("currentColor", "2 4"), label);
    if (drawn("proof")) item(line(COLOURS.w), "the proof: a separator");
    if (drawn("band")) item(line(COLOURS.w, "6 4"), "its margin");
    if (drawn("culprit")) item(ring(COLOURS.wrong, 3.2), "with this weight in the proof");
  }
  function write(to, x, y, text, anchor = "start") {
    const made = svg("text", { x, y, "font-size": 14, fill: "currentColor", "text-anchor": anchor });
    made.textContent = text;
    to.append(made);
  }
  function compare(name, own, colour, promise, limit, values) { // a line and the promise about it, from update to update
    const high = Math.max(...values.map((each) => Math.max(each[own], each[limit]))) || 1;
    const path = (part) => "M34,106" + values.map((each, i) => `L${34 + (280 * (i + 1)) / values.length},${106 - (82 * each[part]) / high}`).join("");
    const made = svg("svg", { viewBox: "0 0 320 126", role: "img", "aria-label": `${name}, ${promise}` },
      svg("path", { d: "M34,22V106H314", fill: "none", stroke: "currentColor", opacity: 0.4 }),
      svg("path", { d: path(limit), fill: "none", stroke: "currentColor", "stroke-width": 2.4, "stroke-dasharray": "1.5 5", "stroke-linecap": "round", "data-part": limit }),
      svg("path", { d: path(own), fill: "none", stroke: colour, "stroke-width": 2.4, "data-part": own }));
    write(made, 2, 15, `${name} = ${written(values.at(-1)[own])}`);
    write(made, 316, 15, promise, "end");
    write(made, 314, 122, counted(values.length, "update"), "end");
    lemmas.append(made);
  }
  function numbers(best, both) {
    const { run, options } = figure;
    chart.replaceChildren();
    const promised = both && best?.separable && run.zero ? bound(run.rule, run.parameters, best) : null;
    const top = Math.max(1, run.rule === "margin" ? run.ledger.length : run.mistakes), high = promised === null ? 1.1 * top : Math.max(1.1 * top, promised);
    const logarithmic = high > 8 * top, level = (value) => 128 - 100 * (logarithmic ? Math.log1p(value) / Math.log1p(high) : value / high);
    const put = (x, y, text, anchor) => write(chart, x, y, text, anchor);
    const across = (clock) => 34 + (280 * clock) / Math.max(1, run.clock);
    let count = 0, path = `M34,${level(0)}`;
    for (const line of run.ledger) if (run.rule === "margin" || line.score <= 0) { path += `H${across(line.clock + 1)}`; count += 1; path += `V${level(count)}`; }
    chart.append(svg("path", { d: `${path}H${across(run.clock)}`, fill: "none", stroke: COLOURS.wrong, "stroke-width": 2.4, "data-part": "mistakes" }), svg("path", { d: "M34,22V128H314", fill: "none", stroke: "currentColor", opacity: 0.4 }));
    put(30, level(0) + 5, "0", "end");
    if (level(0) - level(count) > 14) put(30, level(count) + 5, count, "end");
    put(2, 15, `${run.rule === "margin" ? "updates" : "mistakes"}: ${count}`);
    put(314, 146, `${counted(run.clock, "example")} seen`, "end");
    if (promised !== null) {
      chart.append(svg("line", { x1: 34, x2: 314, y1: level(promised), y2: level(promised), stroke: "currentColor", "stroke-width": 2.4, "stroke-dasharray": "1.5 5", "stroke-linecap": "round", "data-part": "bound" }));
      put(316, 15, `at most ${run.rule === "rosenblatt" ? "R²/γ² = " : ""}${written(promised, 4)}`, "end");
    }
    lemmas.replaceChildren();
    if (run.rule === "rosenblatt" && promised !== null && run.ledger.length) {
      const values = run.lemmas(best);
      compare("v·u", "dot", COLOURS.plus, "never below kγ", "floor", values);
      compare("‖v‖²", "sqnorm", COLOURS.w, "never above kR²", "ceiling", values);
    }
    const w = run.weights(options.hypothesis), { fitted } = figure;
    if (options.learner) weights.textContent = fitted ? `naive Bayes of [x₁ > 0] and [x₂ > 0]: b = ${written(fitted[0])}, w = ${vector(fitted.slice(1))}` : "";
    else weights.textContent = w ? `${options.hypothesis ?? "last"}: b = ${written(w[0])}, w = ${vector(w.slice(1))}` : `${counted(run.voters.length, "hypothesis").replace("hypothesiss", "hypotheses")} vote`;
    const body = run.ledger.slice(-6).reverse().map((line) => `<tr><td>${line.clock + 1}</td><td>${line.row}</td><td>${line.y > 0 ? "+1" : "−1"}</td><td>${written(line.score)}</td><td>${vector(line.w.slice(1))}</td><td>${written(line.w[0])}</td></tr>`).join("");
    ledger.innerHTML = body ? `<table><thead><tr><th>clock</th><th>row</th><th>y</th><th>y·score</th><th>w after</th><th>b</th></tr></thead><tbody>${body}</tbody></table>` : "";
  }

  figure.show = (next) => {
    stop();
    const points = next.points ?? [], reach = (k, pick, sign) => (points.length ? pick(...points.map((p) => p[k])) + sign * 0.6 : sign * 3);
    const own = next.box ?? [reach(0, Math.min, -1), reach(1, Math.min, -1), reach(0, Math.max, 1), reach(1, Math.max, 1)];
    figure.options = { hypothesis: "last", intercept: true, ...next, points, box: own, ordered: points.length };
    figure.past = [];
    figure.proof = Boolean(next.proof);
    figure.cursor = null;
    anew();
    figure.run.to(next.clock ?? 0);
    draw();
  };
  figure.stop = stop;
  figure.show(options);
  new ResizeObserver(() => draw()).observe(plane);
  return figure;
}

// The figures of a static page: an element with `data-live` holds the options of one as JSON; a link with `data-live`
// shows its own options in the first figure of the page.
export function figures(page = document) {
  const made = [...page.querySelectorAll("div[data-live]")].map((element) => figure(element, JSON.parse(element.dataset.live)));
  for (const link of page.querySelectorAll("a[data-live]"))
    link.addEventListener("click", () => made[0]?.show(JSON.parse(link.dataset.live)));
  return made;
}

// What a notebook calls, through anywidget.
export default {
  render({ model, el }) {
    const made = figure(el.appendChild(document.createElement("div")), model.get("options"));
    const report = () => {
      model.set("clock", made.run.clock);
      model.set("mistakes", made.run.mistakes);
      model.set("weights", made.run.weights(made.options.hypothesis) ?? []);
      model.save_changes();
    };
    made.onChange = report;
    report();
    model.on("change:options", () => made.show(model.get("options")));
    return made.stop; // called where the cell is run again or cleared
  },
};
