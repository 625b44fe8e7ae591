// get --watch of the plugin.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WatchedChange } from '../../../src/app/commands/stored-objects.ts';
import type { JsonObject } from '../../../src/base/json.ts';
import { documentPrinter, refuseUnwatchable, runWatch, tablePrinter } from '../../../src/cli/kubectl/watch.ts';
import { KubeError } from '../../../src/kube/errors.ts';

const model = (name: string, where = 'etcd and MySQL'): JsonObject => ({
  kind: 'Model',
  metadata: { name, namespace: 'ml', annotations: { where } },
});
const table = (...names: readonly string[]): JsonObject => ({
  kind: 'Table',
  columnDefinitions: [
    { name: 'Name', priority: 0 },
    { name: 'Where', priority: 0 },
    { name: 'UID', priority: 1 },
  ],
  rows: names.map((name) => ({ cells: [name, 'MySQL', 'u'], object: model(name) })),
});

describe('get --watch', () => {
  it('goes on from the first page of the list, and then from the last bookmark', async () => {
    const shown: unknown[] = [];
    const asked: unknown[] = [];
    const watches: (readonly WatchedChange[])[] = [
      [
        { type: 'ADDED', object: model('new') },
        { type: 'BOOKMARK', object: { metadata: { resourceVersion: '77' } } },
        { type: 'DELETED', object: model('old') },
      ],
    ];
    const objects = {
      async *watch({ query }: { readonly query?: object }) {
        asked.push(query);
        const changes = await Promise.resolve(watches.shift());
        if (changes === undefined) throw new KubeError('Expired', 'too old');
        yield* changes;
      },
    };
    const pages = (async function* () {
      yield await Promise.resolve({ metadata: { resourceVersion: '5', continue: 'c' }, items: [] });
      yield await Promise.resolve({ metadata: { resourceVersion: '6' }, items: [] });
    })();
    const show = (page: JsonObject): void => void shown.push(page['kind'] ?? 'page');
    const watching = runWatch(objects, { path: '/models', query: { source: 'all' }, pages, show, form: 'object' });
    await assert.rejects(watching, { reason: 'Expired' });
    assert.deepEqual(shown, ['page', 'page', 'Model', 'Model']);
    assert.deepEqual(asked, [
      { source: 'all', resourceVersion: '5', allowWatchBookmarks: 'true' },
      { source: 'all', resourceVersion: '77', allowWatchBookmarks: 'true' },
    ]);
  });

  it('prints one table: its head once, and columns that do not get narrower', () => {
    const printed: string[] = [];
    const show = tablePrinter({ wide: false, namespaces: false, heads: true }, (text) => printed.push(text));
    show(table());
    show(table('a-long-name', 'b'));
    show(table('c'));
    assert.equal(
      printed.join(''),
      'NAME          WHERE\na-long-name   MySQL\nb             MySQL\nc             MySQL\n',
    );
    const plain: string[] = [];
    tablePrinter({ wide: true, namespaces: true, heads: false }, (text) => plain.push(text))(table('a'));
    assert.equal(plain.join(''), 'ml          a      MySQL   u\n');
  });

  it('prints each object by itself for programs', () => {
    const printed: string[] = [];
    const take = (text: string): void => void printed.push(text);
    const name = documentPrinter('name', true, take);
    name({ items: [model('a'), model('b')] });
    name(model('c'));
    const ofName = 'model.stored.michelangelo.api/';
    assert.equal(printed.splice(0).join(''), `${ofName}a\n${ofName}b\n${ofName}c\n`);
    const yaml = documentPrinter('yaml', true, take);
    yaml(model('a'));
    yaml(model('b'));
    assert.equal(printed.splice(0).join('').match(/^---$/gm)?.length, 1);
    const custom = documentPrinter('custom-columns=NAME:.metadata.name', true, take);
    custom({ items: [] });
    custom(model('a'));
    custom(model('b'));
    assert.equal(printed.join(''), 'NAME\na\nb\n');
  });

  it('refuses what a watch cannot be asked for, before a server is asked', () => {
    refuseUnwatchable({ selector: 'a=b', source: 'all', output: 'wide' }, 1);
    assert.throws(() => refuseUnwatchable({ orderBy: 'metadata.name' }, 1), /--order-by does not go with --watch/);
    assert.throws(() => refuseUnwatchable({ createdAfter: 'x' }, 1), /--created-after does not go/);
    assert.throws(() => refuseUnwatchable({}, 2), /one kind/);
  });
});
