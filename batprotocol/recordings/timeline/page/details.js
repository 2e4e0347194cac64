/* What is told about a job, a message, a moment: the small box at the pointer, the panel, the search. All that a run says
   becomes text nodes, never HTML. */

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

function jobFacts(run, j) {
  const { jobs } = run;
  const [submitted, started, finished] = [jobs.submitted[j], jobs.started[j], jobs.finished[j]];
  const known = (value) => value === value;
  const facts = [["state", STATES[jobs.state[j]][0]]];
  const add = (name, value) => facts.push([name, value]);
  if (known(submitted)) add("submitted", duration(submitted));
  if (known(started)) add("started", duration(started));
  if (known(finished)) add("ended", duration(finished));
  if (known(submitted) && known(started)) add("waited", duration(Math.max(0, started - submitted)));
  if (known(started) && known(finished)) add("ran", duration(finished - started));
  if (known(jobs.walltime[j])) add("walltime", duration(jobs.walltime[j]));
  if (jobs.requested[j]) add("asked for", counted(jobs.requested[j], "host"));
  if (jobs.rects[j]) add("hosts", hostsOf(run, j));
  for (const word of ["profile", "user"]) {
    const value = run.words[word][jobs[word][j]];
    if (value) add(word, value);
  }
  return facts;
}

function hostsOf(run, j) {
  const { rects } = run;
  const parts = [];
  for (let i = rects.firstOf[j]; i < rects.firstOf[j + 1] && parts.length < 40; i++) {
    const [first, last] = [rects.first[i], rects.last[i]];
    parts.push([first, first === last ? `${first}` : `${first}-${last}`]);
  }
  parts.sort((one, other) => one[0] - other[0]);
  const more = run.jobs.rects[j] - parts.length;
  return parts.map(([, text]) => text).join(" ") + (more > 0 ? ` and ${counted(more, "more interval")}` : "");
}

function messageTitle(run, message) {
  const { sender, time, events, kind } = run.messages;
  const who = sender[message] ? "scheduler to Batsim" : "Batsim to scheduler";
  const what = run.words.kind[kind[message]];
  const count = events[message];
  return { who, time: time[message], what: count > 1 ? `${what} and ${counted(count - 1, "more event")}` : what || "no events" };
}

class Details {
  constructor(stage, actions) {
    this.stage = stage;
    this.actions = actions;
    this.tip = document.getElementById("tip");
    this.panel = document.getElementById("panel");
    this.body = document.getElementById("panel-body");
    this.title = document.getElementById("panel-title");
    this.voice = document.getElementById("voice");
    document.getElementById("panel-close").addEventListener("click", () => actions.choose(null));
  }

  say(text) {
    this.voice.textContent = text;
  }

  hideTip() {
    this.tip.hidden = true;
  }

