/* Numbers as people read them, ticks of axes, and colours. */

const MINUTE = 60;
const HOUR = 3600;
const DAY = 86400;
const CLOCK_STEPS = [
  1, 2, 5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR,
  6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 5 * DAY, 10 * DAY, 20 * DAY, 50 * DAY, 100 * DAY, 200 * DAY, 500 * DAY,
];
const PREFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];

function number(value, digits = 6) {
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

function counted(count, noun) {
  return `${number(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/* 1234567 W -> 1.23 MW */
function withPrefix(value, unit) {
  for (const [factor, prefix] of PREFIXES) {
    if (Math.abs(value) >= factor && (unit || factor < 1e12)) {
      return `${+(value / factor).toPrecision(3)}${unit ? ` ${prefix}${unit}` : ` ${prefix}`}`;
    }
  }
  return `${+value.toPrecision(3)}${unit ? ` ${unit}` : ""}`;
}

/* Seconds, and from a minute on what they are in larger units. */
function duration(seconds) {
  const text = `${number(seconds, Math.abs(seconds) < 10 ? 6 : 3)} s`;
  const size = Math.abs(seconds);
  if (!(size >= MINUTE)) return text;
  const [factor, unit] = size >= DAY ? [DAY, "d"] : size >= HOUR ? [HOUR, "h"] : [MINUTE, "min"];
  return `${text} (${+(seconds / factor).toPrecision(3)} ${unit})`;
}

function roundStep(least) {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= least * (1 - 1e-9));
}

/* The ticks of a time axis: [time, label, whether it is a heavy one]. */
function timeTicks(t0, t1, room, isClock) {
  const least = (t1 - t0) / room;
  let step = roundStep(least);
  if (isClock && least > 0.5) step = CLOCK_STEPS.find((each) => each >= least) || DAY * roundStep(least / DAY);
  const ticks = [];
  for (let i = Math.ceil(t0 / step - 1e-9); i * step <= t1 + step * 1e-9 && ticks.length < 1000; i++) {
    const time = i * step || 0; // not -0
    ticks.push([time, isClock ? clock(time, step) : `${number(time, Math.max(0, Math.ceil(-Math.log10(step))))} s`,
      isClock ? step < DAY && time % DAY === 0 : i === 0]);
  }
  return ticks;
}

function clock(time, step) {
  const sign = time < 0 ? "−" : "";
  const digits = Math.max(0, Math.ceil(-Math.log10(step) - 1e-9));
  const whole = Math.round(Math.abs(time) * 10 ** digits) / 10 ** digits;
  const days = Math.floor(whole / DAY);
  const rest = whole - days * DAY;
  if (step >= DAY || (rest === 0 && days)) return `${sign}${days} d`;
  const hours = Math.floor(rest / HOUR);
  const minutes = Math.floor((rest - hours * HOUR) / MINUTE);
  const pad = (value) => String(value).padStart(2, "0");
  if (step >= MINUTE) return `${sign}${pad(hours)}:${pad(minutes)}`;
  const seconds = rest - hours * HOUR - minutes * MINUTE;
  return `${sign}${pad(hours)}:${pad(minutes)}:${seconds.toFixed(digits).padStart(digits ? digits + 3 : 2, "0")}`;
}

/* Beside a clock without days: which day it is. */
function dayOf(time) {
  return `day ${Math.floor(time / DAY)}`;
}

function niceCeiling(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].map((each) => each * power).find((each) => each >= value * (1 - 1e-9));
}

/* Colours: `COLOURS` is colours.json */

const { hues: HUES, others: OTHERS, states: STATES, waiting: WAITING, lines: LINES, senders: SENDERS, kinds } = COLOURS;
const KINDS = kinds.map(([pattern, colour]) => [new RegExp(pattern), colour]);

function channels(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

/* A colour as it lies in memory behind an ImageData, and a darker one for edges. */
function pixel([red, green, blue], factor = 1) {
  return ((255 << 24) | (Math.round(blue * factor) << 16) | (Math.round(green * factor) << 8) | Math.round(red * factor)) >>> 0;
}

function hashOf(text) {
  let hash = 2166136261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16777619);
  return (hash ^ (hash >>> 15)) >>> 0;
}

/* For each way to colour: the palette, and which of its colours each job has. */
const COLOURINGS = {
  job: (runs) => ({
    palette: HUES,
    legend: [],
    of: (run, j) => hashOf(run.jobs.ids[j]) % HUES.length,
  }),
  state: (runs) => ({
    palette: STATES.map(([, colour]) => colour),
    legend: STATES.filter((_, state) => runs.some((run) => run.jobs.state.includes(state))),
    of: (run, j) => run.jobs.state[j],
  }),
  waiting: () => ({
    palette: WAITING.map(([, , colour]) => colour),
    legend: WAITING.map(([, name, colour]) => [name, colour]),
    of: (run, j) => {
      const waited = run.jobs.started[j] - run.jobs.submitted[j];
      return waited === waited ? WAITING.findIndex(([most]) => most === null || waited <= most) : 0;
    },
  }),
  user: (runs) => ofWords(runs, "user"),
  profile: (runs) => ofWords(runs, "profile"),
  workload: (runs) => ofWords(runs, "workload"),
};

/* The words that most jobs have get a colour each; the others share one. */
function ofWords(runs, column) {
  const counts = new Map();
  for (const run of runs) {
    const words = run.words[column];
    for (const each of run.jobs[column]) counts.set(words[each], (counts.get(words[each]) || 0) + 1);
  }
  const frequent = [...counts].sort((one, other) => other[1] - one[1]).slice(0, HUES.length).map(([word]) => word);
  const places = new Map(frequent.map((word, place) => [word, place]));
  const legend = frequent.map((word, place) => [word || "none", HUES[place]]);
  if (counts.size > frequent.length) legend.push([`${number(counts.size - frequent.length)} others`, OTHERS]);
  const tables = runs.map((run) => run.words[column].map((word) => places.get(word) ?? HUES.length));
  return { palette: [...HUES, OTHERS], legend, of: (run, j) => tables[run.number][run.jobs[column][j]] };
}

/* Where jobs are too small to be told apart, colours that only do that would add up to mud. */
const MANY = channels(COLOURS.many);

function coloured(runs, way) {
  const { palette, legend, of } = COLOURINGS[way](runs);
  for (const run of runs) {
    const colours = new Uint8Array(run.jobs.count);
    for (let j = 0; j < colours.length; j++) colours[j] = of(run, j);
    run.colours = colours;
  }
  const parts = palette.map(channels);
  return {
    palette, legend, parts,
    fill: Uint32Array.from(parts, (each) => pixel(each)),
    edge: Uint32Array.from(parts, (each) => pixel(each, 0.72)),
    small: way === "job" ? parts.map((each) => each.map((value, i) => 0.3 * value + 0.7 * MANY[i])) : parts,
  };
}
