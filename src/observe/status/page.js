
'use strict';

const $ = (id) => document.getElementById(id);

const make = (name, fields = {}, ...children) => {
  const element = Object.assign(document.createElement(name), fields);
  element.append(...children);
  return element;
};

/* Numbers as people read them. */

const scaled = (value, units) => {
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  const digits = value >= 99.5 || unit === 0 ? 0 : value >= 9.95 ? 1 : 2;
  return `${value.toFixed(digits)}\u00a0${units[unit]}`;
};
const bytes = (value) => scaled(value, ['B', 'kB', 'MB', 'GB', 'TB', 'PB']);
const rate = (value) => `${bytes(value)}/s`;
const count = (value) => value.toLocaleString('en');
const time = (seconds) => {
  if (seconds === null) return '–';
  if (seconds >= 0.9995) return `${seconds.toPrecision(3)}\u00a0s`;
  const ms = seconds * 1000;
  return `${ms >= 99.5 ? ms.toFixed(0) : ms.toPrecision(2)}\u00a0ms`;
};
const span = (seconds) => {
  const parts = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  const first = parts.findIndex(([length]) => seconds >= length);
  if (first < 0) return '0 s';
  return parts.slice(first, first + 2)
    .map(([length, unit], place) => {
      const rest = place === 0 ? seconds : seconds % parts[first][0];
      return [Math.floor(rest / length), unit];
    })
    .filter(([value], place) => place === 0 || value > 0)
    .map(([value, unit]) => `${value} ${unit}`)
    .join(' ');
};

/* What went wrong, in words. */

const CAUSES = {
  name: 'name not resolved',
  connection: 'no connection',
  connect_timeout: 'no connection in time',
  tls: 'no TLS',
  lost: 'ended before its reply',
  handshake_timeout: 'no reply in time',
  malformed: 'no valid reply',
  refused: 'refused by the proxy',
  credentials: 'credentials wanted',
  denied: 'denied by us',
  undecided: 'no way by the PAC file',
  cut: 'cut',
  shortage: 'this machine lacks something',
  other: 'other',
  turned_away: 'not in --allow-from',
};

const KINDS = {
  dynamic: 'in SOCKS or HTTP',
  proxy: 'of the embedded proxy',
};

/* Charts: two lines over the last ten minutes. */

const STEPS = 300;
const [WIDTH, HEIGHT] = [600, 100];

const svg = (name, fields = {}) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  Object.entries(fields).forEach(([key, value]) => element.setAttribute(key, value));
  return element;
};

/* The next of 1, 2, 5, 10, … */
const roof = (value) => {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((step) => step * power >= value) * power;
};

class Chart {
  constructor(title, show, least, ...names) {
    this.show = show;
    this.least = least;
    this.names = names;
    this.key = make('div', { className: 'key' });
    this.top = make('span');
    this.lines = names.map((_, place) => svg('path', { class: place ? 'two' : 'one' }));
    this.dots = names.map((_, place) => svg('path', { class: `dot ${place ? 'two' : 'one'}` }));
    this.at = svg('path', { class: 'at' });
    this.drawing = svg('svg', {
      viewBox: `0 -3 ${WIDTH} ${HEIGHT + 6}`, preserveAspectRatio: 'none', role: 'img',
    });
    this.drawing.append(
      svg('path', { class: 'grid', d: `M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}` }),
      this.at,
      ...this.lines,
      ...this.dots,
    );
    this.title = title;
    this.element = make(
      'figure', {},
      make('figcaption', { textContent: title }), this.key,
      make('div', { className: 'axis' }, this.top),
      this.drawing,
      make('div', { className: 'axis' }, make('span', { textContent: '10 min ago' }), make('span', { textContent: 'now' })),
    );
    this.drawing.addEventListener('pointermove', (event) => this.point(event));
    this.drawing.addEventListener('pointerleave', () => this.point(null));
  }

