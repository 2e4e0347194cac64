/* What is below the pointer, and the canvas on top, which changes with it. It must not know of fingers and keys. */

const REACH = 6; // pixels that a click may be off

class Pointing extends Moving {
  under(x, y) {
    const { stage } = this;
    const place = stage.at(x, y);
    const time = stage.timeAt(x);
    const reach = (REACH / stage.overviewBox.w) * (stage.view.time.t1 - stage.view.time.t0);
    if (x < stage.overviewBox.x - 2) return { ...place, time };
    if (place.part === "jobs") return { ...place, time, ...jobAt(place.run, time, stage.hostAt(place.run, y), reach / 2) };
    if (place.part === "marks") return { ...place, time, message: messageAt(place.run, place.box.side, time, reach) };
    return { ...place, time };
  }

  point(event) {
    const { x, y } = this.placeOf(event);
    const found = this.under(x, y);
    this.cursor = found.part && x >= this.stage.overviewBox.x ? x : null;
    this.pointed = found.job >= 0 ? { run: found.run, job: found.job } : null;
    if (found.job >= 0) this.details.tipOfJob(event.clientX, event.clientY, found.run, found.job, found.count);
    else if (found.message >= 0) this.details.tipOfMessage(event.clientX, event.clientY, found.run, found.message);
    else if (found.part === "lane") this.details.tipOfLane(event.clientX, event.clientY, found.run, found.box.lane, found.time);
    else this.details.hideTip();
    this.root.style.cursor = found.job >= 0 || found.message >= 0 ? "pointer" : "";
    this.drawCover();
  }

  /* What was below the pointer has moved: the box about it is wrong until the pointer moves. */
  unpoint() {
    this.pointed = null;
    this.details.hideTip();
  }

  moved(isMoving) {
    if (this.details) this.unpoint();
    super.moved(isMoving);
  }

  placeOf(event) {
    const box = this.root.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /* The canvas above: what changes with the pointer */

  drawCover() {
    const { stage } = this;
    const context = stage.cover.getContext("2d");
    context.setTransform(stage.ratio, 0, 0, stage.ratio, 0, 0);
    context.clearRect(0, 0, stage.width, stage.height);
    const bottom = stage.axisY();
    context.save();
    context.translate(0, -stage.scrolled);
    if (this.pointed) this.outline(context, this.pointed, stage.theme.text, false);
    if (this.chosen && this.chosen.job >= 0) this.outline(context, this.chosen, stage.theme.accent, true);
    if (this.chosen && this.chosen.message >= 0) this.ring(context, this.chosen);
    context.restore();
    if (this.cursor !== null) {
      context.strokeStyle = stage.theme.faint;
      context.setLineDash([2, 3]);
      context.beginPath();
      context.moveTo(Math.round(this.cursor) + 0.5, stage.overviewBox.y + stage.overviewBox.h);
      context.lineTo(Math.round(this.cursor) + 0.5, bottom);
      context.stroke();
      context.setLineDash([]);
      this.flag(context, this.cursor, bottom);
    }
    if (this.frame) {
      const { x0, y0, x1, y1 } = this.frame;
      context.fillStyle = stage.theme.shade;
      context.strokeStyle = stage.theme.accent;
      context.fillRect(Math.min(x0, x1), Math.min(y0, y1), Math.abs(x1 - x0), Math.abs(y1 - y0));
      context.strokeRect(Math.min(x0, x1) + 0.5, Math.min(y0, y1) + 0.5, Math.abs(x1 - x0), Math.abs(y1 - y0));
    }
  }

  /* The job in its run, and its namesake in the other one. */
  outline(context, { run, job }, colour, isThick) {
    drawOutline(context, run, job, run.boxes.jobs, this.stage.view, colour, isThick);
    for (const other of this.runs) {
      const there = other === run ? -1 : jobNamed(other, run.jobs.ids[job]);
      if (there >= 0) drawOutline(context, other, there, other.boxes.jobs, this.stage.view, colour, isThick);
    }
  }

  ring(context, { run, message }) {
    const x = this.stage.xOf(run.messages.time[message]);
    const box = run.boxes.marks[run.messages.sender[message]];
    if (x < box.x - 1 || x > box.x + box.w + 1) return;
    context.strokeStyle = this.stage.theme.accent;
    context.lineWidth = 2;
    context.strokeRect(x - 6, box.y - 1, 12, box.h + 2);
  }

  flag(context, x, y) {
    const { stage } = this;
    const { t0, t1 } = stage.view.time;
    const step = ((t1 - t0) / stage.overviewBox.w) * 2;
    const time = stage.timeAt(x);
    const text = stage.view.isClock && step >= 0.5 && time >= DAY ? `${Math.floor(time / DAY)} d ${clock(time % DAY || 0.001, Math.min(step, HOUR))}`
      : stage.view.isClock ? clock(time, Math.min(roundStep(step), HOUR)) : `${number(time, Math.max(0, Math.ceil(-Math.log10(step))))} s`;
    const width = stage.widthOf(context, text, true) + 12;
    const left = Math.min(Math.max(x - width / 2, 2), stage.width - width - 2);
    context.fillStyle = stage.theme.accent;
    context.beginPath();
    context.roundRect(left, y + 4, width, 19, 4);
    context.fill();
    context.fillStyle = "#fff";
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.fillText(text, left + width / 2, y + 14);
  }
}
