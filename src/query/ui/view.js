// What the page and the Argo CD tab have in common: asking the API, and showing one object. A classic script, because
// Argo CD loads no modules. Text only ever becomes text: nothing here writes HTML.
(() => {
  const API = 'apis/stored.michelangelo.api/v2';
  const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
  const PREFIX = 'stored.michelangelo.api/';
  const places = { live: 'in etcd and MySQL', evicted: 'in MySQL only', deleted: 'deleted, kept for the record' };

  class ApiError extends Error {
    constructor(status, message) {
      super(message);
      this.status = status;
    }
  }

  /** Asks below `root`; `headers` say who asks. Gives the document and how far behind the store is, in seconds. */
  function createApi(root, headers) {
    return async (path, { table = false } = {}) => {
      const accept = table ? TABLE : 'application/json';
      const answer = await fetch(`${root}${API}${path}`, { headers: { Accept: accept, ...headers() } });
      const text = await answer.text();
      if (!answer.ok) throw new ApiError(answer.status, messageOf(text, answer.status));
      const lag = answer.headers.get('Ingester-Lag-Seconds');
      return { text, document: JSON.parse(text), lag: lag === null ? undefined : Number(lag) };
    };
  }

  function messageOf(text, status) {
    try {
      return JSON.parse(text).message ?? `HTTP ${status}`;
    } catch {
      return `HTTP ${status}`;
    }
  }

  function element(name, properties = {}, ...children) {
    const { dataset = {}, ...others } = properties;
    const made = Object.assign(document.createElement(name), others);
    Object.assign(made.dataset, dataset);
    made.append(...children);
    return made;
  }

  function tableOf(columns, rows) {
    return element(
      'table',
      {},
      element('thead', {}, element('tr', {}, ...columns.map((column) => element('th', { scope: 'col' }, column)))),
      element(
        'tbody',
        {},
        ...rows.map((cells) => element('tr', {}, ...cells.map((cell) => element('td', {}, cell ?? '')))),
      ),
    );
  }

  /** The text as YAML may have it bare, else in quotes as JSON has it, which YAML reads too. */
  function scalar(value) {
    if (typeof value !== 'string') return JSON.stringify(value);
    const bare = /^[A-Za-z_/][\w ./@+()-]*(?:[:=][\w./@+()-]+)*$/.test(value) && !/ $/.test(value);
    return bare && !/^(?:true|false|null|yes|no|on|off|y|n|~)$/i.test(value) ? value : JSON.stringify(value);
  }

  function yaml(value, indent = '') {
    if (Array.isArray(value)) {
      if (value.length === 0) return ' []\n';
      return `\n${value.map((item) => `${indent}-${nested(item, `${indent}  `).replace(/^\n\s*/, ' ')}`).join('')}`;
    }
    const entries = Object.entries(value).sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1));
    if (entries.length === 0) return ' {}\n';
    return `\n${entries.map(([key, item]) => `${indent}${scalar(key)}:${nested(item, `${indent}  `)}`).join('')}`;
  }

  function nested(value, indent) {
    if (JSON.isRawJSON?.(value)) return ` ${value.rawJSON}\n`;
    return typeof value === 'object' && value !== null ? yaml(value, indent) : ` ${scalar(value)}\n`;
  }

  /** Numbers beyond 2^53 keep their digits: JSON.parse shows what stood there. */
  function parseExact(text) {
    return JSON.parse(text, (_key, value, context) => {
      const exact = typeof value === 'number' && !Number.isSafeInteger(value) && /^-?\d+$/.test(context?.source ?? '');
      return exact && JSON.rawJSON ? JSON.rawJSON(context.source) : value;
    });
  }

  /** The database keeps no order of keys; users expect these first. */
  const first = ['apiVersion', 'kind', 'metadata', 'name', 'namespace', 'uid', 'spec', 'status'];
  const rank = (key) => (first.includes(key) ? first.indexOf(key) : first.length);

  function toYaml(text) {
    return yaml(parseExact(text)).trimStart();
  }

  /** One object: where it lives, its YAML and its history. */
  async function objectView(api, { plural, namespace, name, uid, onIncarnation }) {
    const path = `/namespaces/${encodeURIComponent(namespace)}/${plural}/${encodeURIComponent(name)}`;
    const [one, history] = await Promise.all([
      api(uid === undefined ? path : `${path}?uid=${encodeURIComponent(uid)}`),
      api(`${path}/incarnations`),
    ]);
    const { metadata } = one.document;
    return element(
      'article',
      {},
      element('h2', {}, `${namespace}/${name}`),
      whereabouts(metadata, one.lag),
      element('h3', {}, 'History'),
      historyTable(history.document.items, metadata.uid, onIncarnation),
      element('h3', {}, 'Object'),
      element('pre', { tabIndex: 0, className: 'yaml' }, toYaml(one.text)),
    );
  }

  function whereabouts({ annotations = {}, uid, creationTimestamp, resourceVersion }, lag) {
    const state = annotations[`${PREFIX}state`];
    const facts = [
      ['Where', element('span', { className: 'state', dataset: { state } }, places[state] ?? state)],
      ['UID', uid],
      ['Created', creationTimestamp],
      ['Resource version', resourceVersion],
      ['Stored', annotations[`${PREFIX}update-time`]],
      ['Evicted', annotations[`${PREFIX}evict-time`]],
      ['Deleted', annotations[`${PREFIX}delete-time`]],
      ['Store complete', lag === undefined ? 'unknown' : `up to ${lag} s ago`],
    ].filter(([, value]) => value !== undefined);
    return element('dl', {}, ...facts.flatMap(([term, value]) => [element('dt', {}, term), element('dd', {}, value)]));
  }

  function historyTable(items, shown, onIncarnation) {
    const rows = items.map(({ metadata }) => {
      const { uid, creationTimestamp, annotations = {} } = metadata;
      const link = element('button', { type: 'button', className: 'link', disabled: uid === shown }, uid);
      link.addEventListener('click', () => onIncarnation(uid));
      const ended = annotations[`${PREFIX}delete-time`] ?? annotations[`${PREFIX}evict-time`];
      return [link, annotations[`${PREFIX}state`], creationTimestamp, ended];
    });
    return tableOf(['Incarnation', 'State', 'Created', 'Left etcd'], rows);
  }

  window.ingesterView = { createApi, element, tableOf, objectView };
})();
