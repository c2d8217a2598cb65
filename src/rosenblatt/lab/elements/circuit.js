// A network of units, from left to right. Nodes can be chosen by pointer and by keys where the page listens.
export default {
  template: `
  <div class="lab-circuit">
    <svg :viewBox="'0 0 ' + drawing.width + ' ' + drawing.height" role="group" :aria-label="label"
         :style="{maxWidth: 1.15 * drawing.width + 'px', minWidth: 0.87 * drawing.width + 'px'}" font-family="system-ui, sans-serif">
      <g v-for="(w, i) in drawing.wires" :key="'w'+i">
        <path :d="curve(w)" fill="none" :stroke="w.less ? '#D55E00' : 'var(--faint)'" stroke-width="2.2" :stroke-dasharray="w.less ? '7 4' : ''" />
        <text v-if="w.weight && few" :x="middle(w)[0]" :y="middle(w)[1] - 4" text-anchor="middle" font-size="16.5" fill="var(--ink)"
              stroke="var(--raised)" stroke-width="5" paint-order="stroke">{{ w.weight }}</text>
      </g>
      <g v-for="(n, i) in drawing.nodes" :key="'n'+i" :tabindex="active ? 0 : -1" :role="active ? 'button' : null"
         :aria-label="(n.input ? 'input ' : 'unit ') + n.name" :aria-pressed="active ? String(i === drawing.chosen) : null"
         :style="{cursor: active ? 'pointer' : 'default'}" @click="active && $emit('node', i)"
         @keydown.enter.prevent="active && $emit('node', i)" @keydown.space.prevent="active && $emit('node', i)">
        <rect v-if="n.input" :x="n.x - 27" :y="n.y - 19" width="54" height="38" rx="8" fill="var(--panel)"
              :stroke="i === drawing.chosen ? '#0072B2' : 'var(--faint)'" :stroke-width="i === drawing.chosen ? 4 : 1.5" />
        <circle v-else :cx="n.x" :cy="n.y" r="30" fill="var(--raised)" :stroke="i === drawing.chosen ? '#0072B2' : 'var(--ink)'"
                :stroke-width="i === drawing.chosen ? 4 : 2" />
        <text :x="n.x" :y="n.y + 5.5" text-anchor="middle" :font-size="n.name.length > 3 ? 16.1 : 17" font-weight="600" fill="var(--ink)">{{ n.name }}</text>
      </g>
    </svg>
  </div>`,
  props: { drawing: Object, label: String, active: Boolean },
  emits: ["node"],
  computed: {
    few() { return this.drawing.wires.length <= 14; },
  },
  methods: {
    ends(w) {
      const a = this.drawing.nodes[w.from], b = this.drawing.nodes[w.to];
      return [a.x + (a.input ? 27 : 30), a.y, b.x - 30, b.y];
    },
    curve(w) {
      const [x, y, u, v] = this.ends(w), bend = Math.max(40, (u - x) / 2);
      return `M${x},${y}C${x + bend},${y} ${u - bend},${v} ${u},${v}`;
    },
    middle(w) {
      const [x, y, u, v] = this.ends(w), t = u - x > 200 ? 0.5 + 0.18 * (w.from % 3) : 0.32, s = 1 - t; // nearer to where it begins: wires to one unit stay apart
      const bend = Math.max(40, (u - x) / 2), at = (a, b, c, d) => s * s * s * a + 3 * s * s * t * b + 3 * s * t * t * c + t * t * t * d;
      return [at(x, x + bend, u - bend, u), at(y, y, v, v)];
    },
  },
};
