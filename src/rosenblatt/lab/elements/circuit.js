// A network of units, from left to right. Nodes can be chosen by pointer and by keys where the page listens.
const LEAST = 14; // px of the smallest text

export default {
  template: `
  <div class="lab-circuit">
    <svg ref="svg" :viewBox="'0 0 ' + drawing.width + ' ' + drawing.height" role="group" :aria-label="label"
         :style="{maxWidth: 1.15 * drawing.width + 'px', minWidth: 0.5 * drawing.width + 'px'}" font-family="system-ui, sans-serif">
      <g v-for="(w, i) in drawing.wires" :key="'w'+i">
        <path :d="curve(w)" fill="none" :stroke="w.less ? '#D55E00' : 'var(--faint)'" stroke-width="2.2" :stroke-dasharray="w.less ? '7 4' : ''" />
        <title v-if="w.weight">{{ w.weight }}</title>
      </g>
      <g v-for="l in labels" :key="'l'+l.i">
        <rect :x="l.x - l.w / 2" :y="l.y - 0.85 * l.size" :width="l.w" :height="1.1 * l.size" rx="4" fill="var(--raised)" />
        <text class="lab-weight" :x="l.x" :y="l.y" text-anchor="middle" :font-size="l.size" :fill="l.less ? 'var(--wrong-text)' : 'var(--ink)'">{{ l.text }}</text>
      </g>
      <g v-for="(n, i) in drawing.nodes" :key="'n'+i" :tabindex="active ? 0 : -1" :role="active ? 'button' : null"
         :aria-label="(n.input ? 'input ' : 'unit ') + n.name" :aria-pressed="active ? String(i === drawing.chosen) : null"
         :style="{cursor: active ? 'pointer' : 'default'}" @click="active && $emit('node', i)"
         @keydown.enter.prevent="active && $emit('node', i)" @keydown.space.prevent="active && $emit('node', i)">
        <rect v-if="n.input" :x="n.x - 27" :y="n.y - 19" width="54" height="38" rx="8" fill="var(--panel)"
              :stroke="i === drawing.chosen ? '#0072B2' : 'var(--faint)'" :stroke-width="i === drawing.chosen ? 4 : 1.5" />
        <ellipse v-else :cx="n.x" :cy="n.y" :rx="Math.max(30, 0.36 * size_of(n) * n.name.length + 6)" ry="30" fill="var(--raised)" :stroke="i === drawing.chosen ? '#0072B2' : 'var(--ink)'"
                :stroke-width="i === drawing.chosen ? 4 : 2" />
        <text :x="n.x" :y="n.y + 5.5" text-anchor="middle" :font-size="size_of(n)" font-weight="600" fill="var(--ink)">{{ n.name }}</text>
      </g>
    </svg>
  </div>`,
  props: { drawing: Object, label: String, active: Boolean },
  emits: ["node"],
  data() { return { scale: 1 }; }, // pixels of one unit of the drawing
  mounted() {
    this.watcher = new ResizeObserver(() => (this.scale = this.$refs.svg.clientWidth / this.drawing.width || 1));
    this.watcher.observe(this.$refs.svg);
    this.show_output();
  },
  unmounted() { this.watcher.disconnect(); },
  updated() { this.show_output(); },
  computed: {
    // A weight is written where its wire is farthest from others, and overlaps no other weight; else it is a tooltip.
    labels() {
      const wires = this.drawing.wires.map(wire => Array.from({ length: 25 }, (_, k) => this.along(wire, k / 24)));
      const room = (i, x, y) => Math.min(30, ...wires.flatMap((dots, j) => j === i ? [] : dots.map(d => Math.hypot(d[0] - x, d[1] - y))));
      const size = Math.max(15, LEAST / this.scale);
      const placed = [], apart = (a, b) => Math.abs(a.x - b.x) >= (a.w + b.w) / 2 + 2 || Math.abs(a.y - b.y) >= 1.27 * size;
      this.drawing.wires.forEach((wire, i) => {
        if (!wire.weight || this.drawing.wires.length > 24) return;
        const tried = [0.5, 0.32, 0.68, 0.22, 0.78, 0.41, 0.59, 0.27, 0.73].map(t => {
          const [x, y] = this.along(wire, t);
          return { i, x, y: y + size / 3, w: 0.67 * size * wire.weight.length, size, text: wire.weight, less: wire.less, room: room(i, x, y) };
        });
        const clear = l => this.drawing.nodes.every(n => Math.abs(n.x - l.x) > 32 + l.w / 2 || Math.abs(n.y - l.y) > 32 + 0.67 * size);
        const free = tried.filter(l => clear(l) && placed.every(other => apart(l, other))).sort((a, b) => b.room - a.room);
        if (free.length) placed.push(free[0]);
      });
      return placed;
    },
  },
  methods: {
    size_of(n) { return Math.max(n.name.length > 3 ? 16.1 : 17, LEAST / this.scale); },
    show_output() { if (!this.active) this.$el.scrollLeft = this.$el.scrollWidth; }, // where the drawing is wider than the page
    ends(w) {
      const a = this.drawing.nodes[w.from], b = this.drawing.nodes[w.to];
      return [a.x + (a.input ? 27 : 30), a.y, b.x - 30, b.y];
    },
    curve(w) {
      const [x, y, u, v] = this.ends(w), bend = Math.max(40, (u - x) / 2);
      return `M${x},${y}C${x + bend},${y} ${u - bend},${v} ${u},${v}`;
    },
    along(w, t) {
      const [x, y, u, v] = this.ends(w), s = 1 - t;
      const bend = Math.max(40, (u - x) / 2), at = (a, b, c, d) => s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * c + t * t * t * d;
      return [at(x, x + bend, u - bend, u), at(y, y, v, v)];
    },
  },
};
