/* Which part of the time and of the hosts is shown, and how it changes. It must not know of mice, keys and fingers. */

class Moving {
  constructor(stage) {
    this.stage = stage;
    this.runs = stage.runs;
  }

  setTime(t0, t1, isMoving = true) {
    const { start, end } = this.stage.view;
    const span = end - start;
    const least = Math.max(span * 1e-9, 1e-6);
    const width = Math.min(Math.max(t1 - t0, least), 1.2 * span);
    let from = (t0 + t1 - width) / 2;
    from = Math.min(Math.max(from, start - 0.1 * span), end + 0.1 * span - width);
    this.stage.view.time = { t0: from, t1: from + width };
    this.moved(isMoving);
  }

  /* Runs of equally many hosts move together. */
  setHosts(run, h0, h1, isMoving = true) {
    const count = Math.max(1, run.hostCount);
    const width = Math.min(Math.max(h1 - h0, Math.min(2, count)), count);
    const from = Math.min(Math.max((h0 + h1 - width) / 2, 0), count - width);
    for (const each of this.runs) if (each.hostCount === run.hostCount) each.hosts = { h0: from, h1: from + width };
    this.moved(isMoving);
  }

  moved(isMoving) {
    this.stage.redraw(isMoving);
    clearTimeout(this.settling);
    if (isMoving) this.settling = setTimeout(() => this.stage.redraw(), 120);
  }

  zoom(factor, time) {
    const { t0, t1 } = this.stage.view.time;
    const at = time ?? (t0 + t1) / 2;
    this.setTime(at + (t0 - at) * factor, at + (t1 - at) * factor);
  }

  zoomHosts(run, factor, host) {
    const { h0, h1 } = run.hosts;
    this.setHosts(run, host + (h0 - host) * factor, host + (h1 - host) * factor);
  }

  pan(x, y = 0, run = null) {
    const { t0, t1 } = this.stage.view.time;
    const time = (x / this.stage.overviewBox.w) * (t1 - t0);
    if (x) this.setTime(t0 + time, t1 + time);
    if (y && run) {
      const { h0, h1 } = run.hosts;
      const hosts = (y / run.boxes.jobs.h) * (h1 - h0);
      this.setHosts(run, h0 + hosts, h1 + hosts);
    }
  }

  fit() {
    this.stage.fitAll();
    this.moved(false);
  }

  /* Goes there in a quarter of a second, or at once where people want no movement. */
  glide(t0, t1) {
    const from = { ...this.stage.view.time };
    const began = performance.now();
    const time = matchMedia("(prefers-reduced-motion: reduce)").matches ? 0 : 250;
    const step = () => {
      const share = time ? Math.min(1, (performance.now() - began) / time) : 1;
      const eased = 1 - (1 - share) ** 3;
      this.setTime(from.t0 + (t0 - from.t0) * eased, from.t1 + (t1 - from.t1) * eased, share < 1);
      if (share < 1) requestAnimationFrame(step);
    };
    step();
  }

  zoomToJob(run, job) {
    const { submitted, started, finished } = run.jobs;
    const times = [submitted[job], started[job], finished[job]].filter((time) => time === time);
    if (!times.length) return;
    const [first, last] = [Math.min(...times), Math.max(...times)];
    const margin = Math.max(0.35 * (last - first), (this.stage.view.end - this.stage.view.start) * 1e-4);
    this.glide(first - margin, last + margin);
    this.showHosts(run, job);
  }

  /* So that a job on few of many hosts is not a line of less than a pixel. */
  showHosts(run, job) {
    const { rects } = run;
    const [begin, end] = [rects.firstOf[job], rects.firstOf[job + 1]];
    if (begin === end) return;
    let low = Infinity;
    let high = 0;
    for (let i = begin; i < end; i++) {
      low = Math.min(low, rects.first[i]);
      high = Math.max(high, rects.last[i] + 1);
    }
    const room = Math.max(3 * (high - low), run.boxes.jobs.h / 14);
    if (room >= run.hostCount) this.setHosts(run, 0, run.hostCount);
    else this.setHosts(run, (low + high - room) / 2, (low + high + room) / 2);
  }
}
