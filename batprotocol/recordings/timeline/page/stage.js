/* Where everything is on the page's canvas, and the drawing of it. It must not know of mice, keys and fingers. */

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";
const AXIS = 26;
const OVERVIEW = 34;
const HEAD = 24;
const LANE = 52;
const MARKS = 13;
const GAP = 12;
const LOW_LANE = 36; // where there is little room
const LOW_GAP = 8;
const MOST_PIXELS = 3e6;
const SLOW = 40; // milliseconds: from there on, the last picture is stretched while something moves

class Stage {
  constructor(root, runs) {
    this.root = root;
    this.runs = runs;
    this.base = root.querySelector("#base");
    this.cover = root.querySelector("#cover");
    this.spacer = root.querySelector("#spacer");
    this.rasters = runs.map(() => new Raster());
    this.view = {
      start: Math.min(...runs.map((run) => run.start)),
      end: Math.max(...runs.map((run) => run.end)),
      time: { t0: 0, t1: 1 },
      isClock: true,
      scale: 1,
    };
    if (!(this.view.end > this.view.start)) this.view.end = this.view.start + 1;
    this.view.isClock = this.view.end - this.view.start >= 600;
    this.fitAll();
    this.highest = this.highestOfLanes();
    this.cost = 0;
    this.readTheme();
    this.resize();
  }

  fitAll() {
    const { start, end } = this.view;
    const margin = 0.01 * (end - start);
    this.view.time = { t0: start - margin, t1: end + margin };
    for (const run of this.runs) run.hosts = { h0: 0, h1: Math.max(1, run.hostCount) };
  }

  /* Lanes of the same name have the same scale in all runs, so that they can be compared. */
  highestOfLanes() {
    const highest = new Map();
    for (const run of this.runs) {
      for (const { lane, highest: each, most } of run.series) {
        highest.set(lane, Math.max(highest.get(lane) || 0, most && most >= each ? most : niceCeiling(each)));
      }
    }
    return highest;
  }

  colour(way) {
    this.colours = coloured(this.runs, way);
    this.redraw();
  }

  readTheme() {
    const style = getComputedStyle(document.documentElement);
    const read = (name) => style.getPropertyValue(`--${name}`).trim();
    this.theme = Object.fromEntries(
      ["ground", "plot", "text", "faint", "grid", "strong", "accent", "off", "switching", "down", "drained", "closed", "reserved", "shade"].map((name) => [name, read(name)]),
    );
    this.overview = null;
  }

  resize() {
    const { clientWidth: width, clientHeight: height } = this.root;
    this.ratio = window.devicePixelRatio || 1;
    this.width = width;
    this.height = height;
    for (const canvas of [this.base, this.cover]) {
      canvas.width = Math.round(width * this.ratio);
      canvas.height = Math.round(height * this.ratio);
      canvas.style.width = `${width}px`;
      canvas.style.height = `${height}px`;
    }
    this.overview = null;
    this.place();
    this.redraw();
  }

  /* The boxes of everything, in pixels of the page from the top of what is scrolled. */
  place() {
    const isNarrow = this.width < 560;
    if (this.placeWith(isNarrow, LANE, GAP) > this.height) this.placeWith(isNarrow, LOW_LANE, LOW_GAP);
    this.spacer.style.height = `${Math.max(0, this.total - this.height)}px`;
  }

  placeWith(isNarrow, high, gap) {
    const x = isNarrow ? 44 : 66;
    const w = Math.max(40, this.width - x - (isNarrow ? 8 : 16));
    const lanes = (run) => [...new Set(run.series.map((each) => each.lane))];
    const head = (run) => (this.runs.length > 1 ? HEAD : 8);
    const fixed = (run) =>
      head(run) + gap + lanes(run).length * (high + gap) + (run.messages.count ? 2 * MARKS + gap + 4 : 0);
    const room = this.height - OVERVIEW - AXIS - 14 - this.runs.reduce((sum, run) => sum + fixed(run), 0);
    const gantt = Math.max(isNarrow ? 170 : 150, Math.floor(room / this.runs.length));
    let y = 6;
    this.overviewBox = { x, y, w, h: OVERVIEW - 6 };
    y += OVERVIEW + 2;
    for (const run of this.runs) {
      const boxes = (run.boxes = { head: { x, y, w, h: head(run) } });
      y += boxes.head.h;
      boxes.jobs = { x, y, w, h: gantt };
      y += gantt + gap;
      boxes.lanes = lanes(run).map((lane) => {
        const box = { x, y, w, h: high, lane };
        y += high + gap;
        return box;
      });
      boxes.marks = [];
      if (run.messages.count) {
        boxes.marks = [0, 1].map((side) => ({ x, y: y + side * (MARKS + 2), w, h: MARKS, side }));
        y += 2 * MARKS + 4 + gap;
      }
    }
    this.total = y + AXIS;
    return this.total;
  }