  update(step, ...series) {
    this.step = step;
    this.series = series;
    const known = series.flat().filter((value) => value !== null);
    const most = roof(Math.max(this.least, ...known));
    this.top.textContent = this.show(most).replace(/\.0+(?!\d)/, '');
    series.forEach((values, place) => {
      let pen = 'M';
      let alone = '';
      const path = values.map((value, index) => {
        if (value === null) {
          pen = 'M';
          return '';
        }
        const x = this.x(index, values.length).toFixed(1);
        const y = (HEIGHT - (value / most) * HEIGHT).toFixed(1);
        const point = `${pen}${x} ${y}`;
        /* A length of none, so that a point alone is a dot. */
        const dot = pen === 'M' ? 'h0' : '';
        if (dot && (values[index + 1] ?? null) === null) alone += `M${x} ${y}h0`;
        pen = 'L';
        return point + dot;
      });
      this.lines[place].setAttribute('d', path.join(''));
      this.dots[place].setAttribute('d', alone);
    });
    this.tell();
  }

  x(index, length) {
    return WIDTH * (STEPS - length + index) / (STEPS - 1);
  }

  /* A finger or a mouse on a point in time. */
  point(event) {
    this.pointed = event === null ? null : (event.clientX - this.drawing.getBoundingClientRect().left)
      / this.drawing.clientWidth;
    this.tell();
  }

  tell() {
    if (!this.series) return;
    const length = this.series[0].length;
    let index = length - 1;
    let when = '';
    this.at.setAttribute('d', '');
    if (typeof this.pointed === 'number' && length > 0) {
      const place = Math.round(this.pointed * (STEPS - 1)) - (STEPS - length);
      index = Math.min(length - 1, Math.max(0, place));
      when = `${span((length - 1 - index) * this.step)} ago`;
      this.at.setAttribute('d', `M${this.x(index, length)} 0V${HEIGHT}`);
    }
    const texts = this.names.map((name, place) => {
      const value = index < 0 ? null : this.series[place][index];
      return `${name}: ${value === null ? '–' : this.show(value)}`;
    });
    this.key.replaceChildren(
      ...texts.map((text, place) => make('span', { className: place ? 'two' : 'one', textContent: text })),
      when,
    );
    this.drawing.setAttribute('aria-label', `${this.title}. ${texts.join(', ')} ${when}`);
  }
}

const charts = {
  throughput: new Chart('Throughput', rate, 1000, 'to clients', 'from clients'),
  opening: new Chart('Time to open a tunnel', time, 0.001, 'half within', '95 % within'),
  clients: new Chart('Clients, and failures', (value) => count(Math.round(value)), 5, 'clients', 'failed'),
};
document.querySelector('.charts').append(...Object.values(charts).map((chart) => chart.element));

/* Tables. */

const fill = (id, rows) => {
  const heads = [...$(id).tHead.rows[0].cells].map((cell) => cell.textContent);
  $(id).tBodies[0].replaceChildren(...rows.map((cells) => {
    const row = make('tr');
    cells.forEach((cell, place) => {
      const { text, note, kind } = typeof cell === 'object' ? cell : { text: cell };
      const box = make('td', { className: kind || '' }, make('span', {}, text));
      if (note) box.firstChild.append(make('small', { className: 'note', textContent: note }));
      box.dataset.head = heads[place];
      row.append(box);
      $(id).tHead.rows[0].cells[place].className = kind === 'number' ? 'number' : '';
    });
    return row;
  }));
};
const number = (text) => ({ text, kind: 'number' });

