// Draw the panels of a result page as SVG. The data are in the element "data"; their
// form is that of result_page.py. Panels with the same axis are zoomed together.
"use strict";
const SVG = "http://www.w3.org/2000/svg";
const LEFT = 110;  // pixels for the names of rows
const RIGHT = 12;
const MOST_ARROWS = 60;  // more arrows would hide the boxes; zoom in to see them
// How the signs of the legend look that are not filled squares.
const LINES = {
  frame: {outline: "1.5px solid #000", outlineOffset: "-1.5px"},
  arrow: {font: "bold 15px/11px sans-serif", textAlign: "center"},
  dashed: {height: "0", borderTop: "2px dashed #000", verticalAlign: "middle"},
};
const doc = JSON.parse(document.getElementById("data").textContent);
const tip = document.createElement("div");
const views = {};  // for each axis, the [from, until] that is shown
const panels = [];

function make(name, parent, attributes, text) {
  const item = document.createElementNS(SVG, name);
  for (const key in attributes) item.setAttribute(key, attributes[key]);
  if (text !== undefined) item.textContent = text;
  parent.appendChild(item);
  return item;
}

function add(parent, name, text) {
  const item = document.createElement(name);
  if (text !== undefined) item.textContent = text;
  parent.appendChild(item);
  return item;
}

function show(value, unit) {
  return `${Number((value / unit[0]).toPrecision(6))} ${unit[1]}`.trim();
}

function shortened(text, most) {
  return text.length > most ? text.slice(0, most - 1) + "…" : text;
}

// Return round numbers between low and high, about count of them.
function ticks(low, high, count) {
  const raw = (high - low) / count;
  const power = Math.pow(10, Math.floor(Math.log10(raw)));
  const step = [1, 2, 5, 10].map(k => k * power).find(k => k >= raw);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++)
    found.push(Number((k * step).toPrecision(12)));
  return found;
}

class Panel {
  constructor(data) {
    this.data = data;
    this.axis = doc.axes[data.axis];
    this.chain = new Set();  // the numbers of the boxes that are marked
    const section = add(document.getElementById("panels"), "section");
    add(section, "h2", data.title);
    if (data.note) add(section, "p", data.note);
    const keys = add(section, "div");
    for (const [words, colour, line] of this.legend()) {
      const key = add(keys, "span");
      key.className = "key";
      const sign = add(key, "i");
      if (line) Object.assign(sign.style, LINES[line]);
      else sign.style.background = colour;
      if (line === "arrow") sign.textContent = "\u2191";
      key.appendChild(document.createTextNode(words));
    }
    this.svg = make("svg", section, {role: "img", "aria-label": data.title});
    this.inner = data.rows ? data.rows.length * data.row_pixels : data.pixels;
    this.svg.setAttribute("height", this.inner + 24);
  }

  legend() {
    if (!this.data.rows) {
      const found = this.data.series.map(item => [item[0], item[1]]);
      if (this.data.limit !== null) found.push(["dashed: limit", "#000", "dashed"]);
      return found;
    }
    const used = new Set(this.data.boxes.map(box => box[0]));
    for (const mark of this.data.marks) used.add(mark[0]);
    const found = [...used].map(kind => doc.kinds[kind].slice(0, 2));
    if (this.data.boxes.some(box => box[7])) found.push(["framed: critical path", "#000", "frame"]);
    if (this.data.boxes.some(box => box[8] >= 0))
      found.push(["arrow: from the sending node", "#000", "arrow"]);
    return found;
  }

  x(at) {
    const [low, high] = views[this.data.axis];
    return LEFT + (at - low) / (high - low) * this.width;
  }

  at(x) {
    const [low, high] = views[this.data.axis];
    return low + (x - LEFT) / this.width * (high - low);
  }