  showTip(x, y, title, rows) {
    const { tip } = this;
    tip.replaceChildren(element("strong", {}, title));
    for (const [name, value] of rows) tip.append(element("div", {}, element("span", {}, `${name} `), value));
    tip.hidden = false;
    const { clientWidth: width, clientHeight: height } = document.documentElement;
    const box = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(4, x + 14 + box.width > width - 4 ? x - box.width - 14 : x + 14)}px`;
    tip.style.top = `${Math.max(4, y + 14 + box.height > height - 4 ? y - box.height - 14 : y + 14)}px`;
  }

  tipOfJob(x, y, run, j, count) {
    const rows = jobFacts(run, j).filter(([name]) => !["ended", "asked for"].includes(name));
    if (count > 1) rows.push(["here, too:", counted(count - 1, "more job")]);
    this.showTip(x, y, run.jobs.ids[j], rows.map(([name, value]) => [name, value.length > 60 ? `${value.slice(0, 59)}…` : value]));
  }

  tipOfMessage(x, y, run, message) {
    const { who, time, what } = messageTitle(run, message);
    this.showTip(x, y, `message ${number(message)}`, [["", what], ["", who], ["at", duration(time)]]);
  }

  tipOfLane(x, y, run, lane, time) {
    const several = run.series.filter((each) => each.lane === lane);
    const rows = several.map((series) => {
      const value = valueAt(series, time);
      return [several.length > 1 ? series.name : "", value === value ? `${number(value, 3)}${series.unit ? ` ${series.unit}` : ""}` : "not known yet"];
    });
    this.showTip(x, y, lane, [...rows, ["at", duration(time)]]);
  }

  close() {
    this.panel.hidden = true;
  }

  open(title, ...children) {
    this.title.textContent = title;
    this.body.replaceChildren(...children);
    this.body.scrollTop = 0;
    this.panel.hidden = false;
  }

  showJob(run, j) {
    const { jobs, messages } = run;
    const facts = element("dl");
    for (const [name, value] of jobFacts(run, j)) facts.append(element("dt", {}, name), element("dd", {}, value));
    const buttons = element("p", { class: "buttons" }, element("button", { onclick: () => this.actions.zoomToJob(run, j) }, "Zoom to it"));
    for (const other of this.stage.runs) {
      const there = other === run ? -1 : jobNamed(other, jobs.ids[j]);
      if (there >= 0) buttons.append(element("button", { onclick: () => this.actions.choose({ run: other, job: there }) }, `In ${other.name}`));
    }
    const children = [facts, buttons];
    const [begin, end] = [messages.begin[j], messages.begin[j + 1]];
    if (messages.count && end > begin) {
      const list = element("ol", { class: "messages" });
      for (let i = begin; i < Math.min(end, begin + 100); i++) list.append(this.messageButton(run, messages.ofJob[i], j));
      children.push(element("h3", {}, counted(end - begin, "message")), list);
    }
    this.open(`Job ${jobs.ids[j]}`, ...children);
    this.say(`Job ${jobs.ids[j]}, ${STATES[jobs.state[j]][0]}`);
  }

  messageButton(run, message, job = -1) {
    const { who, time, what } = messageTitle(run, message);
    const choose = () => this.actions.choose({ run, message, job });
    return element("li", {}, element("button", { onclick: choose }, `${what}, at ${duration(time)}`, element("small", {}, ` ${who}`)));
  }

  async showMessage(run, message, job = -1) {
    const { who, time } = messageTitle(run, message);
    const step = (by) => this.actions.choose({ run, message: message + by, job: -1 });
    const previous = element("button", { onclick: () => step(-1), title: "The message before, [" }, "‹ Before");
    const next = element("button", { onclick: () => step(1), title: "The next message, ]" }, "Next ›");
    previous.disabled = message === 0;
    next.disabled = message + 1 >= run.messages.count;
    const buttons = element("p", { class: "buttons" }, previous, next);
    if (job >= 0) buttons.append(element("button", { onclick: () => this.actions.choose({ run, job }) }, `Job ${run.jobs.ids[job]}`));
    const text = element("pre", { tabindex: "0" }, "…");
    this.open(`Message ${number(message)}`, element("p", { class: "who" }, `${who}, at ${duration(time)}`), buttons, text);
    this.say(`Message ${message}, ${who}`);
    const lines = ((await textOf(run, message)) ?? withoutText(run, message)).split("\n");
    text.replaceChildren(...lines.map((line) => hanging(line, job >= 0 ? run.jobs.ids[job] : "")));
    const first = text.querySelector("mark");
    if (first) first.scrollIntoView({ block: "nearest" });
  }
}

function withoutText(run, message) {
  const { texts, hint } = run.messages;
  const kept = texts ? `This page holds the texts of the first ${number(texts)} messages.` : "This page was made without the texts of messages.";
  return `${kept}\nTo have all texts in the page, make it with --messages all (in Python, messages=None).\n${hint.replace("{number}", String(message).padStart(5, "0"))}`;
}

/* A line of a tree: what does not fit goes on below its own beginning. Each place where a word stands is marked. */
function hanging(line, word) {
  const parts = word ? line.split(word) : [line];
  const block = element("div", {}, ...parts.flatMap((part, i) => (i ? [element("mark", {}, word), part] : [part])), "\n");
  const indent = line.search(/[^│├└─ |`-]/) + 4;
  block.style.paddingLeft = `${indent}ch`;
  block.style.textIndent = `${-indent}ch`;
  return block;
}

/* The search for jobs: a box, and below it what is found. */
class Search {
  constructor(stage, choose) {
    this.stage = stage;
    this.choose = choose;
    this.box = document.getElementById("search");
    this.list = document.getElementById("found");
    this.found = [];
    this.at = 0;
    this.box.addEventListener("input", () => this.look());
    this.box.addEventListener("focus", () => this.look());
    this.box.addEventListener("blur", () => setTimeout(() => this.hide(), 150));
    this.box.addEventListener("keydown", (event) => this.key(event));
  }

  look() {
    const words = this.box.value.trim();
    this.found = words ? this.stage.runs.flatMap((run) => jobsLike(run, words, 8).map((job) => ({ run, job }))) : [];
    this.at = 0;
    this.show(words);
  }

  show(words) {
    const items = this.found.map(({ run, job }, i) => {
      const detail = this.stage.runs.length > 1 ? run.name : STATES[run.jobs.state[job]][0];
      const item = element("li", { role: "option", id: `found-${i}`, "aria-selected": String(i === this.at) }, run.jobs.ids[job], element("small", {}, ` ${detail}`));
      item.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        this.take(i);
      });
      return item;
    });
    if (words && !items.length) items.push(element("li", { class: "none" }, "no job is called so"));
    this.list.replaceChildren(...items);
    this.list.hidden = !items.length;
    this.box.setAttribute("aria-expanded", String(items.length > 0));
    this.box.setAttribute("aria-activedescendant", this.found.length ? `found-${this.at}` : "");
  }

  hide() {
    this.list.hidden = true;
    this.box.setAttribute("aria-expanded", "false");
  }

  take(i) {
    if (!this.found[i]) return;
    const chosen = this.found[i];
    this.hide();
    this.choose(chosen);
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.found.length) {
      this.at = (this.at + step + this.found.length) % this.found.length;
      this.show(this.box.value.trim());
      event.preventDefault();
    } else if (event.key === "Enter") {
      this.take(this.at);
    } else if (event.key === "Escape") {
      if (this.list.hidden) this.box.blur();
      this.hide();
    }
    event.stopPropagation();
  }
}