const show = (status) => {
  const { history } = status;
  const last = (values) => (values.length ? values[values.length - 1] : 0);
  const sum = (values) => values.reduce((all, value) => all + value, 0);
  const lately = Math.round(60 / history.step);
  $('version').textContent = `${status.version}, up ${span(status.uptime)}`;
  $('clients').textContent = count(status.clients);
  $('clients-note').textContent = `${count(status.opened)} tunnels opened`;
  $('download').textContent = rate(last(history.download));
  $('download-note').textContent = `${bytes(status.carried.download)} in all`;
  $('upload').textContent = rate(last(history.upload));
  $('upload-note').textContent = `${bytes(status.carried.upload)} in all`;
  $('opening').textContent = time(status.open_seconds.p50);
  $('opening-note').textContent = status.open_seconds.count
    ? `95 % within ${time(status.open_seconds.p95)}` : 'none in ten minutes';
  $('failed').textContent = count(sum(history.failed));
  $('failed-note').textContent = `in ten minutes; ${count(status.failed)} in all`;

  charts.throughput.update(history.step, history.download, history.upload);
  charts.opening.update(history.step, history.p50, history.p95);
  charts.clients.update(history.step, history.clients, history.failed);

  fill('listeners', status.listeners.map((one) => [
    { text: one.listen, note: one.open ? '' : one.clients ? 'closed; its clients stay' : 'closed' },
    one.kind === 'tunnel' ? one.destination
      : { text: 'what its clients ask for', note: KINDS[one.kind] },
    number(count(one.clients)),
    number(count(one.opened)),
    number(count(one.failed)),
    number(bytes(one.carried.download)),
    number(bytes(one.carried.upload)),
  ]));
  fill('proxies', status.proxies.length
    ? status.proxies.map((one) => [
      one.proxy,
      { text: one.state, kind: { 'in use': 'good', down: 'bad' }[one.state] },
      number(count(one.answers)),
      number(count(one.failures)),
    ])
    : [['none so far']]);
  fill('tunnels', status.tunnels.length
    ? status.tunnels.map((one) => [
      { text: one.client === 'unix' ? 'Unix socket' : one.client, note: `at ${one.listen}` },
      one.destination,
      one.proxy === null ? 'directly' : `through ${one.proxy}`,
      { text: span(Math.max(0, status.time - one.since)), kind: 'time' },
      number(bytes(one.carried.download)),
      number(bytes(one.carried.upload)),
    ])
    : [['nobody']]);
  $('tunnels-note').textContent = status.more_tunnels ? `and ${count(status.more_tunnels)} more` : '';

  const all = Object.entries({ ...status.errors, turned_away: status.turned_away });
  const errors = all.filter(([, times]) => times > 0).sort((a, b) => b[1] - a[1]);
  const most = errors.length ? errors[0][1] : 0;
  $('errors').replaceChildren(...errors.map(([cause, times]) => {
    const bar = make('b');
    bar.style.width = `${100 * times / most}%`;
    return make('li', {}, make('span', { textContent: CAUSES[cause] || cause }), make('span', {}, bar), count(times));
  }));
  if (!errors.length) $('errors').append(make('li', { textContent: 'none' }));
  $('last-errors').replaceChildren(...status.listeners.filter((one) => one.last_error).map((one) => make(
    'li', {},
    make('span', { className: 'note', textContent: `${one.listen}, ${span(Math.max(0, status.time - one.last_error.time))} ago: ` }),
    one.last_error.text,
  )));

  const failed = sum(history.failed.slice(-lately));
  const failing = status.listeners.filter((one) => one.open && one.failing);
  const down = status.proxies.filter((one) => one.state === 'down').length;
  const complaints = [
    failing.length === 1 ? `no tunnel for the last client at ${failing[0].listen}` : '',
    failing.length > 1 ? `no tunnel for the last clients at ${failing.length} listeners` : '',
    failed ? `${count(failed)} failed in the last minute` : '',
    down ? `${down} of ${count(status.proxies.length)} proxies down` : '',
  ].filter(Boolean);
  state(STATES[status.state], complaints.join(', ') || (status.state === 'unused' ? 'no client yet' : 'serving'));
};

const STATES = { failing: 'bad', degraded: 'warn', unused: '', serving: 'good' };

const state = (kind, text, isStale = false) => {
  $('state').className = kind;
  if ($('state').textContent !== text) $('state').textContent = text;
  document.body.classList.toggle('stale', isStale);
};

const ask = async () => {
  if (document.hidden) return;
  try {
    const answer = await fetch('status.json', { cache: 'no-store' });
    if (!answer.ok) throw new Error(answer.status);
    show(await answer.json());
  } catch (error) {
    state('bad', `no answer (${error.message})`, true);
  }
};

ask();
setInterval(ask, 2000);
document.addEventListener('visibilitychange', ask);