  draw() {
    this.svg.replaceChildren();
    this.width = Math.max(100, this.svg.clientWidth - LEFT - RIGHT);
    const clip = "clip" + panels.indexOf(this);
    make("rect", make("clipPath", this.svg, {id: clip}),
         {x: LEFT, y: 0, width: this.width, height: this.inner});
    this.drawAxis();
    const inside = make("g", this.svg, {"clip-path": `url(#${clip})`});
    if (this.data.rows) this.drawBoxes(inside);
    else this.drawSteps(inside);
  }

  drawAxis() {
    const [low, high] = views[this.data.axis], [size, name] = this.axis.unit;
    for (const tick of ticks(low / size, high / size, this.width / 90)) {
      const x = this.x(tick * size);
      make("line", this.svg, {x1: x, x2: x, y1: 0, y2: this.inner, stroke: "#ddd"});
      make("text", this.svg, {x, y: this.inner + 13, "text-anchor": "middle"}, tick);
    }
    make("text", this.svg, {x: 2, y: this.inner + 13}, `${this.axis.words} (${name})`);
    make("line", this.svg, {x1: LEFT, x2: LEFT + this.width, y1: this.inner,
                            y2: this.inner, stroke: "#888"});
  }

  drawBoxes(inside) {
    const high = this.data.row_pixels, [low, until] = views[this.data.axis];
    this.data.rows.forEach((name, row) => {
      const label = make("text", this.svg, {x: LEFT - 6, y: (row + 0.5) * high + 4,
                         "text-anchor": "end"}, shortened(name, 17));
      make("title", label, {}, name);
      make("rect", inside, {x: LEFT, y: (row + 0.12) * high, width: this.width,
                            height: 0.76 * high, fill: "#f0f1f3"});
    });
    // Below the boxes, so that no arrow crosses a name.
    const sent = this.data.boxes.filter(
      box => box[8] >= 0 && box[4] >= low && box[3] <= until);
    if (sent.length <= MOST_ARROWS) sent.forEach(box => this.drawArrow(inside, box));
    this.data.boxes.forEach((box, number) => {
      const [kind, top, height, start, end, label, , critical] = box;
      if (end < low || start > until) return;
      const x = Math.max(this.x(start), LEFT - 5);
      const width = Math.max(0.7, Math.min(this.x(end), LEFT + this.width + 5) - x);
      const y = (top + 0.5) * high, tall = height * high;
      const colour = doc.kinds[kind];
      const rect = make("rect", inside, {x, y, width, height: tall, fill: colour[1],
        stroke: critical ? "#000" : width > 3 ? "#fff" : colour[1],
        "stroke-width": critical ? 1.5 : 0.5, "data-box": number});
      if (this.chain.has(number)) rect.classList.add("chain");
      const short = label.replace(/^(\w+:)+(?=\w)/, "");  // the process of Nextflow
      if (tall >= 9 && width > 6.5 * short.length + 4)
        make("text", inside, {x: x + width / 2, y: y + tall / 2 + 4, fill: colour[2],
             "text-anchor": "middle", "pointer-events": "none"}, short);
    });
    this.data.marks.forEach((mark, number) => {
      const x = this.x(mark[2]), y = (mark[1] + 0.12) * high - 6;
      make("line", inside, {x1: x, x2: x, y1: y, y2: y + 6, stroke: "#444",
                            "stroke-width": 2, "data-mark": number});
    });
  }

  // Draw an arrow from the row that sends to the box that receives.
  drawArrow(inside, box) {
    const [, top, height, start, end, , , , source] = box, high = this.data.row_pixels;
    const up = top < source, x = this.x((start + end) / 2), back = up ? 5 : -5;
    const from = (source + 0.5 + (up ? -0.38 : 0.38)) * high;
    const to = (top + 0.5 + (up ? height : 0)) * high;
    make("path", inside, {d: `M${x} ${from}L${x} ${to}M${x - 3} ${to + back}L${x} ${to}`
      + `L${x + 3} ${to + back}`, fill: "none", stroke: "#000", "stroke-opacity": 0.6,
      "pointer-events": "none"});
  }

