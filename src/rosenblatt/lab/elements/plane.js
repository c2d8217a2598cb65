// The plane: an SVG that draws a scene of the server and lets points be edited by pointer, touch and keys.
// Coordinates of the scene are those of the data; inside the SVG they are hundredths, with y downwards.
const THROTTLE = 50; // ms between two tellings of a dragged point
const REACH = 16; // px within which a pointer finds a point

export default {
  template: `
  <div class="lab-plane" :class="{small}">
    <svg ref="svg" xmlns="http://www.w3.org/2000/svg" :viewBox="viewBox" :tabindex="tool ? 0 : -1" role="img"
         :aria-label="label" preserveAspectRatio="xMidYMid meet" :style="{cursor}" style="touch-action:none"
         @pointerdown="down" @pointermove="move" @pointerup="up" @pointercancel="up" @keydown="key"
         @blur="cursorShown = false">
      <defs>
        <marker v-for="kind in ['normal', 'update', 'secret', 'guess']" :key="kind" :id="ids + kind" viewBox="0 0 10 10" refX="8.5"
                refY="5" markerWidth="5" markerHeight="5" orient="auto-start-reverse">
          <path d="M0,0.6 L10,5 L0,9.4 Z" :fill="INK[kind]" />
        </marker>
      </defs>
      <rect :x="box[0]*100" :y="-box[3]*100" :width="(box[2]-box[0])*100" :height="(box[3]-box[1])*100" fill="var(--paper)" />
      <g v-if="scene.tinted">
        <rect :x="box[0]*100" :y="-box[3]*100" :width="(box[2]-box[0])*100" :height="(box[3]-box[1])*100" fill="#E69F00" opacity="0.10" />
        <path :d="scene.region" fill="var(--paper)" />
        <path :d="scene.region" fill="#0072B2" opacity="0.10" />
      </g>
      <g v-if="!scene.no_ticks" stroke="var(--grid)" :stroke-width="k">
        <line v-for="t in ticksX" :key="'x'+t" :x1="t*100" :x2="t*100" :y1="-box[3]*100" :y2="-box[1]*100" />
        <line v-for="t in ticksY" :key="'y'+t" :y1="-t*100" :y2="-t*100" :x1="box[0]*100" :x2="box[2]*100" />
      </g>
      <g v-if="!small && !scene.no_ticks" fill="var(--faint)" :font-size="14*k" font-family="system-ui, sans-serif">
        <text v-for="t in ticksX" :key="'tx'+t" :x="t*100" :y="-box[1]*100 - 6*k" text-anchor="middle">{{ said(t) }}</text>
        <text v-for="t in ticksY" :key="'ty'+t" :x="box[0]*100 + 6*k" :y="-t*100 + 5*k">{{ said(t) }}</text>
        <text :x="box[2]*100 - 8*k" :y="-box[1]*100 - 8*k" text-anchor="end" fill="var(--ink)" :font-size="16*k" font-style="italic">{{ scene.x_name }}</text>
        <text :x="box[0]*100 + 8*k" :y="-box[3]*100 + 18*k" fill="var(--ink)" :font-size="16*k" font-style="italic">{{ scene.y_name }}</text>
      </g>
      <circle v-for="(c, i) in scene.circles" :key="'c'+i" :cx="c[0]*100" :cy="-c[1]*100" :r="c[2]*100" fill="none"
              stroke="var(--ink)" :stroke-width="1.5*k" :stroke-dasharray="(1.5*k)+' '+(4*k)" stroke-linecap="round" />
      <path :d="scene.edge" fill="none" stroke="var(--ink)" :stroke-width="2.2*k" stroke-linecap="round" data-part="boundary" />
      <path v-for="(q, i) in scene.paths" :key="'q'+i" :d="q[0]" fill="none" v-bind="stroke(q[1])" :data-part="q[1]" />
      <line v-for="(l, i) in scene.lines" :key="'l'+i" :x1="l[0]*100" :y1="-l[1]*100" :x2="l[2]*100" :y2="-l[3]*100"
            v-bind="stroke(l[4])" :data-part="l[4]" />
      <circle v-if="halo" :cx="halo[0]*100" :cy="-halo[1]*100" :r="15*k" fill="var(--ink)" opacity="0.16" data-part="halo" />
      <circle v-if="halo" :cx="halo[0]*100" :cy="-halo[1]*100" :r="15*k" fill="none" stroke="var(--ink)" :stroke-width="2*k" />
      <g fill="#0072B2" stroke="var(--paper)" :stroke-width="k" :style="small ? {} : {willChange: 'transform'}">
        <circle v-for="(p, i) in plus" :key="'p'+i" v-memo="[p[0], p[1], p[2], k, mark]" :cx="p[0]*100" :cy="-p[1]*100" :r="(p[2] ? mark - 1 : mark)*k" v-bind="look(p[2], '#0072B2')" data-part="plus" />
      </g>
      <g fill="#E69F00" stroke="var(--paper)" :stroke-width="k" :style="small ? {} : {willChange: 'transform'}">
        <rect v-for="(p, i) in minus" :key="'n'+i" v-memo="[p[0], p[1], p[2], k, mark]" :x="p[0]*100-(p[2] ? mark - 1 : mark)*k" :y="-p[1]*100-(p[2] ? mark - 1 : mark)*k" :width="2*(p[2] ? mark - 1 : mark)*k"
              :height="2*(p[2] ? mark - 1 : mark)*k" v-bind="look(p[2], '#E69F00')" data-part="minus" />
      </g>
      <g v-for="kind in ['wrong', 'margin', 'culprit']" :key="kind" fill="none" :stroke="kind === 'margin' ? 'var(--ink)' : '#D55E00'"
         :stroke-width="(thin ? (kind === 'culprit' ? 2.6 : 1.4) : kind === 'culprit' ? 3.2 : 2.2)*k">
        <template v-for="(r, i) in scene.rings" :key="'r'+i">
          <circle v-if="r[1] === kind && points[r[0]]" :cx="points[r[0]][0]*100" :cy="-points[r[0]][1]*100" :r="ring(kind)*k" :data-part="kind" />
        </template>
      </g>
      <g font-weight="700" fill="var(--wrong-text)" stroke="var(--paper)" :stroke-width="4*k" paint-order="stroke" :font-size="16*k"
         font-family="system-ui, sans-serif">
        <template v-for="(r, i) in scene.rings" :key="'t'+i">
          <text v-if="r[2] && points[r[0]]" :x="points[r[0]][0]*100 + 16*k" :y="-points[r[0]][1]*100 - 10*k">{{ r[2] }}</text>
        </template>
      </g>
      <g v-for="(a, i) in scene.arrows" :key="'a'+i">
        <line :x1="a[0]*100" :y1="-a[1]*100" :x2="a[2]*100" :y2="-a[3]*100" :stroke="INK[a[4]]" :stroke-width="(small ? 2 : 3.2)*k"
              :marker-end="'url(#' + ids + a[4] + ')'" :data-part="a[4]" />
        <text v-if="a[5]" :x="a[2]*100 + label_at(a)[0]*16*k" :y="-a[3]*100 - label_at(a)[1]*16*k + 6*k" text-anchor="middle" :font-size="16*k" font-weight="700"
              :fill="INK[a[4]]" stroke="var(--paper)" :stroke-width="4*k" paint-order="stroke" font-family="system-ui, sans-serif">{{ a[5] }}</text>
      </g>
      <g v-for="(m, i) in scene.notes" :key="'m'+i">
        <path v-if="m[2] === 'meet'" :d="cross(m)" stroke="#D55E00" :stroke-width="3.4*k" fill="none" data-part="meet" />
        <text v-if="m[3]" :x="m[0]*100" :y="-m[1]*100" :font-size="15*k" text-anchor="middle" fill="var(--ink)" stroke="var(--paper)"
              :stroke-width="4*k" paint-order="stroke" font-family="system-ui, sans-serif">{{ m[3] }}</text>
      </g>
      <g v-if="cursorShown" stroke="var(--ink)" :stroke-width="2*k" fill="none" data-part="cursor">
        <circle :cx="at[0]*100" :cy="-at[1]*100" :r="11*k" />
        <path :d="'M'+(at[0]*100-18*k)+','+(-at[1]*100)+'h'+(36*k)+'M'+(at[0]*100)+','+(-at[1]*100-18*k)+'v'+(36*k)" />
      </g>
    </svg>
  </div>`,
  props: { written: String, tool: String, label: String, small: Boolean },
  emits: ["edit"],
  data() {
    return { width: 640, held: null, local: null, toldAt: 0, at: [0, 0], cursorShown: false, ids: "m" + Math.random().toString(36).slice(2) + "-" };
  },
  created() {
    this.INK = { normal: "#009E73", update: "#CC79A7", secret: "#CC79A7", guess: "#009E73" };
  },
  mounted() {
    this.watcher = new ResizeObserver(() => (this.width = this.$refs.svg.clientWidth || 640));
    this.watcher.observe(this.$refs.svg);
  },
  unmounted() {
    this.watcher.disconnect();
  },
  watch: {
    scene() {
      if (this.held === null) this.local = null; // the server knows where it is
    },
  },
  computed: {
    scene() { return Object.freeze(JSON.parse(this.written)); },
    box() { return this.scene.box; },
    viewBox() { return `${this.box[0] * 100} ${-this.box[3] * 100} ${(this.box[2] - this.box[0]) * 100} ${(this.box[3] - this.box[1]) * 100}`; },
    k() { return ((this.box[2] - this.box[0]) * 100) / this.width; }, // units for one pixel
    mark() { return this.small ? 3.5 : this.scene.points.length > 200 ? 4.5 : 6.5; },
    thin() { return this.small || this.scene.points.length > 200; }, // many points: rings must not hide their neighbours
    hollow() { return new Set(this.scene.held_out || []); },
    points() {
      if (!this.local) return this.scene.points;
      const moved = this.scene.points.slice();
      if (moved[this.local[0]]) moved[this.local[0]] = [this.local[1], this.local[2], moved[this.local[0]][2]];
      return moved;
    },
    // [x, y, whether it is held out for the test]
    plus() { return this.points.flatMap((p, i) => (p[2] > 0 ? [[p[0], p[1], this.hollow.has(i)]] : [])); },
    minus() { return this.points.flatMap((p, i) => (p[2] < 0 ? [[p[0], p[1], this.hollow.has(i)]] : [])); },
    halo() { return this.scene.halo === null ? null : this.points[this.scene.halo]; },
    ticksX() { return this.ticks(this.box[0], this.box[2]); },
    ticksY() { return this.ticks(this.box[1], this.box[3]); },
    cursor() { return { move: "grab", plus: "crosshair", minus: "crosshair", flip: "pointer", erase: "pointer", aim: "crosshair" }[this.tool] || "default"; },
  },
  methods: {
    ticks(low, high) {
      const step = high - low > 4 ? 1 : 0.5, found = [];
      for (let t = Math.ceil((low + 1e-9) / step) * step; t < high - 1e-9; t += step) if (t > low + 1e-9) found.push(t);
      return found;
    },
    said(t) { return String(Math.round(t * 10) / 10).replace("-", "−"); },
    ring(kind) {
      if (this.thin && !this.small) return kind === "culprit" ? 9.5 : 7;
      return (this.small ? 0.7 : 1) * (kind === "culprit" ? 13 : kind === "margin" ? 10 : 11.5);
    },
    look(held_out, colour) { return held_out ? { fill: "var(--paper)", stroke: colour, "stroke-width": 2.4 * this.k, "data-held-out": true } : {}; },
    cross(m) {
      const r = 8 * this.k, x = m[0] * 100, y = -m[1] * 100;
      return `M${x - r},${y - r}L${x + r},${y + r}M${x - r},${y + r}L${x + r},${y - r}`;
    },
    label_at(a) {
      const x = a[2] - a[0], y = a[3] - a[1], n = Math.hypot(x, y) || 1;
      return [x / n, y / n];
    },
    stroke(kind) {
      const k = this.k, ink = "var(--ink)";
      return {
        before: { stroke: "var(--faint)", "stroke-width": 1.5 * k, "stroke-dasharray": `${2 * k} ${4 * k}` },
        margin: { stroke: ink, "stroke-width": 1.5 * k, "stroke-dasharray": `${6 * k} ${5 * k}` },
        band: { stroke: "#009E73", "stroke-width": 2 * k, "stroke-dasharray": `${6 * k} ${5 * k}` },
        proof: { stroke: "#009E73", "stroke-width": 2.4 * k },
        hull: { stroke: "#D55E00", "stroke-width": 2.4 * k },
        unit: { stroke: "var(--faint)", "stroke-width": 1.6 * k },
        secret: { stroke: "#CC79A7", "stroke-width": 2 * k },
        legal: { stroke: "#CC79A7", "stroke-width": 1.5 * k, "stroke-dasharray": `${6 * k} ${5 * k}` },
      }[kind] || { stroke: ink, "stroke-width": 2 * k };
    },
    where(event) {
      const svg = this.$refs.svg, p = svg.createSVGPoint();
      p.x = event.clientX; p.y = event.clientY;
      const q = p.matrixTransform(svg.getScreenCTM().inverse());
      const inside = (v, low, high) => Math.min(Math.max(v, low), high);
      return [inside(q.x / 100, this.box[0], this.box[2]), inside(-q.y / 100, this.box[1], this.box[3])];
    },
    nearest(x, y) {
      let found = -1, least = (REACH * this.k) / 100;
      this.points.forEach((p, i) => {
        const d = Math.hypot(p[0] - x, p[1] - y);
        if (d <= least) { least = d; found = i; }
      });
      return found;
    },
    tell(what, more) { this.$emit("edit", { what, ...more }); },
    apply(x, y, i) {
      if (this.tool === "plus" || this.tool === "minus") this.tell("add", { x, y, label: this.tool === "plus" ? 1 : -1 });
      else if (this.tool === "aim") this.tell("aim", { x, y });
      else if (i >= 0 && (this.tool === "flip" || this.tool === "erase")) this.tell(this.tool, { i });
    },
    down(event) {
      if (!this.tool || event.button) return;
      const [x, y] = this.where(event), i = this.nearest(x, y);
      const drags = !this.scene.fixed && (this.tool === "move" || this.tool === "plus" || this.tool === "minus");
      if (this.tool === "aim") this.held = -1;
      else if (i >= 0 && drags) this.held = i;
      if (this.held !== null) {
        this.$refs.svg.setPointerCapture(event.pointerId);
        if (this.held === -1) this.tell("aim", { x, y, done: false });
      } else this.apply(x, y, i);
      event.preventDefault();
      this.$refs.svg.focus({ preventScroll: true });
      this.cursorShown = false;
    },
    move(event) {
      if (this.held === null) return;
      const [x, y] = this.where(event);
      if (this.held >= 0) this.local = [this.held, x, y];
      const now = performance.now();
      if (now - this.toldAt > THROTTLE) {
        this.toldAt = now;
        this.tell(this.held < 0 ? "aim" : "move", { i: this.held, x, y, done: false });
      }
    },
    up(event) {
      if (this.held === null) return;
      const [x, y] = this.where(event), i = this.held;
      this.held = null;
      if (i < 0) this.tell("aim", { x, y, done: true });
      else if (this.local) this.tell("move", { i, x, y, done: true });
    },
    key(event) {
      if (!this.tool) return;
      const step = event.shiftKey ? 0.5 : 0.1, by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[event.key];
      const near = this.nearest(...this.at);
      if (by) {
        const inside = (v, low, high) => Math.round(Math.min(Math.max(v, low), high) * 100) / 100;
        const to = [inside(this.at[0] + by[0] * step, this.box[0], this.box[2]), inside(this.at[1] + by[1] * step, this.box[1], this.box[3])];
        if (event.altKey && near >= 0 && this.tool !== "aim" && !this.scene.fixed) this.tell("move", { i: near, x: to[0], y: to[1], done: true });
        this.at = to;
        this.cursorShown = true;
        if (this.tool === "aim") this.tell("aim", { x: to[0], y: to[1], done: true });
      } else if (event.key === "Enter" || event.key === " ") {
        this.cursorShown = true;
        this.apply(...this.at, near);
      } else if (event.key === "Delete" && near >= 0) this.tell("erase", { i: near });
      else if (event.key === "Tab" || event.key.length > 1) return;
      else return;
      event.preventDefault();
      event.stopPropagation();
    },
    picture() {
      const copy = this.$refs.svg.cloneNode(true), css = getComputedStyle(this.$el);
      copy.setAttribute("width", 1200);
      copy.setAttribute("height", Math.round((1200 * (this.box[3] - this.box[1])) / (this.box[2] - this.box[0])));
      copy.removeAttribute("style");
      const named = (whole, name) => css.getPropertyValue(name).trim() || "#000";
      return new XMLSerializer().serializeToString(copy).replace(/var\((--[\w-]+)\)/g, named).replace(/<!--.*?-->/g, "");
    },
    save(kind, name) {
      const text = this.picture(), url = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
      const hand = (href) => {
        const a = document.createElement("a");
        a.href = href; a.download = `${name}.${kind}`; a.click();
        setTimeout(() => URL.revokeObjectURL(url), 1000);
      };
      if (kind === "svg") return hand(url);
      const image = new Image();
      image.onload = () => {
        const canvas = document.createElement("canvas");
        canvas.width = image.width; canvas.height = image.height;
        canvas.getContext("2d").drawImage(image, 0, 0);
        canvas.toBlob((blob) => hand(URL.createObjectURL(blob)), "image/png");
      };
      image.src = url;
    },
  },
};
