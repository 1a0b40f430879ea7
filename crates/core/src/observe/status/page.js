
'use strict';

const $ = (id) => document.getElementById(id);

const make = (name, fields = {}, ...children) => {
  const element = Object.assign(document.createElement(name), fields);
  element.append(...children);
  return element;
};

/* Numbers and durations as text. */

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
const counted = (value, noun) => `${count(value)} ${noun}${value === 1 ? '' : 's'}`;
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

/* Each cause of a failed connection: its label, and what to do. */

const CAUSES = {
  name: ['Name not resolved',
    'Check the spelling of the host name. “getent ahosts NAME” asks the same resolver. An IP address needs no lookup.'],
  connection: ['Connection refused or unreachable',
    'Refused: nothing listens on that port; check the port. Unreachable: this machine has no route; check the network and the VPN.'],
  connect_timeout: ['Connect timeout',
    'Check the address, and whether a firewall drops packets to it. --connect-timeout sets the limit; -4 and -6 select one address family.'],
  tls: ['TLS handshake failed',
    'Check that the port speaks TLS, and the certificate: its host name, its dates and its CA. --proxy-cacert and --cacert add a CA.'],
  lost: ['Closed before the reply',
    'The proxy closed the connection. It may expect TLS or a client certificate (--proxy-cert), or not accept this machine. Its log has the reason.'],
  handshake_timeout: ['No reply in time',
    'Check that the port belongs to a proxy, and that TLS is on only if the peer expects it. --handshake-timeout sets the limit.'],
  malformed: ['Invalid reply',
    'The port belongs to another kind of server. Check the port, the protocol (HTTP or SOCKS) and TLS.'],
  refused: ['Refused by the proxy',
    '403, 407: ask the administrator of the proxy to allow CONNECT to this host and port. 502, 503, 504: the proxy cannot reach the destination. 302, 511: log in to this network with a browser.'],
  credentials: ['Authentication required',
    'Set --user and --password-file; for a proxy of --via, the user in its URL. Repeated attempts with a wrong password can lock the account.'],
  denied: ['Rejected by ptunnel',
    '400, 405: the client sent a request that this listener does not serve. 403: --serve-allow does not list the destination, or its addresses are excluded. 407: wrong username or password. 502, 503, 504: ptunnel cannot reach the destination.'],
  undecided: ['No path in the PAC file',
    'The PAC file names no proxy for this destination that ptunnel can use. Ask its author to fix it.'],
  cut: ['Tunnel broken',
    'One side broke the open connection. -v logs which one.'],
  exhaustion: ['Out of resources',
    'This machine has no descriptor, port or memory left. The message names the limit to raise.'],
  other: ['Other',
    'The log has the message.'],
};

/* Charts: two lines over the last 10 minutes. */

const STEPS = 300;
/* A line joins two values that are at most this many steps apart: 30 seconds. */
const GAP = 15;
const [WIDTH, HEIGHT] = [600, 100];

const svg = (name, fields = {}) => {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name);
  Object.entries(fields).forEach(([key, value]) => element.setAttribute(key, value));
  return element;
};

/* The smallest of 1, 2, 5, 10, … that is at least `value`. */
const roof = (value) => {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((step) => step * power >= value) * power;
};

class Chart {
  /* `show` formats a value, `least` is the lowest top of the scale, `empty` is shown without a value. */
  constructor(title, { show, least, names, empty = 'No data yet' }) {
    Object.assign(this, { title, show, least, names, empty });
    const paths = (kind) => names.map((_, series) => svg('path', { class: kind + (series ? 'two' : 'one') }));
    this.lines = paths('');
    this.points = paths('dot ');
    this.marks = paths('dot ');
    this.at = svg('path', { class: 'at' });
    this.drawing = svg('svg', {
      viewBox: `0 -3 ${WIDTH} ${HEIGHT + 6}`, preserveAspectRatio: 'none', role: 'img',
    });
    this.drawing.append(
      svg('path', { class: 'grid', d: `M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}` }),
      this.at,
      ...this.lines,
      ...this.points,
      ...this.marks,
    );
    this.key = make('div', { className: 'key' });
    this.top = make('span');
    this.hint = make('p', { className: 'hint', textContent: empty });
    this.element = make(
      'figure', {},
      make('figcaption', { textContent: title }), this.key,
      make('div', { className: 'plot' },
        make('div', { className: 'scale' }, this.top, make('span', { textContent: '0' })),
        this.drawing, this.hint),
      make('div', { className: 'axis' },
        ...['10 min ago', '5 min ago', 'now'].map((textContent) => make('span', { textContent }))),
    );
    this.drawing.addEventListener('pointermove', (event) => this.point(event));
    this.drawing.addEventListener('pointerleave', () => this.point(null));
  }

