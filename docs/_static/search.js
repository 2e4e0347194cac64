/* The search: sections ranked by the words of the query (BM25), each with the sentences around its best hit.
   HANDBOOK is in search-texts.js: for each page its address, and its sections as [anchor, title, text]. */
"use strict";

(() => {
  const STOP = new Set(("a about an and are as at be by can could do does for from get have how i if in into is it its me "
    + "my of on or should so that the their them there this to use using was want what when where which who why will with "
    + "you your").split(" "));
  const SHOWN = 20, LONGEST = 280;
  const KINDS = [[/^(start|howto)\//, 1.3], [/^reference\/glossary/, 1.2], [/^reference\/python\//, 0.8]];

  const stem = word => {
    if (word.length < 4) return word;
    for (const [end, rest] of [["ies", "y"], ["ing", ""], ["ied", "y"], ["ed", ""], ["es", ""], ["s", ""], ["er", ""], ["ers", ""]])
      if (word.endsWith(end) && word.length - end.length >= 3) { word = word.slice(0, -end.length) + rest; break; }
    return word.replace(/([^aeiouls])\1$/, "$1").replace(/e$/, "");
  };
  /* The words of a text: names whole, and by their parts: `JobsKilledEvent`, `mean_waiting_time`. */
  const words = text => (text.match(/[\p{L}\p{N}_+]+/gu) || []).flatMap(word => {
    const parts = word.split(/_+|(?<=[a-z0-9])(?=[A-Z])/).filter(Boolean);
    return (parts.length > 1 ? [word, ...parts] : [word]).map(each => stem(each.toLowerCase()));
  });

  const sections = HANDBOOK.flatMap(([page, found]) =>
    found.map(([anchor, title, text]) => ({ page, anchor, title, text, top: found[0][1] })));
  const having = new Map(); // for each word: the sections that have it, with how often, and whether in the title
  let total = 0;
  sections.forEach((section, number) => {
    const text = words(section.text), seen = new Map();
    const note = (word, count, title) => {
      const before = seen.get(word) || [0, 0];
      seen.set(word, [before[0] + count, Math.max(before[1], title)]);
    };
    text.forEach(word => note(word, 1, 0));
    words(section.title).forEach(word => note(word, 0, 1));
    words(section.top).forEach(word => note(word, 0, section.title === section.top ? 1 : 0.4));
    section.length = text.length;
    total += text.length;
    seen.forEach((found, word) => {
      if (!having.has(word)) having.set(word, new Map());
      having.get(word).set(number, found);
    });
  });
  const average = total / sections.length;

  /* A word of the query as words of the texts, with weights: itself, and those that begin with it. */
  const meant = word => {
    const found = having.has(word) ? [[word, 1]] : [];
    if (word.length > 2 && !found.length)
      having.forEach((_, other) => { if (other.startsWith(word)) found.push([other, 0.6]); });
    return found;
  };

  const ranked = query => {
    const all = [...new Set(words(query))], asked = all.filter(word => !STOP.has(word));
    const terms = (asked.length ? asked : all).map(meant);
    const scores = new Map();
    for (const term of terms) {
      const best = new Map();
      for (const [word, weight] of term) {
        const places = having.get(word), rare = Math.log(1 + sections.length / places.size);
        places.forEach(([count, title], number) => {
          const often = count / (count + 0.6 + 0.6 * sections[number].length / average);
          const score = weight * rare * (2 * often + 2 * title);
          best.set(number, Math.max(best.get(number) || 0, score));
        });
      }
      best.forEach((score, number) => {
        const [sum, count] = scores.get(number) || [0, 0];
        scores.set(number, [sum + score, count + 1]);
      });
    }
    const wanted = query.trim().toLowerCase();
    const found = [...scores].map(([number, [sum, count]]) => {
      const section = sections[number];
      const kind = KINDS.find(([pattern]) => pattern.test(section.page));
      const exact = section.title.toLowerCase() === wanted ? (section.anchor ? 3 : 4) : 1;
      return [number, sum * (count / terms.length) ** 2 * (kind ? kind[1] : 1) * exact];
    }).sort((one, other) => other[1] - one[1]);
    const shown = new Map(); // the more sections of a page come before, the further down the next one
    return found.map(([number, score]) => {
      const before = shown.get(sections[number].page) || 0;
      shown.set(sections[number].page, before + 1);
      return [number, score * 0.75 ** before];
    }).sort((one, other) => other[1] - one[1]).map(([number]) => sections[number]);
  };

  const marked = (text, hit) => {
    const whole = document.createElement("p");
    text.split(/([\p{L}\p{N}_+]+)/u).forEach((part, place) => {
      const node = place % 2 && hit(part) ? document.createElement("mark") : document.createElement("span");
      node.textContent = part;
      whole.append(place % 2 && hit(part) ? node : part);
    });
    return whole;
  };
  /* The sentences around the best hit, cut where they are long. */
  const around = (text, hit) => {
    const sentences = text.split(/\n|(?<=[.!?:]) (?=[A-Z`])/);
    const hits = sentences.map(each => new Set((each.match(/[\p{L}\p{N}_+]+/gu) || []).filter(hit).map(word => word.toLowerCase())).size);
    let first = hits.indexOf(Math.max(...hits)), last = first;
    const length = () => sentences.slice(first, last + 1).join(" ").length;
    while (length() < LONGEST / 2 && (first > 0 || last < sentences.length - 1))
      if (last < sentences.length - 1) last += 1; else first -= 1;
    let shown = sentences.slice(first, last + 1).join(" ");
    const cut = shown.length > LONGEST;
    if (cut) {
      const place = Math.max(0, shown.split(/([\p{L}\p{N}_+]+)/u).reduce(([at, found], part, number) =>
        found < 0 && number % 2 && hit(part) ? [at, at] : [at + part.length, found], [0, -1])[1] - 80);
      const begin = place ? shown.indexOf(" ", place) + 1 : 0;
      shown = `${begin ? "… " : ""}${shown.slice(begin, begin + LONGEST).replace(/\s\S*$/, "")}`;
    }
    return `${first > 0 && !shown.startsWith("…") ? "… " : ""}${shown}${cut || last < sentences.length - 1 ? " …" : ""}`;
  };

  const show = (found, hit, results) => found.forEach(section => {
    const item = document.createElement("li"), link = document.createElement("a"), where = document.createElement("span");
    link.href = `${document.documentElement.dataset.content_root}${section.page}${section.anchor ? `#${section.anchor}` : ""}`;
    link.textContent = section.title;
    where.textContent = section.title === section.top ? "" : section.top;
    item.append(link, where, marked(around(section.text, hit), hit));
    results.append(item);
  });

  const query = new URLSearchParams(location.search).get("q") || "";
  document.querySelectorAll('input[name="q"]').forEach(field => { field.value = query; });
  const summary = document.getElementById("search-summary"), results = document.getElementById("search-results");
  if (!query.trim()) { summary.textContent = "Type words into the field at the side."; return; }
  const asked = new Set(words(query).filter(word => !STOP.has(word)).flatMap(word => meant(word).map(([each]) => each)));
  const hit = word => words(word).some(each => asked.has(each));
  const found = ranked(query);
  summary.textContent = found.length ? `${found.length} sections have words of “${query}”, the best ones first.`
    : `No page has a word of “${query}”.`;
  show(found.slice(0, SHOWN), hit, results);
  if (found.length > SHOWN) {
    const more = document.createElement("button");
    more.textContent = "Show more";
    let next = SHOWN;
    more.onclick = () => {
      show(found.slice(next, next + 50), hit, results);
      next += 50;
      if (next >= found.length) more.remove();
    };
    results.after(more);
  }
})();