  get scrolled() {
    return this.root.scrollTop;
  }

  xOf(time) {
    const { t0, t1 } = this.view.time;
    const { x, w } = this.overviewBox;
    return x + ((time - t0) / (t1 - t0)) * w;
  }

  timeAt(x) {
    const { t0, t1 } = this.view.time;
    const box = this.overviewBox;
    return t0 + ((x - box.x) / box.w) * (t1 - t0);
  }

  /* What is at a place of the canvas: { run, part, box }. */
  at(x, y) {
    const down = y + (y < this.overviewBox.y + OVERVIEW ? 0 : this.scrolled);
    const inside = (box) => down >= box.y && down < box.y + box.h;
    if (y >= this.axisY()) return { part: "axis" };
    if (inside(this.overviewBox) && !this.scrolled) return { part: "overview" };
    for (const run of this.runs) {
      if (inside(run.boxes.jobs)) return { run, part: "jobs", box: run.boxes.jobs, isGutter: x < run.boxes.jobs.x };
      for (const box of run.boxes.lanes) if (inside(box)) return { run, part: "lane", box };
      for (const box of run.boxes.marks) if (inside(box)) return { run, part: "marks", box };
    }
    return { part: "" };
  }

  hostAt(run, y) {
    const { h0, h1 } = run.hosts;
    return h0 + ((y + this.scrolled - run.boxes.jobs.y) / run.boxes.jobs.h) * (h1 - h0);
  }

  axisY() {
    return Math.min(this.total - this.scrolled, this.height) - AXIS;
  }

  redraw(isMoving = false) {
    this.isMoving = isMoving;
    if (this.waiting) return;
    this.waiting = requestAnimationFrame(() => {
      this.waiting = 0;
      this.draw();
      if (this.onDrawn) this.onDrawn();
    });
  }

  draw() {
    if (!this.colours) return;
    const context = this.base.getContext("2d");
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = this.theme.ground;
    context.fillRect(0, 0, this.width, this.height);
    context.save();
    context.translate(0, -this.scrolled);
    const ticks = timeTicks(this.view.time.t0, this.view.time.t1, Math.max(2, this.overviewBox.w / 95), this.view.isClock);
    for (const run of this.runs) this.drawRun(context, run, ticks);
    this.drawOverview(context);
    context.restore();
    this.drawAxis(context, ticks);
  }

  drawRun(context, run, ticks) {
    const { head, jobs, lanes, marks } = run.boxes;
    const isSeen = (box) => box.y + box.h >= this.scrolled && box.y <= this.scrolled + this.height;
    if (head.h > 10) this.text(context, run.name, head.x, head.y + head.h / 2, { bold: true, room: head.w });
    if (isSeen(jobs)) this.drawJobs(context, run, jobs, ticks);
    for (const box of lanes) if (isSeen(box)) this.drawLane(context, run, box, ticks);
    for (const box of marks) {
      if (!isSeen(box)) continue;
      context.fillStyle = this.theme.plot;
      context.fillRect(box.x, box.y, box.w, box.h);
      this.clipped(context, box, () => drawMarks(context, run, box.side, box, this.view, this.theme));
      const name = box.side ? "→ Batsim" : "Batsim →";
      this.text(context, box.x > 50 ? name : box.side ? "→ B" : "B →", box.x - 8, box.y + box.h / 2 + 0.5, { align: "right", size: 10.5 });
    }
  }

  clipped(context, box, draw) {
    context.save();
    context.beginPath();
    context.rect(box.x, box.y, box.w, box.h);
    context.clip();
    draw();
    context.restore();
  }