  update(step, ...series) {
    this.step = step;
    this.series = series;
    const known = series.flat().filter((value) => value !== null);
    this.most = roof(Math.max(this.least, ...known));
    this.top.textContent = this.show(this.most).replace(/\.0+(?!\d)/, '');
    this.hint.textContent = known.length ? '' : this.empty;
    series.forEach((values, place) => {
      const all = values.map((value, index) => ({ value, index })).filter(({ value }) => value !== null);
      const isJoined = (left, right) => left && right && right.index - left.index <= GAP;
      let line = '';
      let alone = '';
      all.forEach((one, number) => {
        const at = `${this.x(one.index, values.length)} ${this.y(one.value)}`;
        const follows = isJoined(all[number - 1], one);
        /* A line of no length has round ends: it is drawn as a dot. */
        line += follows ? `L${at}` : `M${at}h0`;
        if (!follows && !isJoined(one, all[number + 1])) alone += `M${at}h0`;
      });
      this.lines[place].setAttribute('d', line);
      this.points[place].setAttribute('d', alone);
    });
    this.label();
  }

  x(index, length) {
    return (WIDTH * (STEPS - length + index) / (STEPS - 1)).toFixed(1);
  }

  y(value) {
    return (HEIGHT - (value / this.most) * HEIGHT).toFixed(1);
  }

  /* Moves to the time under the pointer; `null` moves back to the latest values. */
  point(event) {
    this.pointed = event === null ? null : (event.clientX - this.drawing.getBoundingClientRect().left)
      / this.drawing.clientWidth;
    this.label();
  }

