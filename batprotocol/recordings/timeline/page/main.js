/* Mice, fingers and keys; and the beginning of it all. */

const QUICK = 1.2; // a turn of the wheel
const CLICK = 5; // pixels that a pointer may move and still click

class Page extends Pointing {
  constructor(runs) {
    super(new Stage(document.getElementById("stage"), runs));
    this.root = this.stage.root;
    this.chosen = null;
    this.pointed = null;
    this.cursor = null;
    this.pointers = new Map();
    this.details = new Details(this.stage, this);
    this.search = new Search(this.stage, (found) => this.find(found));
    this.isBoxing = false;
    this.stage.onDrawn = () => {
      this.drawCover();
      this.remember();
    };
    this.listen();
    this.tools();
    const first = document.body.dataset.colour;
    this.setColour(this.ways().some(([way]) => way === first) ? first : "job");
    this.recall();
  }

  /* What is on the page besides the canvas */

  ways() {
    const varied = (column) => this.runs.some((run) => run.words[column].length > 1);
    const ways = [["job", "by job"], ["state", "by state"], ["waiting", "by waiting time"]];
    if (varied("user")) ways.push(["user", "by user"]);
    if (varied("profile")) ways.push(["profile", "by profile"]);
    if (varied("workload")) ways.push(["workload", "by workload"]);
    return ways;
  }

