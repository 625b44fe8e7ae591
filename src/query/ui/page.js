// The page: kinds with their counts, a search, and what was found. What is looked at stands in the address, so that the
// link can be shared: each user sees what they may read.
(() => {
  const { createApi, element, tableOf, objectView } = window.ingesterView;
  const PAGE = 50;
  const byId = (id) => document.getElementById(id);
  const [login, problem, body, search] = ['login', 'problem', 'body', 'search'].map(byId);
  const api = createApi('/', () => {
    const token = sessionStorage.getItem('token');
    return token === null ? {} : { Authorization: `Bearer ${token}` };
  });
  /** Counts up, so that an answer that comes late does not replace a newer one. */
  let turn = 0;

  function say(text) {
    problem.textContent = text;
    problem.hidden = text === '';
  }

  function show(error) {
    if (error.status === 401) {
      sessionStorage.removeItem('token');
      body.hidden = true;
      login.hidden = false;
      byId('token').focus();
    }
    say(error.message);
  }

  function address() {
    const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
    const [plural = '', namespace, name] = path.split('/').map(decodeURIComponent);
    return { plural, namespace, name, query: new URLSearchParams(query) };
  }

  function go(path, query) {
    const text = query === undefined ? '' : query.toString();
    location.hash = `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
  }

  function kindRow({ kind, plural, counts, lagSeconds }) {
    const link = element('a', { href: `#/${plural}` }, kind);
    if (address().plural === plural) link.setAttribute('aria-current', 'page');
    const lag = lagSeconds === undefined ? 'unknown' : `${Math.round(lagSeconds)} s ago`;
    return [link, ...['live', 'evicted', 'deleted'].map((state) => counts[state].toLocaleString('en')), lag];
  }

  async function showKinds() {
    const { items } = (await api('/summary')).document;
    const table = tableOf(['Kind', 'Live', 'Evicted', 'Deleted', 'Complete'], items.map(kindRow));
    table.id = 'kinds';
    byId('kinds').replaceWith(table);
    return items;
  }

  function listPath({ plural }, query) {
    const parameters = new URLSearchParams(query);
    const namespace = parameters.get('namespace');
    parameters.delete('namespace');
    const name = parameters.get('name');
    parameters.delete('name');
    if (name?.endsWith('*')) parameters.set('namePrefix', name.slice(0, -1));
    else if (name) {
      const selectors = [parameters.get('fieldSelector'), `metadata.name=${name}`].filter(Boolean);
      parameters.set('fieldSelector', selectors.join(','));
    }
    parameters.set('limit', String(PAGE));
    const scope = namespace ? `/namespaces/${encodeURIComponent(namespace)}` : '';
    return `${scope}/${plural}?${parameters}`;
  }

  async function showResults(target) {
    const mine = ++turn;
    const path = listPath(target, target.query);
    const { document: first, lag } = await api(path, { table: true });
    if (mine !== turn) return;
    byId('lag').textContent = lag === undefined ? '' : `${target.plural}: complete up to ${Math.round(lag)} s ago`;
    const shown = first.columnDefinitions.map(({ name }, index) => ({ name, index }));
    const columns = [...shown, { name: 'Namespace', index: -1 }].filter(({ name }) => name !== 'UID');
    const cellsOf = ({ cells, object }) =>
      columns.map(({ name, index }) => {
        if (name === 'Name') return nameLink(target.plural, object.metadata);
        return index === -1 ? object.metadata.namespace : String(cells[index] ?? '');
      });
    const table = tableOf(
      columns.map(({ name }) => name),
      first.rows.map(cellsOf),
    );
    const note = element('p', {}, first.rows.length === 0 ? 'Nothing is stored that is asked for.' : '');
    const more = element('button', { type: 'button', hidden: first.metadata.continue === undefined }, 'More');
    let next = first.metadata.continue;
    more.addEventListener('click', () => {
      more.disabled = true;
      api(`${path}&continue=${encodeURIComponent(next)}`, { table: true })
        .then(({ document: page }) => {
          const rows = tableOf([], page.rows.map(cellsOf)).tBodies[0].rows;
          table.tBodies[0].append(...rows);
          next = page.metadata.continue;
          more.hidden = next === undefined;
        })
        .catch(show)
        .finally(() => {
          more.disabled = false;
        });
    });
    byId('results').replaceChildren(...(first.rows.length === 0 ? [note] : [table, more]));
    byId('object').replaceChildren();
  }

  function nameLink(plural, { namespace, name, uid }) {
    const path = [plural, namespace, name].map(encodeURIComponent).join('/');
    return element('a', { href: `#/${path}?uid=${encodeURIComponent(uid)}` }, name);
  }

  async function showObject({ plural, namespace, name, query }) {
    const mine = ++turn;
    const view = await objectView(api, {
      plural,
      namespace,
      name,
      uid: query.get('uid') ?? undefined,
      onIncarnation: (uid) => go([plural, namespace, name], new URLSearchParams({ uid })),
    });
    if (mine !== turn) return;
    const back = element('button', { type: 'button' }, 'Back to the list');
    back.addEventListener('click', () => go([plural]));
    byId('results').replaceChildren();
    byId('object').replaceChildren(back, view);
  }

  function fill({ query }) {
    for (const field of search.elements) {
      if (field.name !== '') field.value = query.get(field.name) ?? (field.name === 'source' ? 'present' : '');
    }
  }

  async function update() {
    say('');
    try {
      const kinds = await showKinds();
      login.hidden = true;
      body.hidden = false;
      const target = address();
      if (target.plural === '') go([kinds[0].plural]);
      else if (target.name === undefined) {
        search.hidden = false;
        fill(target);
        await showResults(target);
      } else {
        search.hidden = true;
        await showObject(target);
      }
    } catch (error) {
      show(error);
    }
  }

  search.addEventListener('submit', (event) => {
    event.preventDefault();
    const asked = new URLSearchParams(
      [...new FormData(search)].filter(([name, value]) => value !== '' && !(name === 'source' && value === 'present')),
    );
    const { plural } = address();
    const before = location.hash;
    go([plural], asked);
    if (location.hash === before) update();
  });
  login.addEventListener('submit', (event) => {
    event.preventDefault();
    sessionStorage.setItem('token', byId('token').value.trim());
    byId('token').value = '';
    update();
  });
  window.addEventListener('hashchange', update);
  update();
})();
