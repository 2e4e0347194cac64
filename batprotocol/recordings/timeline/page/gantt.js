/* Jobs on hosts over time, in levels of detail: what is large enough is drawn with edges and names, what is smaller than
   a pixel adds its share to the pixels that it lies in, so that millions of rectangles become densities. */

const LARGE = 2; // pixels from which on, both ways, a rectangle is drawn by itself
const SHORTEST = 0.01; // pixels: what took no time is to be seen, too
const MOST_NAMES = 400;

/* A picture in memory, with whole pixels and, for what is smaller, sums of colours weighted by shares. */
class Raster {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d");
    this.width = this.height = 0;
  }

  clear(width, height) {
    if (width !== this.width || height !== this.height) {
      this.canvas.width = this.width = width;
      this.canvas.height = this.height = height;
      this.image = this.context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.sums = new Float32Array(4 * width * height);
    } else {
      this.pixels.fill(0);
      if (this.hasSums) this.sums.fill(0);
    }
    this.hasSums = false;
  }

  /* A rectangle of whole pixels with a darker edge to the right and below. */
  fill(left, top, right, bottom, colour, edge) {
    const { pixels, width } = this;
    const edged = right - left > 3;
    const below = bottom - top > 3 ? bottom - 1 : bottom;
    for (let y = top; y < below; y++) {
      pixels.fill(colour, y * width + left, y * width + right);
      if (edged) pixels[y * width + right - 1] = edge;
    }
    if (below < bottom) pixels.fill(edge, below * width + left, below * width + right);
  }

  /* Less than a pixel: to each pixel that it reaches into, its colour with the share of the pixel that it covers. */
  add(left, top, right, bottom, [red, green, blue]) {
    this.hasSums = true;
    const { sums, width, height } = this;
    const lastX = Math.min(width - 1, Math.ceil(right) - 1);
    const lastY = Math.min(height - 1, Math.ceil(bottom) - 1);
    for (let y = Math.max(0, Math.floor(top)); y <= lastY; y++) {
      const tall = Math.min(bottom, y + 1) - Math.max(top, y);
      for (let x = Math.max(0, Math.floor(left)); x <= lastX; x++) {
        const share = tall * (Math.min(right, x + 1) - Math.max(left, x));
        const at = 4 * (y * width + x);
        sums[at] += share * red;
        sums[at + 1] += share * green;
        sums[at + 2] += share * blue;
        sums[at + 3] += share;
      }
    }
  }

  finish() {
    if (this.hasSums) {
      const { sums } = this;
      const data = this.image.data;
      for (let at = 0; at < sums.length; at += 4) {
        const share = sums[at + 3];
        if (share === 0) continue;
        const cover = share < 1 ? share : 1;
        const before = data[at + 3] / 255;
        const alpha = cover + before * (1 - cover);
        for (let each = 0; each < 3; each++) {
          data[at + each] = (sums[at + each] / share * cover + data[at + each] * before * (1 - cover)) / alpha;
        }
        data[at + 3] = Math.max(255 * alpha, 40); // what ran is to be seen, however short
      }
    }
    this.context.putImageData(this.image, 0, 0);
    return this.canvas;
  }
}

/* Draws the jobs of a run into the raster, and returns the rectangles with room for a name: [job, x, y, w, h], in
   shares of the picture. */
function drawJobs(raster, run, view, colours) {
  const { rects } = run;
  const { width, height } = raster;
  const { t0, t1 } = view.time;
  const { h0, h1 } = run.hosts;
  const perSecond = width / (t1 - t0);
  const perHost = height / (h1 - h0);
  const names = [];
  const roomX = 34 * view.scale;
  const roomY = 11 * view.scale;
  eachRect(rects, t0, t1, (i) => {
    const top = (rects.first[i] - h0) * perHost;
    const bottom = (rects.last[i] + 1 - h0) * perHost;
    if (bottom <= 0 || top >= height) return;
    const left = Math.max(0, (rects.from[i] - t0) * perSecond);
    const right = Math.min(width, (rects.to[i] - t0) * perSecond);
    const colour = run.colours[rects.job[i]];
    if (right - left >= LARGE && bottom - top >= LARGE) {
      const x = Math.round(left);
      const y = Math.max(0, Math.round(top));
      const stopX = Math.round(right);
      const stopY = Math.min(height, Math.round(bottom));
      raster.fill(x, y, stopX, stopY, colours.fill[colour], colours.edge[colour]);
      if (stopX - x > roomX && stopY - y > roomY && names.length < MOST_NAMES) names.push([rects.job[i], x, y, stopX - x, stopY - y]);
    } else {
      raster.add(left, Math.max(0, top), Math.max(right, left + SHORTEST), Math.min(height, bottom), right - left < 1 ? colours.small[colour] : colours.parts[colour]);
    }
  });
  return names;
}