  tools() {
    const on = (id, act) => document.getElementById(id).addEventListener("click", act);
    this.select = document.getElementById("colour");
    for (const [value, text] of this.ways()) this.select.append(element("option", { value }, text));
    this.select.addEventListener("change", () => this.setColour(this.select.value));
    on("fit", () => this.fit());
    on("closer", () => this.zoom(1 / 2));
    on("farther", () => this.zoom(2));
    on("area", () => this.setBoxing(!this.isBoxing));
    on("clock", () => this.toggleClock());
    on("theme", () => this.toggleTheme());
    on("help", () => document.getElementById("keys").showModal());
    on("keys-close", () => document.getElementById("keys").close());
    this.tellClock();
    window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.rethemed());
  }

  setColour(way) {
    this.way = this.select.value = way;
    this.stage.colour(way);
    this.tellColours();
    this.stage.resize();
  }

  tellColours() {
    const { colours, theme } = this.stage;
    const entries = [...colours.legend];
    OFF_DUTY.forEach(([colour, name], kind) => {
      if (this.runs.some((run) => run.offDuty.kind.includes(kind))) entries.push([name, theme[colour]]);
    });
    const legend = document.getElementById("legend");
    legend.replaceChildren(...entries.map(([name, colour]) => {
      const patch = element("i");
      patch.style.background = colour;
      return element("span", {}, patch, name);
    }));
    legend.hidden = !entries.length;
  }

  setBoxing(isBoxing) {
    this.isBoxing = isBoxing;
    document.getElementById("area").setAttribute("aria-pressed", String(isBoxing));
    this.root.classList.toggle("boxing", isBoxing);
  }

  toggleClock() {
    this.stage.view.isClock = !this.stage.view.isClock;
    this.tellClock();
    this.stage.redraw();
  }

  tellClock() {
    document.getElementById("clock").textContent = this.stage.view.isClock ? "Seconds" : "Days";
  }

  toggleTheme() {
    const root = document.documentElement;
    const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = isDark ? "light" : "dark";
    this.rethemed();
  }

  rethemed() {
    this.stage.readTheme();
    this.tellColours();
    this.stage.redraw();
  }

  /* What is chosen: a job, a message, or nothing */

  find({ run, job }) {
    this.root.focus({ preventScroll: true }); // so that keys move about again
    this.choose({ run, job });
    this.zoomToJob(run, job);
  }

  choose(chosen) {
    this.chosen = chosen;
    this.unpoint(); // the panel moves what is below the pointer
    if (!chosen) this.details.close();
    else if (chosen.message >= 0) {
      const { t0, t1 } = this.stage.view.time;
      const time = chosen.run.messages.time[chosen.message];
      this.details.showMessage(chosen.run, chosen.message, chosen.job ?? -1);
      if (time < t0 || time > t1) this.glide(time - (t1 - t0) / 2, time + (t1 - t0) / 2);
    } else this.details.showJob(chosen.run, chosen.job);
    this.resized();
    this.drawCover();
    this.remember();
  }

  resized() {
    if (this.root.clientWidth !== this.stage.width || this.root.clientHeight !== this.stage.height) this.stage.resize();
  }

  /* Listening */

  listen() {
    const { root } = this;
    root.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    root.addEventListener("pointerdown", (event) => this.down(event));
    root.addEventListener("pointermove", (event) => this.move(event));
    root.addEventListener("pointerup", (event) => this.up(event));
    root.addEventListener("pointercancel", (event) => this.up(event, true));
    root.addEventListener("pointerleave", () => this.leave());
    root.addEventListener("dblclick", (event) => this.twice(event));
    root.addEventListener("scroll", () => {
      this.unpoint();
      this.stage.redraw();
    });
    root.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("keydown", (event) => this.keyAnywhere(event));
    window.addEventListener("hashchange", () => this.recall());
    new ResizeObserver(() => this.resized()).observe(root);
  }

  wheel(event) {
    const { x, y } = this.placeOf(event);
    const found = this.stage.at(x, y);
    const overflows = this.stage.total > this.stage.height;
    if (overflows && x < this.stage.overviewBox.x && found.part !== "jobs") return; // the page scrolls there
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
    const turned = Math.max(-300, Math.min(300, event.deltaY * unit));
    const factor = QUICK ** (turned / (event.ctrlKey ? 20 : 100));
    const isAside = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (isAside) this.pan((event.deltaX || event.deltaY) * unit);
    else if (found.run && found.part === "jobs" && (event.altKey || found.isGutter)) this.zoomHosts(found.run, factor, this.stage.hostAt(found.run, y));
    else this.zoom(factor, this.stage.timeAt(Math.max(x, this.stage.overviewBox.x)));
    this.point(event);
  }

  down(event) {
    if (event.button > 0) return;
    const place = this.placeOf(event);
    this.root.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, { ...place, startX: place.x, startY: place.y });
    if (this.pointers.size === 2) {
      this.pinch = this.pinched();
      this.frame = null;
      return;
    }
    const { part, run } = this.stage.at(place.x, place.y);
    this.drag = { part, run, isBox: part === "axis" || ((this.isBoxing || event.shiftKey) && part !== "overview"), isClick: true };
    if (part === "overview") this.moveWindow(place.x);
  }

  move(event) {
    const pointer = this.pointers.get(event.pointerId);
    if (!pointer) {
      if (event.pointerType !== "touch") this.point(event);
      return;
    }
    const { x, y } = this.placeOf(event);
    const [byX, byY] = [x - pointer.x, y - pointer.y];
    Object.assign(pointer, { x, y });
    if (this.pointers.size === 2) return void this.stretch();
    if (!this.drag) return;
    if (Math.hypot(x - pointer.startX, y - pointer.startY) > CLICK) this.drag.isClick = false;
    if (this.drag.isClick) return;
    this.details.hideTip();
    if (this.drag.part === "overview") this.moveWindow(x);
    else if (this.drag.isBox) this.frameTo(pointer);
    else this.drop(byX, byY);
  }

  drop(byX, byY) {
    const { part, run } = this.drag;
    const isWhole = run && run.hosts.h1 - run.hosts.h0 >= run.hostCount;
    if (part === "jobs" && !isWhole) this.pan(-byX, -byY, run);
    else {
      this.pan(-byX);
      this.root.scrollTop -= byY;
    }
  }

  moveWindow(x) {
    const { view, overviewBox } = this.stage;
    const half = (view.time.t1 - view.time.t0) / 2;
    const time = view.start + ((x - overviewBox.x) / overviewBox.w) * (view.end - view.start);
    this.setTime(time - half, time + half);
  }

  frameTo({ startX, startY, x, y }) {
    const { stage } = this;
    const { part, run } = this.drag;
    const box = part === "jobs" ? run.boxes.jobs : { y: stage.overviewBox.y + OVERVIEW, h: stage.axisY() - stage.overviewBox.y - OVERVIEW };
    const down = part === "jobs" ? stage.scrolled : 0;
    const within = (value) => Math.min(Math.max(value, box.y - down), box.y - down + box.h);
    const isFlat = part !== "jobs" || Math.abs(y - startY) < 12;
    this.frame = { x0: Math.max(startX, stage.overviewBox.x), x1: Math.max(x, stage.overviewBox.x), y0: isFlat ? box.y - down : within(startY), y1: isFlat ? box.y - down + box.h : within(y), isFlat };
    this.drawCover();
  }

  pinched() {
    const [one, other] = [...this.pointers.values()];
    return { x: (one.x + other.x) / 2, y: (one.y + other.y) / 2, w: Math.abs(one.x - other.x), h: Math.abs(one.y - other.y) };
  }

  stretch() {
    const now = this.pinched();
    const last = this.pinch;
    const { run, part } = this.stage.at(last.x, last.y);
    if (now.w > 30 && last.w > 30 && now.w >= now.h / 2) this.zoom(last.w / now.w, this.stage.timeAt(now.x));
    if (run && part === "jobs" && now.h > 60 && last.h > 60 && now.h > now.w / 2) this.zoomHosts(run, last.h / now.h, this.stage.hostAt(run, now.y));
    this.pan(last.x - now.x, last.y - now.y, part === "jobs" ? run : null);
    this.pinch = now;
    if (this.drag) this.drag.isClick = false;
  }

  up(event, isCancelled = false) {
    const pointer = this.pointers.get(event.pointerId);
    this.pointers.delete(event.pointerId);
    if (!pointer || this.pointers.size) return;
    const { drag, frame } = this;
    this.drag = this.frame = null;
    if (drag && drag.isClick && !isCancelled) this.click(pointer, event);
    else if (frame && Math.abs(frame.x1 - frame.x0) > CLICK) this.zoomInto(frame, drag);
    this.drawCover();
  }

  zoomInto({ x0, x1, y0, y1, isFlat }, { run, part }) {
    const times = [this.stage.timeAt(x0), this.stage.timeAt(x1)];
    if (part === "jobs" && !isFlat) {
      const hosts = [this.stage.hostAt(run, y0), this.stage.hostAt(run, y1)];
      this.setHosts(run, Math.min(...hosts), Math.max(...hosts), false);
    }
    this.setTime(Math.min(...times), Math.max(...times), false);
    this.setBoxing(false);
  }

  click({ x, y }, event) {
    const { run, part, job, message } = this.under(x, y);
    if (message >= 0) this.choose({ run, message, job: -1 });
    else if (job >= 0) this.choose({ run, job });
    else if (part === "jobs" || part === "marks") this.choose(null);
    if (event.pointerType === "touch") this.details.hideTip();
  }

  twice(event) {
    const { x, y } = this.placeOf(event);
    const { run, part, job } = this.under(x, y);
    if (part === "overview") this.fit();
    else if (job >= 0) this.zoomToJob(run, job);
    else if (part !== "axis") this.zoom(1 / 3, this.stage.timeAt(x));
  }

  leave() {
    this.cursor = null;
    this.unpoint();
    this.drawCover();
  }

  /* Keys of the canvas, and those of the whole page */

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = this.stage.overviewBox.w / 8;
    const run = this.chosen ? this.chosen.run : this.runs[0];
    const high = run.boxes.jobs.h / 8;
    const { h0, h1 } = run.hosts;
    const keys = {
      ArrowLeft: () => this.pan(-step),
      ArrowRight: () => this.pan(step),
      ArrowUp: () => (event.shiftKey ? this.zoomHosts(run, 1 / 1.5, (h0 + h1) / 2) : this.pan(0, -high, run)),
      ArrowDown: () => (event.shiftKey ? this.zoomHosts(run, 1.5, (h0 + h1) / 2) : this.pan(0, high, run)),
      PageUp: () => this.pan(-8 * step),
      PageDown: () => this.pan(8 * step),
      Home: () => this.setTime(this.stage.view.start, this.stage.view.start + (this.stage.view.time.t1 - this.stage.view.time.t0)),
      End: () => this.setTime(this.stage.view.end - (this.stage.view.time.t1 - this.stage.view.time.t0), this.stage.view.end),
    };
    if (!keys[event.key]) return;
    keys[event.key]();
    event.preventDefault();
  }

  keyAnywhere(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select")) return;
    const keys = {
      "/": () => this.search.box.focus(),
      "+": () => this.zoom(1 / 1.5),
      "=": () => this.zoom(1 / 1.5),
      "-": () => this.zoom(1.5),
      0: () => this.fit(),
      b: () => this.setBoxing(!this.isBoxing),
      s: () => this.toggleClock(),
      d: () => this.toggleTheme(),
      "[": () => this.neighbour(-1),
      "]": () => this.neighbour(1),
      "?": () => document.getElementById("keys").showModal(),
      Escape: () => this.choose(null),
    };
    if (!keys[event.key]) return;
    keys[event.key]();
    event.preventDefault();
  }

  /* The message before or behind the chosen one, or the first one that is shown. */
  neighbour(by) {
    const { chosen } = this;
    const run = chosen ? chosen.run : this.runs.find((each) => each.messages.count);
    if (!run || !run.messages.count) return;
    const now = chosen && chosen.message >= 0 ? chosen.message + by : above(run.messages.time, this.stage.view.time.t0);
    this.choose({ run, message: Math.min(Math.max(now, 0), run.messages.count - 1), job: -1 });
  }

  /* The address remembers what is shown, so that a page that is reloaded, or a link, shows it again */

  remember() {
    clearTimeout(this.remembering);
    this.remembering = setTimeout(() => {
      const { t0, t1 } = this.stage.view.time;
      const parts = new URLSearchParams({ t: `${+t0.toPrecision(12)},${+t1.toPrecision(12)}`, colour: this.way });
      const { h0, h1 } = this.runs[0].hosts;
      if (h1 - h0 < this.runs[0].hostCount) parts.set("hosts", `${+h0.toFixed(3)},${+h1.toFixed(3)}`);
      if (this.chosen) {
        parts.set("run", this.chosen.run.number);
        if (this.chosen.message >= 0) parts.set("message", this.chosen.message);
        if (this.chosen.job >= 0) parts.set("job", this.chosen.run.jobs.ids[this.chosen.job]);
      }
      this.written = `#${parts}`;
      try {
        history.replaceState(null, "", this.written);
      } catch {
        // in a frame without an address of its own
      }
    }, 150);
  }

  recall() {
    if (location.hash.length < 2 || location.hash === this.written) return;
    const parts = new URLSearchParams(location.hash.slice(1));
    const pair = (name) => (parts.get(name) || "").split(",").map(Number);
    const run = this.runs[Number(parts.get("run")) || 0] || this.runs[0];
    if (this.ways().some(([way]) => way === parts.get("colour"))) this.setColour(parts.get("colour"));
    const [h0, h1] = pair("hosts");
    if (h1 > h0) this.setHosts(run, h0, h1, false);
    const [t0, t1] = pair("t");
    if (t1 > t0) this.setTime(t0, t1, false);
    const job = parts.has("job") ? jobNamed(run, parts.get("job")) : -1;
    const message = parts.has("message") ? Number(parts.get("message")) : -1;
    if (message >= 0 && message < run.messages.count) this.choose({ run, message, job });
    else if (job >= 0) {
      this.choose({ run, job });
      if (!parts.has("t")) this.zoomToJob(run, job);
    }
  }
}

async function begin() {
  const loading = document.getElementById("loading");
  if (!("DecompressionStream" in window)) {
    loading.textContent = "This page needs a browser of 2023 or later.";
    return;
  }
  const packed = [...document.querySelectorAll("script[data-run]")];
  const runs = await Promise.all(packed.map((each, place) => readRun(place, each)));
  for (const each of packed) each.remove(); // the memory is needed no more
  const facts = document.getElementById("facts");
  for (const run of runs) {
    const [text, hint] = run.facts.split(" (");
    const line = element("span", {}, (runs.length > 1 ? `${run.name}: ` : "") + text);
    if (hint) line.append(" ", element("span", { class: "hint" }, `(${hint}`));
    facts.append(line);
  }
  new Page(runs);
  loading.remove();
  requestAnimationFrame(() => {
    document.body.dataset.milliseconds = Math.round(performance.now()); // since it was opened, until it is drawn
    document.body.dataset.ready = "yes";
  });
}

begin();
