/* Runs whose jobs ask for more than hosts: partitions, shares of hosts, lives and dependencies. Only pages of such runs
   have this script. It extends what the scripts before it define, and begins before `main`. */

const BANDS = "rgba(138, 123, 209, 0.28)"; // behind the GPUs of hosts
const MOST_LINES = 300;
const MOST_LABELS = 8;
const LEAST_LABELLED = 60; // pixels of a line from which on its kind is written
const LEAST_ROW = 8; // pixels of a host from which on hosts are told apart by lines

/* Reading */

const readPlainRun = readRun;
readRun = async (number, node) => {
  const run = await readPlainRun(number, node);
  const block = document.querySelector(`script[data-sharing="${number}"]`);
  if (!block) return run;
  const { header, columns } = await unpacked(block.textContent);
  block.remove();
  run.plainRects = run.rects;
  run.rects = indexed({ ...run, jobs: { ...run.jobs, rects: columns.rects } }, columns.first, columns.last);
  if (columns.off_first) {
    run.offDuty = { first: columns.off_first, last: columns.off_last, from: columns.off_from, to: columns.off_to, kind: columns.off_kind };
  }
  run.sharing = {
    groups: header.groups.map(([label, first, count]) => ({ label, first, count })),
    hosts: columns.hosts || null,
    gpus: columns.gpus,
    band: header.band,
    facts: header.facts.map(([name, words], place) => ({ name, words, of: columns[`fact${place}`] })),
    kinds: header.kinds,
    links: { from: columns.link_from, to: columns.link_to, kind: columns.link_kind },
  };
  return run;
};

/* Links with at least one end at this job; `again` is kind 0. */
function linksOf(run, job) {
  const { sharing } = run;
  if (!sharing) return [];
  if (sharing.linked !== job) {
    const { from, to, kind } = sharing.links;
    sharing.linked = job;
    sharing.found = [];
    for (let i = 0; i < from.length; i++) {
      if (from[i] === job || to[i] === job) sharing.found.push({ from: from[i], to: to[i], kind: kind[i] });
    }
  }
  return sharing.found;
}

/* The box and the panel of a job */

const plainFacts = jobFacts;
jobFacts = (run, j) => {
  const facts = plainFacts(run, j);
  for (const { name, words, of } of run.sharing ? run.sharing.facts : []) {
    if (words[of[j]]) facts.push([name, words[of[j]]]);
  }
  return facts;
};

const plainHosts = hostsOf;
hostsOf = (run, j) => plainHosts(run.sharing ? { ...run, rects: run.plainRects } : run, j);

const showPlainJob = Details.prototype.showJob;
Details.prototype.showJob = function (run, j) {
  showPlainJob.call(this, run, j);
  const links = linksOf(run, j);
  if (!links.length) return;
  const list = element("ol", { class: "messages linked" });
  for (const { from, to, kind } of links.slice(0, 100)) {
    const other = from === j ? to : from;
    const how = kind === 0 ? (from === j ? "runs again as" : "ran before as") : from === j ? "is waited for by" : "waits for";
    const button = element("button", { onclick: () => this.actions.choose({ run, job: other }) }, `${how} ${run.jobs.ids[other]}`);
    if (kind) button.append(element("small", {}, ` ${run.sharing.kinds[kind]}`));
    list.append(element("li", {}, button));
  }
  const place = this.body.querySelector("h3");
  const parts = [element("h3", {}, counted(links.length, "linked job")), list];
  if (place) place.before(...parts);
  else this.body.append(...parts);
};

/* The job at a place: rectangles are parts of rows. */
const plainJobAt = jobAt;
jobAt = (run, time, host, reach) => {
  if (!run.sharing) return plainJobAt(run, time, host, reach);
  const { rects } = run;
  let found = -1;
  let nearest = Infinity;
  const jobs = new Set();
  eachRect(rects, time - reach, time + reach, (i) => {
    if (host < rects.first[i] || host >= rects.last[i] + 1) return;
    jobs.add(rects.job[i]);
    const off = time < rects.from[i] ? rects.from[i] - time : time > rects.to[i] ? time - rects.to[i] : 0;
    if (off <= nearest) {
      nearest = off;
      found = rects.job[i];
    }
  });
  return { job: found, count: jobs.size };
};

/* Behind the jobs: the bands of GPUs, and lines between hosts */

const drawPlainOffDuty = drawOffDuty;
drawOffDuty = (context, run, box, view, theme) => {
  drawPlainOffDuty(context, run, box, view, theme);
  if (!run.sharing) return;
  const { gpus, band } = run.sharing;
  const { h0, h1 } = run.hosts;
  const perHost = box.h / (h1 - h0);
  if (perHost < LEAST_ROW) return;
  context.fillStyle = BANDS;
  for (let i = above(gpus, h0 - 1); i < gpus.length && gpus[i] < h1; i++) {
    context.fillRect(box.x, box.y + (gpus[i] + 1 - band - h0) * perHost, box.w, band * perHost);
  }
  context.fillStyle = theme.grid;
  for (let row = Math.ceil(h0); row < h1; row++) context.fillRect(box.x, Math.round(box.y + (row - h0) * perHost), box.w, 1);
};

const plainColoured = coloured;
coloured = (runs, way) => {
  const found = plainColoured(runs, way);
  const hasGpus = runs.some((run) => run.sharing && run.sharing.gpus.length);
  return hasGpus ? { ...found, legend: [...found.legend, ["GPUs of hosts", BANDS]] } : found;
};

/* Over the jobs: the lines from a life to the next one, and the borders of partitions */