  /* Marks and prints the values at the pointer, or the latest ones. */
  label() {
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
    const values = this.series.map((all) => all[index] ?? null);
    values.forEach((value, place) => this.marks[place].setAttribute(
      'd', value === null ? '' : `M${this.x(index, length)} ${this.y(value)}h0`,
    ));
    const texts = this.names.map((name, place) => {
      const value = values[place];
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
  throughput: new Chart('Throughput', { show: rate, least: 1000, names: ['bytes in', 'bytes out'] }),
  opening: new Chart('Connect time', {
    show: time, least: 0.001, names: ['p50', 'p95'], empty: 'No connection opened in the last 10 minutes',
  }),
  clients: new Chart('Connections', {
    show: (value) => count(Math.round(value)), least: 5, names: ['active', 'failed'],
  }),
};
document.querySelector('.charts').append(...Object.values(charts).map((chart) => chart.element));

/* Tables and lists. */

/* Fills a table; a cell takes the class of its column's head, unless it has a kind. */
const fill = (id, rows, empty) => {
  const heads = [...$(id).tHead.rows[0].cells];
  const filled = rows.map((cells) => make('tr', {}, ...cells.map((cell, place) => {
    const { text, note, isBad, kind } = typeof cell === 'object' ? cell : { text: cell };
    const content = make('span', {}, text);
    if (note) content.append(make('small', { className: isBad ? 'note bad' : 'note', textContent: note }));
    const box = make('td', { className: kind || heads[place].className }, content);
    box.dataset.head = heads[place].textContent;
    return box;
  })));
  if (!filled.length) {
    filled.push(make('tr', {}, make('td', { className: 'empty', colSpan: heads.length, textContent: empty })));
  }
  $(id).tBodies[0].replaceChildren(...filled);
};

/* Returns a function that makes a key's element once, so that a list keeps its focus while it changes. */
const kept = (create) => {
  const made = new Map();
  return (key) => {
    if (!made.has(key)) made.set(key, create(key));
    return made.get(key);
  };
};

const arrange = (id, items) => {
  const list = $(id);
  const isDone = items.length === list.children.length && items.every((item, place) => item === list.children[place]);
  if (!isDone) list.replaceChildren(...items);
};

const causeItem = kept((cause) => {
  const [label, fix] = CAUSES[cause] || [cause, ''];
  const parts = { bar: make('b'), times: make('span') };
  parts.item = make('li', { id: `cause-${cause}` },
    make('span', { textContent: label }), make('span', {}, parts.bar), parts.times,
    make('small', { className: 'note', textContent: fix }));
  return parts;
});

const errorItem = kept(() => {
  const parts = { when: make('small', { className: 'note' }), text: make('span'), link: make('a', { textContent: 'What to do' }) };
  parts.item = make('li', {}, parts.when, parts.text, ' ', parts.link);
  return parts;
});

const noErrors = make('li', { className: 'empty', textContent: 'No failed connection' });

const showErrors = (status) => {
  const errors = Object.entries(status.errors).filter(([, times]) => times > 0).sort((a, b) => b[1] - a[1]);
  arrange('errors', errors.length ? errors.map(([cause, times]) => {
    const { item, bar, times: number } = causeItem(cause);
    bar.style.width = `${100 * times / errors[0][1]}%`;
    number.textContent = count(times);
    return item;
  }) : [noErrors]);
  $('turned-away').textContent = status.turned_away
    ? `${counted(status.turned_away, 'connection')} closed: client not in --allow-from` : '';
  const last = status.listeners.filter((one) => one.last_error);
  arrange('last-errors', last.map((one) => {
    const error = one.last_error;
    const { item, when, text, link } = errorItem(`${one.listen} ${one.destination}`);
    when.textContent = `Last error on ${one.listen}, ${span(Math.max(0, status.time - error.time))} ago`;
    text.textContent = error.text;
    link.href = `#cause-${error.cause}`;
    return item;
  }));
};

const INBOUND = {
  dynamic: 'SOCKS or HTTP',
  redirect: 'redirected',
  proxy: 'HTTP proxy',
};

const listenerNote = (one) => {
  if (one.open) return one.failing ? 'last connection failed' : '';
  return one.clients ? 'closed; active connections continue' : 'closed';
};

const showTables = (status) => {
  fill('listeners', status.listeners.map((one) => [
    { text: one.listen, note: listenerNote(one), isBad: one.open },
    one.kind === 'tunnel' ? one.destination : { text: 'chosen by the client', note: INBOUND[one.kind] },
    count(one.clients),
    count(one.opened),
    count(one.failed),
    bytes(one.carried.upload),
    bytes(one.carried.download),
  ]), 'No listener');
  fill('proxies', status.proxies.map((one) => [
    one.proxy,
    { text: one.state, kind: { 'in use': 'good', down: 'bad' }[one.state] },
    count(one.answers),
    count(one.failures),
  ]), 'No proxy used yet');
  const { pac } = status;
  $('pac').className = pac && pac.error ? 'note bad' : 'note';
  $('pac').textContent = pac ? [
    `PAC file ${pac.source}`,
    pac.fetched === null ? '' : `fetched ${span(Math.max(0, status.time - pac.fetched))} ago`,
    pac.error ? `the last fetch failed: ${pac.error.text}` : '',
  ].filter(Boolean).join('; ') : '';
  const open = status.listeners.find((one) => one.open);
  const invitation = open ? ` Connect to ${open.listen} to see it here.` : '';
  fill('tunnels', status.tunnels.map((one) => [
    {
      text: (one.user === null ? '' : `${one.user} at `) + (one.client === 'unix' ? 'Unix socket' : one.client),
      note: `on ${one.listen}`,
    },
    one.destination,
    one.proxy === null ? 'direct' : `through ${one.proxy}`,
    span(Math.max(0, status.time - one.since)),
    bytes(one.carried.upload),
    bytes(one.carried.download),
  ]), `${status.opened ? 'No active connection.' : 'No connection yet.'}${invitation}`);
  const waiting = status.clients - status.tunnels.length - status.more_tunnels;
  $('tunnels-note').textContent = [
    status.more_tunnels ? `and ${count(status.more_tunnels)} more` : '',
    waiting > 0 ? `${counted(waiting, 'connection')} without an open tunnel yet` : '',
  ].filter(Boolean).join('; ');
};

const RESOURCES = {
  clients: ['connections', count],
  descriptors: ['file descriptors', count],
  memory: ['memory', bytes],
};

const limitText = ({ resource, used, limit }) => {
  const [noun, format] = RESOURCES[resource];
  return `${format(used)} of ${format(limit)} ${noun}`;
};

const showLimits = (limits) => {
  $('limits').replaceChildren('In use: ', ...limits.flatMap((one, place) => [
    place ? ', ' : '',
    make('span', { className: one.near ? 'note bad' : '', textContent: limitText(one) }),
  ]));
};

const STATES = {
  failing: ['bad', 'Failing'],
  degraded: ['warn', 'Degraded'],
  unused: ['', 'Ready'],
  serving: ['good', 'OK'],
};

const show = (status) => {
  const { history } = status;
  const last = (values) => (values.length ? values[values.length - 1] : 0);
  const sum = (values) => values.reduce((all, value) => all + value, 0);
  $('clients').textContent = count(status.clients);
  $('clients-note').textContent = `${count(status.opened)} opened since start`;
  $('upload').textContent = rate(last(history.upload));
  $('upload-note').textContent = `${bytes(status.carried.upload)} since start`;
  $('download').textContent = rate(last(history.download));
  $('download-note').textContent = `${bytes(status.carried.download)} since start`;
  $('opening').textContent = time(status.open_seconds.p50);
  $('opening-note').textContent = status.open_seconds.count
    ? `p95: ${time(status.open_seconds.p95)}, last 10 min` : 'none in the last 10 min';
  $('failed').textContent = count(sum(history.failed));
  $('failed-note').textContent = `last 10 min; ${count(status.failed)} total`;
  $('uptime').textContent = span(status.uptime);
  $('version').textContent = `ptunnel ${status.version}`;

  charts.throughput.update(history.step, history.upload, history.download);
  charts.opening.update(history.step, history.p50, history.p95);
  charts.clients.update(history.step, history.clients, history.failed);
  showTables(status);
  showErrors(status);
  showLimits(status.limits);

  const failed = sum(history.failed.slice(-Math.round(60 / history.step)));
  const failing = status.listeners.filter((one) => one.open && one.failing);
  const down = status.proxies.filter((one) => one.state === 'down').length;
  const complaints = [
    failing.length === 1 ? `last connection to ${failing[0].listen} failed` : '',
    failing.length > 1 ? `last connections to ${failing.length} listeners failed` : '',
    failed ? `${counted(failed, 'connection')} failed in the last minute` : '',
    down ? `${down} of ${count(status.proxies.length)} ${status.proxies.length === 1 ? 'proxy' : 'proxies'} down` : '',
    ...status.limits.filter((one) => one.near).map((one) => `near a limit: ${limitText(one)}`),
    status.state === 'unused' ? 'no connection yet' : '',
  ].filter(Boolean).join(', ');
  const [kind, name] = STATES[status.state];
  state(kind, complaints ? `${name}: ${complaints}` : name);
};

const state = (kind, text, isStale = false) => {
  $('state').className = kind;
  if ($('state').textContent !== text) $('state').textContent = text;
  document.body.classList.toggle('stale', isStale);
};

const refresh = async () => {
  if (document.hidden) return;
  try {
    const response = await fetch('status.json', { cache: 'no-store' });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    show(await response.json());
  } catch (error) {
    state('bad', `No response from ptunnel (${error.message}): the numbers are out of date`, true);
  }
};

refresh();
setInterval(refresh, 2000);
document.addEventListener('visibilitychange', refresh);
