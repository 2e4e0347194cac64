/* The lanes below the jobs: series over time, and the messages as marks. */

/* A series in its box. Where there are more points than pixels, each column shows from the least to the
   greatest, and the mean. */
function drawSeries(context, series, box, view, highest, colour, isFilled) {
  const { times, values, step } = series;
  const { t0, t1 } = view.time;
  const xOf = (time) => box.x + ((time - t0) / (t1 - t0)) * box.w;
  const yOf = (value) => box.y + box.h - (Math.max(0, Math.min(value, highest)) / highest) * box.h;
  const begin = Math.max(0, above(times, t0) - 1);
  const end = Math.min(times.length, above(times, t1) + 1);
  if (begin >= end) return;
  context.save();
  context.beginPath();
  context.rect(box.x, box.y - 1, box.w, box.h + 2);
  context.clip();
  context.fillStyle = context.strokeStyle = colour;
  if (end - begin < box.w * 1.5) drawEach();
  else drawColumns();
  context.restore();

  function drawEach() {
    const path = new Path2D();
    path.moveTo(xOf(times[begin]), yOf(values[begin]));
    for (let i = begin + 1; i < end; i++) {
      if (step) path.lineTo(xOf(times[i]), yOf(values[i - 1]));
      path.lineTo(xOf(times[i]), yOf(values[i]));
    }
    const last = step && end === times.length ? Math.min(view.end, t1) : times[end - 1];
    path.lineTo(xOf(last), yOf(values[end - 1]));
    if (isFilled) {
      const area = new Path2D(path);
      area.lineTo(xOf(last), box.y + box.h);
      area.lineTo(xOf(times[begin]), box.y + box.h);
      context.globalAlpha = 0.18;
      context.fill(area);
      context.globalAlpha = 1;
    }
    context.lineWidth = 1.25;
    context.lineJoin = "round";
    context.stroke(path);
    if (!step && end - begin < box.w / 8) {
      for (let i = begin; i < end; i++) context.fillRect(xOf(times[i]) - 1.5, yOf(values[i]) - 1.5, 3, 3);
    }
  }

  function drawColumns() {
    let i = above(times, t0);
    const path = new Path2D();
    for (let x = 0; x < box.w; x++) {
      const stop = Math.max(above(times, t0 + ((x + 1) / box.w) * (t1 - t0)), i);
      if (stop === 0) continue;
      const first = i > 0 && (step || i === stop) ? i - 1 : i;
      const [low, high] = extremes(series, first, stop);
      i = stop;
      if (low > high) continue;
      const top = yOf(high);
      const bottom = yOf(low);
      const [from, to] = [x, x + 1].map((each) => t0 + (each / box.w) * (t1 - t0));
      const y = Math.min(Math.max(yOf(meanOf(series, first, stop, from, to)), top), bottom);
      context.globalAlpha = 0.3;
      context.fillRect(box.x + x, top, 1, bottom - top);
      if (isFilled) {
        context.globalAlpha = 0.18;
        context.fillRect(box.x + x, bottom, 1, box.y + box.h - bottom);
      }
      path.lineTo(box.x + x + 0.5, y); // the first one only moves there
    }
    context.globalAlpha = 1;
    context.lineWidth = 1.25;
    context.stroke(path);
  }
}

/* What a series was at a time, or NaN. */
function valueAt(series, time) {
  const after = above(series.times, time);
  return after > 0 ? series.values[after - 1] : NaN;
}

/* The messages of one side as marks: each by itself where there is room, else as a density. */
function drawMarks(context, run, side, box, view, theme) {
  const { time, kind } = run.messages;
  const numbers = run.messages.bySender[side];
  const at = (place) => time[numbers[place]];
  const { t0, t1 } = view.time;
  const first = placeAbove(numbers, time, t0);
  const last = placeAbove(numbers, time, t1);
  const xOf = (value) => box.x + ((value - t0) / (t1 - t0)) * box.w;
  const middle = box.y + box.h / 2;
  if (last - first <= box.w / 5) {
    for (let place = first; place < last; place++) {
      const x = xOf(at(place));
      context.fillStyle = kindColour(run, kind[numbers[place]], side);
      context.beginPath();
      context.moveTo(x - 4, middle + (side ? 4 : -4));
      context.lineTo(x + 4, middle + (side ? 4 : -4));
      context.lineTo(x, middle + (side ? -4 : 4));
      context.fill();
    }
    return;
  }
  context.fillStyle = SENDERS[side];
  const counts = new Uint32Array(Math.ceil(box.w));
  for (let x = 0, place = first; x < counts.length; x++) {
    const stop = placeAbove(numbers, time, t0 + ((x + 1) / box.w) * (t1 - t0));
    counts[x] = stop - place;
    place = stop;
  }
  const most = Math.log1p(counts.reduce((one, other) => Math.max(one, other), 1));
  for (let x = 0; x < counts.length; x++) {
    context.globalAlpha = counts[x] ? 0.2 + (0.8 * Math.log1p(counts[x])) / most : 0;
    context.fillRect(box.x + x, box.y + 1, 1, box.h - 2);
  }
  context.globalAlpha = 1;
}

function placeAbove(numbers, time, wanted) {
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (time[numbers[middle]] <= wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

function kindColour(run, kind, side) {
  const name = run.words.kind[kind];
  const found = KINDS.find(([pattern]) => pattern.test(name));
  return found ? found[1] : name ? SENDERS[side] : OTHERS;
}

/* The message of a side that is nearest to a time, no further than `reach` seconds; -1 if there is none. */
function messageAt(run, side, time, reach) {
  const numbers = run.messages.bySender[side];
  const after = placeAbove(numbers, run.messages.time, time);
  let found = -1;
  let nearest = reach;
  for (const place of [after - 1, after]) {
    if (place < 0 || place >= numbers.length) continue;
    const off = Math.abs(run.messages.time[numbers[place]] - time);
    if (off <= nearest) {
      nearest = off;
      found = numbers[place];
    }
  }
  return found;
}