  drawJobs(context, run, box, ticks) {
    this.frame(context, box, ticks);
    this.clipped(context, box, () => drawOffDuty(context, run, box, this.view, this.theme));
    const raster = this.rasters[run.number];
    const shape = { ...this.view.time, ...run.hosts };
    if (this.isMoving && this.cost > SLOW && raster.shape) {
      this.clipped(context, box, () => stretched(context, raster, box, shape));
    } else {
      const began = performance.now();
      this.view.scale = Math.min(this.ratio, Math.max(0.5, Math.sqrt(MOST_PIXELS / (box.w * box.h * this.runs.length))));
      raster.clear(Math.max(1, Math.round(box.w * this.view.scale)), Math.max(1, Math.round(box.h * this.view.scale)));
      const names = drawJobs(raster, run, this.view, this.colours);
      raster.shape = shape;
      context.imageSmoothingEnabled = this.view.scale !== this.ratio;
      context.drawImage(raster.finish(), box.x, box.y, box.w, box.h);
      this.clipped(context, box, () => drawNames(context, run, names, box, this.view, this.colours));
      this.cost = performance.now() - began;
    }
    this.drawHosts(context, run, box);
  }

  drawHosts(context, run, box) {
    const { h0, h1 } = run.hosts;
    const step = Math.max(1, roundStep((h1 - h0) / Math.max(2, box.h / 42)));
    let last = -Infinity;
    for (let host = Math.ceil(h0 / step) * step; host < h1; host += step) {
      const y = box.y + ((host + 0.5 - h0) / (h1 - h0)) * box.h;
      if (y < box.y - 1 || y - last < 14) continue;
      last = y;
      const name = step === 1 && run.hostNames ? run.hostNames[host] || String(host) : String(host);
      this.text(context, name, box.x - 8, Math.max(y, box.y + 6), { align: "right", size: 10.5, room: box.x - 12 });
    }
    if (box.x > 50) this.sideways(context, "hosts", 11, box.y + box.h / 2);
  }

  drawLane(context, run, box, ticks) {
    this.frame(context, box, ticks);
    const highest = this.highest.get(box.lane);
    const several = run.series.filter((each) => each.lane === box.lane);
    several.forEach((series, i) => {
      const colour = i ? HUES[i % HUES.length] : LINES[series.kind] || LINES.probe;
      drawSeries(context, series, box, this.view, highest, colour, several.length === 1);
    });
    const { unit } = several[0];
    this.text(context, withPrefix(highest, unit), box.x - 8, box.y + 6, { align: "right", size: 10, room: box.x - 4 });
    this.text(context, "0", box.x - 8, box.y + box.h - 4, { align: "right", size: 10 });
    const title = several.length > 1 ? `${box.lane}: ${several.map((each) => each.name).join(", ")}` : box.lane;
    this.label(context, title, box.x + 6, box.y + 9, box.w - 12);
  }

  frame(context, box, ticks) {
    context.fillStyle = this.theme.plot;
    context.fillRect(box.x, box.y, box.w, box.h);
    for (const [time, , isHeavy] of ticks) {
      const x = Math.round(this.xOf(time)) + 0.5;
      if (x < box.x || x > box.x + box.w) continue;
      context.strokeStyle = isHeavy ? this.theme.strong : this.theme.grid;
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(x, box.y);
      context.lineTo(x, box.y + box.h);
      context.stroke();
    }
  }

  drawAxis(context, ticks) {
    const y = this.axisY();
    const { x, w } = this.overviewBox;
    context.fillStyle = this.theme.ground;
    context.fillRect(0, y, this.width, AXIS + 40);
    context.strokeStyle = this.theme.strong;
    context.beginPath();
    context.moveTo(x, y + 0.5);
    context.lineTo(x + w, y + 0.5);
    context.stroke();
    let free = x - 30;
    for (const [time, label, isHeavy] of ticks) {
      const place = this.xOf(time);
      if (place < x || place > x + w) continue;
      context.beginPath();
      context.moveTo(Math.round(place) + 0.5, y);
      context.lineTo(Math.round(place) + 0.5, y + 4);
      context.stroke();
      const half = this.widthOf(context, label, isHeavy) / 2;
      const middle = Math.min(place, this.width - half - 2);
      if (middle - half < free + 6) continue;
      free = middle + half;
      this.text(context, label, middle, y + 14, { align: "center", bold: isHeavy });
    }
    if (x > 50) {
      const { t0 } = this.view.time;
      const isDay = this.view.isClock && this.view.end > DAY && ticks.length > 1 && ticks[1][0] - ticks[0][0] < DAY;
      this.text(context, isDay ? dayOf(Math.max(0, t0)) : "time", 8, y + 14, { size: 11 });
    }
  }