/* Why hosts are off duty, in the order of their numbers: the colour, and the name in the legend. */
const OFF_DUTY = [
  ["off", "hosts off"],
  ["switching", "hosts switching"],
  ["down", "hosts down"],
  ["drained", "hosts drained"],
  ["closed", "closed windows"],
  ["reserved", "reservations"],
];

/* Hosts that were switched off or on their way, away or reserved, behind the jobs. */
function drawOffDuty(context, run, box, view, theme) {
  const { first, last, from, to, kind } = run.offDuty;
  const { t0, t1 } = view.time;
  const { h0, h1 } = run.hosts;
  for (let i = 0; i < first.length; i++) {
    if (to[i] < t0 || from[i] > t1 || last[i] + 1 < h0 || first[i] > h1) continue;
    const x = box.x + Math.max(0, ((from[i] - t0) / (t1 - t0)) * box.w);
    const stop = box.x + Math.min(box.w, ((to[i] - t0) / (t1 - t0)) * box.w);
    const y = box.y + Math.max(0, ((first[i] - h0) / (h1 - h0)) * box.h);
    const below = box.y + Math.min(box.h, ((last[i] + 1 - h0) / (h1 - h0)) * box.h);
    context.fillStyle = theme[OFF_DUTY[kind[i]][0]];
    context.fillRect(x, y, Math.max(0.5, stop - x), below - y);
  }
}

function drawNames(context, run, names, box, view, colours) {
  context.font = `10.5px ${FONT}`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (const [job, x, y, w, h] of names) {
    const [red, green, blue] = colours.parts[run.colours[job]];
    context.fillStyle = 0.3 * red + 0.59 * green + 0.11 * blue > 140 ? "rgba(0,0,0,.82)" : "rgba(255,255,255,.95)";
    const id = run.jobs.ids[job];
    const room = w / view.scale - 8;
    const text = fitting(context, id, room) || fitting(context, id.slice(id.indexOf("!") + 1), room);
    if (text) context.fillText(text, box.x + x / view.scale + 4, box.y + (y + h / 2) / view.scale);
  }
}

function fitting(context, text, room) {
  const short = text.length > 60 ? `${text.slice(0, 59)}…` : text;
  return context.measureText(short).width <= room ? short : "";
}

/* The outline of a job that is chosen or pointed at, and since when it had waited. */
function drawOutline(context, run, job, box, view, colour, thick) {
  const { rects, jobs } = run;
  const { t0, t1 } = view.time;
  const { h0, h1 } = run.hosts;
  const xOf = (time) => box.x + ((time - t0) / (t1 - t0)) * box.w;
  const yOf = (host) => box.y + ((host - h0) / (h1 - h0)) * box.h;
  context.save();
  context.beginPath();
  context.rect(box.x, box.y, box.w, box.h);
  context.clip();
  context.strokeStyle = context.fillStyle = colour;
  for (let i = rects.firstOf[job]; i < rects.firstOf[job + 1]; i++) {
    const x = xOf(rects.from[i]);
    const y = yOf(rects.first[i]);
    const w = Math.max(xOf(rects.to[i]) - x, 2);
    const h = Math.max(yOf(rects.last[i] + 1) - y, 2);
    const waits = xOf(jobs.submitted[job]);
    if (thick && x - waits > 2) {
      context.globalAlpha = 0.8;
      context.lineWidth = 1;
      context.setLineDash([3, 3]);
      context.beginPath();
      context.moveTo(Math.max(waits, box.x - 5), y + h / 2);
      context.lineTo(x, y + h / 2);
      context.stroke();
      context.setLineDash([]);
      context.fillRect(waits - 1, y + h / 2 - 4, 2, 8);
      context.globalAlpha = 1;
    }
    context.lineWidth = thick ? 2 : 1.5;
    context.strokeRect(Math.max(x, box.x - 5), y, Math.min(w, box.w + 10 - Math.max(0, x - box.x)), h);
  }
  context.restore();
}

/* The job at a time and a host, or the nearest within `reach` seconds; of several, the one that began last. */
function jobAt(run, time, host, reach) {
  const { rects } = run;
  const row = Math.floor(host);
  let found = -1;
  let nearest = Infinity;
  let count = 0;
  eachRect(rects, time - reach, time + reach, (i) => {
    if (row < rects.first[i] || row > rects.last[i]) return;
    count++;
    const off = time < rects.from[i] ? rects.from[i] - time : time > rects.to[i] ? time - rects.to[i] : 0;
    if (off <= nearest) {
      nearest = off;
      found = rects.job[i];
    }
  });
  return { job: found, count };
}
