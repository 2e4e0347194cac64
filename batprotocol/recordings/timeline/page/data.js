/* What the page holds: packed columns -> typed arrays, and the indexes over them. It must not know of pixels. */

const ARRAYS = { f64: Float64Array, u32: Uint32Array, u16: Uint16Array, u8: Uint8Array };
const BLOCK = 128; // rectangles that are skipped together
const FAN = 8; // points of a series that a point of the level above stands for

function bytesOf(base64) {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

async function inflated(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/* A packed run is the size of its header, the header, and the columns, each as planes: all first bytes, all second
   ones... , which deflate to half of what they do side by side. */
async function unpacked(base64) {
  const bytes = await inflated(bytesOf(base64));
  const size = new DataView(bytes.buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + size)));
  let place = 4 + size;
  const columns = {};
  for (const [name, type, length] of header.columns) {
    const values = new ARRAYS[type](length);
    const planes = new Uint8Array(values.buffer);
    const width = values.BYTES_PER_ELEMENT;
    for (let plane = 0; plane < width; plane++) {
      for (let i = 0, to = plane; i < length; i++, to += width) planes[to] = bytes[place + i];
      place += length;
    }
    columns[name] = values;
  }
  return { header, columns };
}

async function readRun(number, element) {
  const { header, columns } = await unpacked(element.textContent);
  const run = {
    number,
    name: header.name,
    facts: header.facts,
    hostCount: header.host_count,
    hostNames: header.host_names,
    start: header.start,
    end: header.end,
    words: header.words,
    jobs: {
      count: header.ids.length,
      ids: header.ids,
      submitted: columns.submitted,
      started: columns.started,
      finished: columns.finished,
      walltime: columns.walltime,
      requested: columns.requested,
      state: columns.state,
      profile: columns.profile,
      workload: columns.workload,
      user: columns.user,
      rects: columns.rects,
    },
    allSeries: header.series.map((each, i) => levelled(each, columns[`times${i}`], columns[`values${i}`])),
    messages: {
      count: columns.message_time.length,
      time: columns.message_time,
      kind: columns.message_kind,
      events: columns.message_events,
      sender: columns.message_sender,
      ofJob: columns.messages_of_job,
      begin: columns.messages_begin,
      texts: header.texts,
      block: header.block,
      hint: header.hint,
    },
  };
  run.series = run.allSeries.filter((each) => !each.hidden);
  run.unused = run.allSeries.find((each) => each.hidden);
  run.rects = indexed(run, columns.first, columns.last);
  run.offDuty = { first: columns.off_first, last: columns.off_last, from: columns.off_from, to: columns.off_to, kind: columns.off_kind };
  run.messages.bySender = [0, 1].map((side) => Uint32Array.from(where(run.messages.sender, side)));
  return run;
}

function* where(values, wanted) {
  for (let i = 0; i < values.length; i++) if (values[i] === wanted) yield i;
}

/* The rectangles, which are sorted by their start, with the last end of each block of them. A job that has not ended
   lasts to the end of the run. */
function indexed(run, first, last) {
  const { started, finished, rects } = run.jobs;
  const count = first.length;
  const job = new Uint32Array(count);
  const from = new Float64Array(count);
  const to = new Float64Array(count);
  const blockEnd = new Float64Array(Math.ceil(count / BLOCK)).fill(-Infinity);
  for (let j = 0, i = 0; j < rects.length; j++) {
    const end = finished[j] === finished[j] ? finished[j] : run.end;
    for (const stop = i + rects[j]; i < stop; i++) {
      job[i] = j;
      from[i] = started[j];
      to[i] = end;
      const block = (i / BLOCK) | 0;
      if (end > blockEnd[block]) blockEnd[block] = end;
    }
  }
  const firstOf = new Uint32Array(rects.length + 1);
  for (let j = 0; j < rects.length; j++) firstOf[j + 1] = firstOf[j] + rects[j];
  return { count, job, first, last, from, to, blockEnd, firstOf };
}

/* Where the first value is that is greater than `wanted`; the values ascend. */
function above(values, wanted) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] <= wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

