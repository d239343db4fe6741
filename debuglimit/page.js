"use strict";
(() => {
  const kept = 60; // seconds of a chart
  const fields = ["allowed", "denied", "shadowed", "waiting", "clients", "evicted", "overflowed", "local", "fallback"];
  const words = {
    allowed: "allowed", denied: "denied", shadowed: "of these let through (shadow)", waiting: "waiting", clients: "clients held",
    evicted: "evicted when full", overflowed: "beyond MaxClients", local: "decided here", fallback: "while the store was away",
  };
  const find = (selector, root = document) => root.querySelector(selector);
  const tbody = find("#limiters > tbody");

  // make returns an element; text is never read as HTML.
  function make(name, attributes = {}, ...children) {
    const svg = ["svg", "path", "title"].includes(name);
    const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    e.append(...children);
    return e;
  }

  const grouped = new Intl.NumberFormat("en");
  const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
  const number = n => n < 100000 ? grouped.format(Math.round(n)) : short.format(n);
  const rate = n => n === null ? "–" : n > 0 && n < 10 ? n.toFixed(1) : number(n);
  const percent = (part, all) => all > 0 ? (100 * part / all).toFixed(part > 0 && part < all ? 1 : 0) + " %" : "–";
  // duration rounds up, to what it shows, before it divides: 59.5 min is 60 of them, which are an hour.
  function duration(s) {
    if (s === null) return "never";
    const ms = Math.ceil(s * 1000), tenths = Math.ceil(s * 10);
    if (ms < 1000) return ms + " ms";
    if (tenths < 600) return (tenths / 10).toFixed(1) + " s";
    for (const [small, unit, many, units, most] of [
      [1, "s", 60, "min", 60], [60, "min", 60, "h", 24], [3600, "h", 24, "d", Infinity],
    ]) {
      const n = Math.ceil(s / small);
      if (n < many * most) return Math.floor(n / many) + " " + units + (n % many ? ` ${n % many} ${unit}` : "");
    }
  }

  // A row is a limiter: its counters now and at the last frame, and what it did in each second.
  class Row {
    constructor(about) {
      this.past = [];
      this.cells = {};
      this.button = make("button", { class: "name", type: "button", "aria-expanded": "false" });
      this.button.addEventListener("click", () => this.opened ? this.close() : this.open());
      this.described = make("span", { class: "about" });
      this.bars = { allowed: make("path", { class: "bar allowed" }), denied: make("path", { class: "bar denied" }) };
      const chart = make("svg", { viewBox: `0 0 ${kept} 20`, preserveAspectRatio: "none", "aria-hidden": "true" },
        this.bars.allowed, this.bars.denied);
      this.element = make("tr", { role: "row" },
        make("th", { role: "rowheader", scope: "row" }, this.button, this.described),
        make("td", { role: "cell", class: "chart" }, chart));
      for (const [cell, label] of Object.entries({
        allowedRate: "Allowed /s", deniedRate: "Denied /s", rejected: "Rejected", clients: "Clients", evicted: "Evicted",
      })) {
        this.cells[cell] = make("td", { role: "cell", "data-label": label }, "–");
        this.element.append(this.cells[cell]);
      }
      this.is(about);
    }

    is(about) {
      this.about = about;
      this.button.textContent = about.name;
      this.described.textContent = about.description;
      if (this.more) this.more.is(about);
    }

    // count takes the counters of a frame, so many seconds after the last one.
    count(counters, seconds) {
      const before = this.now;
      this.now = Object.fromEntries(fields.map((name, i) => [name, counters[i]]));
      this.rates = { allowed: null, denied: null };
      if (before && seconds > 0) {
        for (const name of ["allowed", "denied"]) {
          this.rates[name] = Math.max(0, this.now[name] - before[name]) / seconds;
        }
        // After a gap, as of a lost connection, one for each second of it.
        const columns = Math.min(kept, Math.max(1, Math.round(seconds)));
        this.past = [...this.past, ...Array(columns).fill(this.rates)].slice(-kept);
      }
    }

    draw() {
      const { allowed, denied } = this.rates;
      const show = (cell, text) => { if (this.cells[cell].textContent !== text) this.cells[cell].textContent = text; };
      show("allowedRate", rate(allowed));
      show("deniedRate", rate(denied));
      this.cells.deniedRate.classList.toggle("denies", denied > 0);
      const sum = name => this.past.reduce((all, second) => all + second[name], 0);
      show("rejected", percent(sum("denied"), sum("allowed") + sum("denied")));
      show("clients", this.about.per_client ? number(this.now.clients) : "–");
      show("evicted", this.about.per_client ? number(this.now.evicted) : "–");
      this.drawBars();
      if (this.more) this.more.draw(this.now);
    }

    // drawBars stacks the denied on the allowed, a second in each column, the newest at the right.
    drawBars() {
      const most = Math.max(1, ...this.past.map(second => second.allowed + second.denied));
      const paths = { allowed: "", denied: "" };
      this.past.forEach((second, i) => {
        const x = kept - this.past.length + i;
        const middle = 20 * (1 - second.allowed / most), top = middle - 20 * second.denied / most;
        if (middle < 20) paths.allowed += `M${x} 20V${middle.toFixed(2)}h.85V20z`;
        if (top < middle) paths.denied += `M${x} ${middle.toFixed(2)}V${top.toFixed(2)}h.85V${middle.toFixed(2)}z`;
      });
      for (const name of ["allowed", "denied"]) this.bars[name].setAttribute("d", paths[name]);
    }

    open() {
      this.opened = true;
      this.more = new More(this.about);
      this.button.setAttribute("aria-expanded", "true");
      this.under = make("tr", { role: "row", class: "opened" }, make("td", { role: "cell", colspan: "7" }, this.more.element));
      this.element.after(this.under);
      if (this.now) this.more.draw(this.now);
      this.more.ask();
    }

    close() {
      this.opened = false;
      this.more = undefined;
      this.button.setAttribute("aria-expanded", "false");
      this.under.remove();
    }

    // place appends the row to the table.
    place(visible) {
      this.element.hidden = !visible;
      tbody.append(this.element);
      if (this.under) {
        this.under.hidden = !visible;
        if (this.opened) tbody.append(this.under);
      }
    }
  }

  // More is what an opened limiter shows, asked for as long as it is open.
  class More {
    constructor(about) {
      this.element = find("#more").content.cloneNode(true).firstElementChild;
      this.counters = {};
      this.seen = [];
      const form = find(".search form", this.element);
      form.addEventListener("submit", event => {
        event.preventDefault();
        this.key = form.elements.key.value;
        this.asked = true;
        this.ask();
      });
      this.is(about);
    }

    is(about) {
      this.about = about;
      for (const name of ["description", "policy"]) find(`[data-of=${name}]`, this.element).textContent = about[name];
      find(".layers", this.element).hidden = !about.layers;
      find("[data-of=layers]", this.element).textContent = (about.layers || []).join(", ");
      find(".search", this.element).hidden = !about.searchable;
    }

    draw(now) {
      const list = find(".counters", this.element);
      for (const name of fields) {
        if (!this.counters[name] && (now[name] || name === "allowed" || name === "denied")) {
          this.counters[name] = make("dd");
          list.append(make("div", {}, make("dt", {}, words[name]), this.counters[name]));
        }
        if (this.counters[name]) this.counters[name].textContent = grouped.format(now[name]);
      }
    }

    async ask() {
      if (this.asking) return;
      this.asking = true;
      const query = new URLSearchParams({ format: "json", limiter: this.about.name });
      const key = this.key;
      if (key !== undefined) query.set("key", key);
      try {
        const response = await fetch("?" + query, { cache: "no-store" });
        const answer = await response.json();
        if (response.ok) this.show(answer);
        else this.say(answer.error, true);
      } catch {
        this.say("No answer", true);
      } finally {
        this.asking = false;
      }
      if (this.key !== key) this.ask();
    }

    say(text, no) {
      const verdict = find(".verdict", this.element);
      find(".client", this.element).hidden = false;
      find("figure", this.element).hidden = true;
      verdict.textContent = text;
      verdict.classList.toggle("no", no);
      if (this.asked) find(".spoken", this.element).textContent = text; // once, not every second
      this.asked = false;
    }

    show(answer) {
      this.showTop(answer.top_denied || []);
      const client = answer.client;
      find(".client", this.element).hidden = !client; // "No answer" is over, too
      if (!client) return;
      const of = client.key ? client.key + ": " : "";
      const full = client.reset_after === null || client.reset_after > 0 ? `full again in ${duration(client.reset_after)}` : "full";
      const left = client.remaining > 1e15 ? "no limit" : `${grouped.format(client.remaining)} left, ${full}`;
      if (client.allowed && !client.shadowed) this.say(`${of}allowed, ${left}`, false);
      else {
        const again = client.retry_after === null ? "never allowed" : `allowed again in ${duration(client.retry_after)}`;
        this.say(`${of}denied by ${client.policy}, ${again}` + (client.shadowed ? " (shadow: let through)" : ""), true);
      }
      this.showRefill(client);
    }

    // showRefill draws how many are left, from now until the client is full.
    showRefill(client) {
      const steps = client.refill || [], end = client.reset_after;
      const figure = find("figure", this.element);
      figure.hidden = !steps.length || !end;
      if (figure.hidden) return;
      const most = steps[steps.length - 1].tokens;
      let d = "M0 120";
      for (const step of steps) {
        const x = Math.min(400, 400 * step.after / end), y = 118 - 114 * step.tokens / most;
        d += `H${x.toFixed(1)}V${y.toFixed(1)}`;
      }
      find("path", figure).setAttribute("d", d + "H400V120z");
      find("svg", figure).setAttribute("aria-label",
        `From ${grouped.format(client.remaining)} left now to ${grouped.format(most)} in ${duration(end)}, if nothing more is taken`);
      find(".to", figure).textContent = `${grouped.format(most)} in ${duration(end)}`;
    }

    // showTop lists who is denied most: now, as far as that is known, and then in all. What
    // is known for sure is count - error, which grows while a client is counted.
    showTop(top) {
      find(".top", this.element).hidden = !top.length;
      const sure = new Map(top.map(c => [c.key, c.count - c.error]));
      // By the time, as nobody asks while the page is hidden.
      const now = performance.now();
      this.seen = [...this.seen, { now, sure }].filter(seen => now - seen.now < 10500);
      const first = this.seen[0].sure;
      const lately = key => this.seen.length > 1 ? Math.max(0, sure.get(key) - (first.get(key) || 0)) : 0;
      const rows = top.map(c => ({ ...c, lately: lately(c.key) }))
        .sort((a, b) => b.lately - a.lately || b.count - a.count).slice(0, 20);
      find(".top tbody", this.element).replaceChildren(...rows.map(c => make("tr", {},
        make("td", {}, c.key),
        make("td", c.lately ? { class: "denies" } : {}, number(c.lately)),
        make("td", {}, grouped.format(c.count - c.error)),
        make("td", {}, grouped.format(c.count)))));
    }
  }

  const rows = new Map();
  let listed = [], at = 0;

  function setLimiters(all) {
    const names = new Set(all.map(about => about.name));
    for (const [name, row] of rows) {
      if (names.has(name)) continue;
      if (row.opened) row.close();
      row.element.remove();
      rows.delete(name);
    }
    listed = all.map(about => {
      const row = rows.get(about.name);
      if (row) row.is(about);
      else rows.set(about.name, new Row(about));
      return rows.get(about.name);
    });
    arrange();
  }

  function setCounters(frame) {
    if (frame.at === at || frame.counters.length !== listed.length) return;
    const seconds = at ? (frame.at - at) / 1000 : 0;
    at = frame.at;
    listed.forEach((row, i) => row.count(frame.counters[i], seconds));
    if (!document.hidden) draw();
    for (const row of listed) if (row.more && !document.hidden) row.more.ask();
  }

  function draw() {
    if (!at) return;
    const sum = of => listed.reduce((all, row) => all + (of(row) || 0), 0);
    const rates = name => listed.some(row => row.rates?.[name] != null) ? sum(row => row.rates?.[name]) : null;
    const allowed = rates("allowed"), denied = rates("denied");
    total("Allowed /s", rate(allowed));
    total("Denied /s", rate(denied));
    total("Rejected, this second", percent(denied, allowed + denied));
    total("Clients held", number(sum(row => row.now?.clients)));
    for (const row of listed) if (row.now) row.draw();
  }

  const totals = {};
  function total(label, text) {
    if (!totals[label]) {
      totals[label] = make("dd");
      find("#totals").append(make("div", {}, make("dt", {}, label), totals[label]));
    }
    totals[label].textContent = text;
  }

  // arrange puts the rows in order. It moves them only if they are in another one: what is moved
  // loses the focus.
  function arrange() {
    const part = find("#filter").value.trim().toLowerCase(), order = find("#order").value;
    const lately = row => row.past.slice(-10).reduce((all, second) => all + second.denied, 0);
    const sorted = [...listed];
    if (order === "denied") sorted.sort((a, b) => lately(b) - lately(a));
    if (order === "name") sorted.sort((a, b) => a.about.name.localeCompare(b.about.name));
    const shown = sorted.map(row => row.about.name.toLowerCase().includes(part));
    const state = sorted.map((row, i) => [row.about.name, shown[i]]).join();
    if (state !== arrange.state) {
      const focused = document.activeElement;
      sorted.forEach((row, i) => row.place(shown[i]));
      if (focused !== document.activeElement) focused.focus();
      arrange.state = state;
    }
    find("#none").hidden = !listed.length || shown.includes(true);
  }

  function status(text, state) {
    const element = find("#status");
    if (element.textContent !== text) element.textContent = text;
    element.className = state;
  }

  find("#controls").addEventListener("submit", event => event.preventDefault());
  find("#filter").addEventListener("input", arrange);
  find("#order").addEventListener("change", arrange);
  setInterval(() => { if (find("#order").value === "denied") arrange(); }, 3000);
  document.addEventListener("visibilitychange", () => { if (!document.hidden) draw(); });

  // listen takes what the server tells. The browser tries again by itself after a connection was lost, but not
  // after an answer that is an error: such as of a proxy whose server restarts.
  function listen() {
    const events = new EventSource("?format=events");
    events.addEventListener("limiters", event => setLimiters(JSON.parse(event.data)));
    events.addEventListener("counters", event => {
      setCounters(JSON.parse(event.data));
      status("Live", "live");
    });
    events.addEventListener("error", () => {
      status("The connection is lost: trying again", "lost");
      if (events.readyState === EventSource.CLOSED) setTimeout(listen, 5000);
    });
  }
  listen();
})();