  // Return the height of the panel in the unit of its values.
  top() {
    if (this.most !== undefined) return this.most;
    let most = this.data.limit || 0;
    for (const layer of this.layers())
      for (const step of layer) most = Math.max(most, step[2]);
    this.most = most * 1.1 || 1;
    return this.most;
  }

  // Return the steps of each series as [time, from, to], stacked if the panel says so.
  layers() {
    if (this.stack) return this.stack;
    // A series is 0 before its first step.
    const series = this.data.series.map(([name, colour, steps]) =>
      [name, colour, steps.length && steps[0][0] > 0 ? [[0, 0], ...steps] : steps]);
    if (!this.data.stacked) {
      this.stack = series.map(item => item[2].map(([at, value]) => [at, 0, value]));
      return this.stack;
    }
    const times = [...new Set(series.flatMap(item => item[2].map(step => step[0])))];
    times.sort((a, b) => a - b);
    const below = times.map(() => 0);
    this.stack = series.map(item => {
      let next = 0, value = 0;
      return times.map((at, k) => {
        while (next < item[2].length && item[2][next][0] <= at) value = item[2][next++][1];
        below[k] += value;
        return [at, below[k] - value, below[k]];
      });
    });
    return this.stack;
  }

  drawSteps(inside) {
    const top = this.top(), unit = this.data.unit;
    const y = value => this.inner * (1 - value / top);
    for (const tick of ticks(0, top / unit[0], 3)) {
      if (!unit[1] && !Number.isInteger(tick)) continue;  // a count
      const text = `${tick} ${unit[1]}`.trim();
      make("text", this.svg, {x: LEFT - 6, y: y(tick * unit[0]) + 4,
                              "text-anchor": "end"}, text);
    }
    this.layers().forEach((layer, k) => {
      if (!layer.length) return;
      let upper = "", lower = "";
      layer.forEach(([at, from, to], n) => {
        const x0 = this.x(at);
        const x1 = this.x(n + 1 < layer.length ? layer[n + 1][0] : this.axis.until);
        upper += `${n ? "L" : "M"}${x0} ${y(to)}L${x1} ${y(to)}`;
        lower = `L${x1} ${y(from)}L${x0} ${y(from)}` + lower;
      });
      const colour = this.data.series[k][1];
      if (this.data.stacked) make("path", inside, {d: upper + lower + "Z", fill: colour});
      else make("path", inside, {d: upper, fill: "none", stroke: colour,
                                 "stroke-width": 1.5});
    });
    if (this.data.limit !== null) {
      const at = y(this.data.limit);
      make("line", inside, {x1: LEFT, x2: LEFT + this.width, y1: at, y2: at,
                            stroke: "#000", "stroke-dasharray": "5 3"});
    }
  }

  // Return the text for the pointer at x, over the element target.
  told(target, x) {
    if (target.dataset.box !== undefined) {
      const box = this.data.boxes[target.dataset.box];
      const unit = this.axis.unit, [, top, height, start, end, label, waits] = box;
      const row = this.data.rows[Math.round(top + height / 2)];
      const lines = [`${label}: ${doc.kinds[box[0]][0]}`];
      if (box[8] >= 0) lines.push(`${this.data.rows[box[8]]} → ${row}`);
      else if (row && row !== label) lines.push(row);
      lines.push(`${show(start, unit)} to ${show(end, unit)}: ${show(end - start, unit)}`);
      if (waits >= 0) {
        const other = this.data.boxes[waits];
        lines.push(`began when this ended: ${other[5]} (${doc.kinds[other[0]][0]})`);
      }
      return lines.join("\n");
    }
    if (target.dataset.mark !== undefined) {
      const [kind, , at, label] = this.data.marks[target.dataset.mark];
      return `${label}: ${doc.kinds[kind][0]}\n${show(at, this.axis.unit)}`;
    }
    const at = this.at(x);
    if (this.data.rows || at < 0 || at > this.axis.until) return "";
    const lines = [show(at, this.axis.unit)];
    for (const [name, , steps] of this.data.series.slice(0, 20)) {
      let value = 0;
      for (const step of steps) if (step[0] <= at) value = step[1]; else break;
      lines.push(`${name}: ${show(value, this.data.unit)}`);
    }
    if (this.data.limit !== null) lines.push(`limit: ${show(this.data.limit, this.data.unit)}`);
    return lines.join("\n");
  }