/* Calls `use` with the number of each rectangle that reaches into the time from t0 to t1, in the order of starts. */
function eachRect(rects, t0, t1, use) {
  const end = above(rects.from, t1);
  for (let begin = 0; begin < end; begin += BLOCK) {
    if (rects.blockEnd[(begin / BLOCK) | 0] < t0) continue;
    const stop = Math.min(begin + BLOCK, end);
    for (let i = begin; i < stop; i++) if (rects.to[i] >= t0) use(i);
  }
}

/* A series with the least and the greatest of every FAN values, and of every FAN of these..., and with what it adds up to
   until each of its times: values times seconds, or of measures the values. */
function levelled(series, times, values) {
  const levels = [{ low: values, high: values }];
  let highest = 0;
  for (const value of values) if (value > highest) highest = value;
  for (let below = levels[0]; below.low.length > FAN; below = levels[levels.length - 1]) {
    const size = Math.ceil(below.low.length / FAN);
    const low = new Float64Array(size).fill(Infinity);
    const high = new Float64Array(size).fill(-Infinity);
    for (let i = 0; i < below.low.length; i++) {
      const to = (i / FAN) | 0;
      if (below.low[i] < low[to]) low[to] = below.low[i];
      if (below.high[i] > high[to]) high[to] = below.high[i];
    }
    levels.push({ low, high });
  }
  const sums = new Float64Array(values.length + 1);
  for (let i = 0; i < values.length; i++) {
    const weight = series.step ? (i + 1 < values.length ? times[i + 1] - times[i] : 0) : 1;
    sums[i + 1] = sums[i] + values[i] * weight;
  }
  return { ...series, times, values, levels, highest, sums };
}

/* The mean of a series over a span of time, in which its values from begin to end are; `begin` is where it starts. */
function meanOf(series, begin, end, from, to) {
  const { times, values, sums } = series;
  if (!series.step) return (sums[end] - sums[begin]) / (end - begin);
  const until = (place, time) => sums[place] + (place < values.length ? values[place] * (time - times[place]) : 0);
  const [first, last] = [Math.max(0, begin), end - 1];
  const start = Math.max(from, times[first]);
  return to > start ? (until(last, to) - until(first, start)) / (to - start) : values[last];
}

/* The least and the greatest of the values from begin to end, in steps that grow with the logarithm of their number. */
function extremes(series, begin, end) {
  let low = Infinity;
  let high = -Infinity;
  const see = (level, i) => {
    if (level.low[i] < low) low = level.low[i];
    if (level.high[i] > high) high = level.high[i];
  };
  for (let depth = 0; begin < end; depth++) {
    const level = series.levels[depth];
    const isTop = depth + 1 === series.levels.length;
    while (begin < end && (isTop || begin % FAN)) see(level, begin++);
    while (begin < end && end % FAN) see(level, --end);
    begin /= FAN;
    end /= FAN;
  }
  return [low, high];
}

/* The text of a message as `batproto dump` prints it, or null where the page has not got it. */
const blocks = new Map();
async function textOf(run, message) {
  if (message >= run.messages.texts) return null;
  const id = `text-${run.number}-${Math.floor(message / run.messages.block)}`;
  if (!blocks.has(id)) {
    if (blocks.size > 64) blocks.clear();
    const bytes = await inflated(bytesOf(document.getElementById(id).textContent));
    blocks.set(id, JSON.parse(new TextDecoder().decode(bytes)));
  }
  return blocks.get(id)[message % run.messages.block];
}

/* Which job has this full name, or -1. */
function jobNamed(run, id) {
  if (!run.numbers) {
    run.numbers = new Map();
    run.jobs.ids.forEach((each, number) => run.numbers.set(each, number));
  }
  return run.numbers.has(id) ? run.numbers.get(id) : -1;
}

/* The first jobs whose names are `words`, or begin with them behind their workload's, or hold them. */
function jobsLike(run, words, most) {
  const ids = run.jobs.ids;
  const ranks = [[], [], []];
  const wanted = words.toLowerCase();
  for (let j = 0; j < ids.length && ranks[0].length < most; j++) {
    const id = ids[j].toLowerCase();
    const place = id.indexOf(wanted);
    if (place < 0) continue;
    const own = id.indexOf("!") + 1;
    const rank = id === wanted || id.slice(own) === wanted ? 0 : place === 0 || place === own ? 1 : 2;
    if (ranks[rank].length < most) ranks[rank].push(j);
  }
  return ranks.flat().slice(0, most);
}