const drawPlainJobs = Stage.prototype.drawJobs;
Stage.prototype.drawJobs = function (context, run, box, ticks) {
  drawPlainJobs.call(this, context, run, box, ticks);
  if (!run.sharing) return;
  const { from, to, kind } = run.sharing.links;
  this.clipped(context, box, () => {
    let drawn = 0;
    for (let i = 0; i < from.length && drawn < MOST_LINES; i++) {
      if (kind[i] === 0 && drawLink(context, run, from[i], to[i], box, this.view, { colour: this.theme.text, dash: [4, 3], alpha: 0.6 })) drawn++;
    }
  });
};

const drawPlainHosts = Stage.prototype.drawHosts;
Stage.prototype.drawHosts = function (context, run, box) {
  if (!run.sharing) return drawPlainHosts.call(this, context, run, box);
  const { groups, hosts } = run.sharing;
  const { h0, h1 } = run.hosts;
  const yOf = (row) => box.y + ((row - h0) / (h1 - h0)) * box.h;
  const step = Math.max(1, roundStep((h1 - h0) / Math.max(2, box.h / 42)));
  const isWide = box.x > 50;
  let last = -Infinity;
  for (let row = Math.ceil(h0 / step) * step; row < h1; row += step) {
    const y = yOf(row + 0.5);
    if (y < box.y - 1 || y - last < 14) continue;
    last = y;
    const host = hosts ? hosts[row] : row;
    const name = step === 1 && run.hostNames ? run.hostNames[host] || String(host) : String(host);
    this.text(context, name, box.x - 8, Math.max(y, box.y + 6), { align: "right", size: 10.5, room: box.x - (groups.length && isWide ? 28 : 12) });
  }
  if (!groups.length && isWide) this.sideways(context, "hosts", 11, box.y + box.h / 2);
  for (const { label, first, count } of groups) {
    const top = Math.max(yOf(first), box.y);
    const bottom = Math.min(yOf(first + count), box.y + box.h);
    if (bottom - top < 1) continue;
    context.fillStyle = this.theme.strong;
    if (yOf(first) > box.y) context.fillRect(isWide ? 4 : 0, Math.round(top) - 1, box.x + box.w - 4, 2);
    if (isWide && bottom - top >= 30) this.upright(context, label, 11, (top + bottom) / 2, bottom - top - 8);
    else if (bottom - top >= 12) this.label(context, label, box.x + 6, top + 8, box.w - 12);
  }
};

/* A text along the left side, as long as there is room. */
Stage.prototype.upright = function (context, text, x, y, room) {
  context.save();
  context.translate(x, y);
  context.rotate(-Math.PI / 2);
  this.text(context, text, 0, 0, { align: "center", size: 11, bold: true, room });
  context.restore();
};

/* Lines between jobs */

const outlinePlain = Pointing.prototype.outline;
Pointing.prototype.outline = function (context, chosen, colour, isThick) {
  outlinePlain.call(this, context, chosen, colour, isThick);
  if (!isThick) return;
  const { stage } = this;
  const { run, job } = chosen;
  const links = linksOf(run, job).slice(0, MOST_LINES);
  stage.clipped(context, run.boxes.jobs, () => {
    for (const { from, to, kind } of links) {
      const look = { colour: kind ? stage.theme.text : stage.theme.accent, thick: 2, head: true };
      const middle = drawLink(context, run, from, to, run.boxes.jobs, stage.view, look);
      if (middle && middle.isLong && kind && links.length <= MOST_LABELS) {
        const text = run.sharing.kinds[kind];
        stage.label(context, text, middle.x - stage.widthOf(context, text, true) / 2, middle.y, 200);
      }
    }
  });
};

/* A line from the end of a job to the start of another one; its middle, or null if one of them did not run. */
function drawLink(context, run, from, to, box, view, { colour, thick = 1.25, dash = [], alpha = 1, head = false }) {
  const { rects } = run;
  const [source, target] = [rects.firstOf[from], rects.firstOf[to]];
  if (source === rects.firstOf[from + 1] || target === rects.firstOf[to + 1]) return null;
  const { t0, t1 } = view.time;
  const { h0, h1 } = run.hosts;
  const xOf = (time) => box.x + ((time - t0) / (t1 - t0)) * box.w;
  const yOf = (i) => box.y + (((rects.first[i] + rects.last[i] + 1) / 2 - h0) / (h1 - h0)) * box.h;
  const [x0, y0, x1, y1] = [xOf(rects.to[source]), yOf(source), xOf(rects.from[target]), yOf(target)];
  const far = 4 * (box.w + box.h);
  const isOutside = Math.max(x0, x1) < box.x || Math.min(x0, x1) > box.x + box.w || Math.max(y0, y1) < box.y || Math.min(y0, y1) > box.y + box.h;
  if (isOutside || Math.abs(x1 - x0) > 50 * far || Math.abs(y1 - y0) > 50 * far) return null;
  const bend = Math.max(24, Math.min(120, Math.abs(x1 - x0) / 2));
  context.save();
  context.globalAlpha = alpha;
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = thick;
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(x0, y0);
  context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
  context.stroke();
  if (head) {
    context.setLineDash([]);
    context.beginPath();
    context.moveTo(x1, y1);
    context.lineTo(x1 - 9, y1 - 5);
    context.lineTo(x1 - 9, y1 + 5);
    context.fill();
  }
  context.restore();
  return { x: (x0 + x1) / 2, y: (y0 + y1) / 2, isLong: Math.hypot(x1 - x0, y1 - y0) > LEAST_LABELLED };
}