  // Mark the box number, what it waited for, what that waited for, and so on.
  mark(number) {
    this.chain = new Set();
    while (number >= 0 && !this.chain.has(number)) {
      this.chain.add(number);
      number = this.data.boxes[number][6];
    }
    for (const rect of this.svg.querySelectorAll("rect[data-box]"))
      rect.classList.toggle("chain", this.chain.has(Number(rect.dataset.box)));
  }
}

function redraw(axis) {
  for (const panel of panels) if (!axis || panel.data.axis === axis) panel.draw();
}

// Zoom an axis by factor, so that the value middle stays where it is.
function zoom(axis, factor, middle) {
  const [low, high] = views[axis], until = doc.axes[axis].until;
  const length = Math.min(until * 1.02, Math.max(until * 1e-7, (high - low) * factor));
  move(axis, middle - (middle - low) / (high - low) * length, length);
}

function move(axis, low, length) {
  const until = doc.axes[axis].until * 1.02;
  low = Math.max(0, Math.min(low, until - length));
  views[axis] = [low, low + length];
  redraw(axis);
}

function key(name) {
  for (const axis in views) {
    const [low, high] = views[axis], length = high - low;
    if (name === "+") zoom(axis, 0.5, (low + high) / 2);
    else if (name === "-") zoom(axis, 2, (low + high) / 2);
    else if (name === "0") move(axis, 0, doc.axes[axis].until * 1.02);
    else if (name === "ArrowLeft") move(axis, low - length / 4, length);
    else if (name === "ArrowRight") move(axis, low + length / 4, length);
  }
}

function listen(panel) {
  const svg = panel.svg, axis = panel.data.axis;
  let grabbed = null;
  const place = event => event.clientX - svg.getBoundingClientRect().left;
  svg.addEventListener("wheel", event => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    zoom(axis, event.deltaY > 0 ? 1.25 : 0.8, panel.at(place(event)));
  }, {passive: false});
  svg.addEventListener("pointerdown", event => {
    grabbed = [place(event), ...views[axis]];
  });
  svg.addEventListener("pointermove", event => {
    if (grabbed && event.buttons) {
      const [x, low, high] = grabbed;
      move(axis, low - (place(event) - x) / panel.width * (high - low), high - low);
      return;
    }
    grabbed = null;
    const text = panel.told(event.target, place(event));
    if (panel.data.rows) panel.mark(Number(event.target.dataset.box ?? -1));
    tip.hidden = !text;
    tip.textContent = text;
    const room = window.innerWidth - tip.offsetWidth - 8;
    tip.style.left = Math.max(0, Math.min(event.clientX + 14, room)) + "px";
    tip.style.top = event.clientY + 16 + "px";
  });
  svg.addEventListener("pointerleave", () => {
    tip.hidden = true;
    if (panel.data.rows) panel.mark(-1);
  });
  svg.addEventListener("dblclick", () => move(axis, 0, doc.axes[axis].until * 1.02));
}

tip.id = "tip";
tip.hidden = true;
document.body.appendChild(tip);
for (const axis in doc.axes) views[axis] = [0, doc.axes[axis].until * 1.02];
for (const data of doc.panels) panels.push(new Panel(data));
panels.forEach(listen);
for (const button of document.querySelectorAll("#bar button"))
  button.addEventListener("click", () => key(button.dataset.key));
document.addEventListener("keydown", event => key(event.key));
window.addEventListener("resize", () => redraw());
redraw();