  /* How much of the hosts was in use over all the time, and which part of the time is shown. */
  drawOverview(context) {
    const box = this.overviewBox;
    if (!this.overview) this.overview = this.overviewPicture(box);
    context.drawImage(this.overview, box.x, box.y, box.w, box.h);
    const { t0, t1 } = this.view.time;
    const [left, right] = [t0, t1].map((time) => Math.max(0, Math.min(box.w, this.overviewX(time) - box.x)));
    context.fillStyle = this.theme.shade;
    context.fillRect(box.x, box.y, left, box.h);
    context.fillRect(box.x + right, box.y, box.w - right, box.h);
    context.strokeStyle = this.theme.accent;
    context.lineWidth = 1.5;
    context.strokeRect(box.x + left + 0.75, box.y + 0.75, Math.max(2, right - left - 1.5), box.h - 1.5);
    if (box.x > 50) this.text(context, "in use", box.x - 8, box.y + box.h / 2, { align: "right", size: 10.5 });
  }

  overviewX(time) {
    const { start, end } = this.view;
    return this.overviewBox.x + ((time - start) / (end - start)) * this.overviewBox.w;
  }

  overviewPicture(box) {
    const picture = document.createElement("canvas");
    picture.width = Math.max(1, Math.round(box.w * this.ratio));
    picture.height = Math.round(box.h * this.ratio);
    const context = picture.getContext("2d");
    context.fillStyle = this.theme.plot;
    context.fillRect(0, 0, picture.width, picture.height);
    const { start, end } = this.view;
    const share = picture.height / this.runs.length;
    this.runs.forEach((run, place) => {
      const free = run.unused;
      if (!free || !run.hostCount) return;
      context.fillStyle = LINES.hosts;
      for (let x = 0, i = 0; x < picture.width; x++) {
        const stop = above(free.times, start + ((x + 1) / picture.width) * (end - start));
        if (stop === 0) continue;
        const [from, to] = [x, x + 1].map((each) => start + (each / picture.width) * (end - start));
        const mean = meanOf(free, Math.max(0, i - 1), stop, from, to);
        i = stop;
        const used = (Math.max(0, run.hostCount - mean) / run.hostCount) * (share - 1);
        context.fillRect(x, (place + 1) * share - used, 1, used);
      }
    });
    return picture;
  }

  /* Text */

  text(context, text, x, y, { align = "left", size = 11.5, bold = false, room = 0 } = {}) {
    context.font = `${bold ? "600 " : ""}${size}px ${FONT}`;
    context.textAlign = align;
    context.textBaseline = "middle";
    context.fillStyle = bold ? this.theme.text : this.theme.faint;
    let shown = text;
    while (room && shown.length > 1 && context.measureText(shown).width > room) {
      shown = `${shown.slice(0, Math.min(200, Math.floor(0.8 * shown.length)))}…`.replace("……", "…");
    }
    context.fillText(shown, x, y);
  }

  widthOf(context, text, bold) {
    context.font = `${bold ? "600 " : ""}11.5px ${FONT}`;
    return context.measureText(text).width;
  }

  sideways(context, text, x, y) {
    context.save();
    context.translate(x, y);
    context.rotate(-Math.PI / 2);
    this.text(context, text, 0, 0, { align: "center", size: 11 });
    context.restore();
  }

  /* A text on a plot, on a ground of its own. */
  label(context, text, x, y, room) {
    context.font = `600 11px ${FONT}`;
    const width = Math.min(room, context.measureText(text).width);
    context.globalAlpha = 0.78;
    context.fillStyle = this.theme.plot;
    context.fillRect(x - 3, y - 7, width + 6, 14);
    context.globalAlpha = 1;
    this.text(context, text, x, y, { bold: true, size: 11, room });
  }
}

/* The last picture of the jobs where it would be now. */
function stretched(context, raster, box, { t0, t1, h0, h1 }) {
  const last = raster.shape;
  const x = box.x + ((last.t0 - t0) / (t1 - t0)) * box.w;
  const w = ((last.t1 - last.t0) / (t1 - t0)) * box.w;
  const y = box.y + ((last.h0 - h0) / (h1 - h0)) * box.h;
  const h = ((last.h1 - last.h0) / (h1 - h0)) * box.h;
  context.drawImage(raster.canvas, x, y, w, h);
}
