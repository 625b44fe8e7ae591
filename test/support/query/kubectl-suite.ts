// What kubectl shows of stored objects, through the API server.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MysqlMetadataStorage } from '../../../src/storage/mysql/store/mysql-storage.ts';
import { aManifest, type Cluster, kind } from '../cluster.ts';
import { commandsOf } from '../docs-page.ts';
import { eventually } from '../eventually.ts';
import { aModelRow } from '../objects.ts';
import { type Listed, MODELS, PATH } from './stored-models.ts';

export interface KubectlSuite {
  /** With the samples, and in ml the models kept, evicted and deleted. */
  readonly cluster: () => Cluster;
  readonly storage: () => MysqlMetadataStorage;
}

export function kubectlSuite({ cluster, storage }: KubectlSuite): void {
  /** Tables of kubectl, with what differs between runs left out. */
  const table = async (...args: readonly string[]) =>
    (await cluster().kubectl('get', ...args))
      .trim()
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'UID')
      .replaceAll(/\b(\d+[smhd])+\b/g, 'AGE')
      .split('\n')
      .map((line) => line.trim().split(/ {2,}/).join(' | '));

  describe('under kubectl', () => {
    const golden = [
      [
        'lists what is live and what was evicted, newest first',
        [MODELS, '-n', 'ml'],
        [
          'NAME | ALGORITHM | REVISION | OWNER | WHERE | AGE',
          'evicted | evicted-algorithm | MySQL | AGE',
          'kept | xgboost | etcd and MySQL | AGE',
        ],
      ],
      ['selects by label', [MODELS, '-n', 'ml', '-l', 'team=a', '-o', 'name'], ['model.stored.michelangelo.api/kept']],
      [
        'selects by a set of labels',
        [MODELS, '-n', 'ml', '-l', 'team in (a,b),team!=a', '-o', 'name'],
        ['model.stored.michelangelo.api/evicted'],
      ],
      [
        'selects by an indexed field',
        [MODELS, '-n', 'ml', '--field-selector', 'spec.algorithm=xgboost', '-o', 'name'],
        ['model.stored.michelangelo.api/kept'],
      ],
      [
        'shows one object',
        [
          MODELS,
          '-n',
          'ml',
          'evicted',
          '-o',
          'jsonpath={.apiVersion} {.spec.algorithm} {.metadata.annotations.stored\\.michelangelo\\.api/state}',
        ],
        ['stored.michelangelo.api/v2 evicted-algorithm evicted'],
      ],
      [
        'shows more with -o wide',
        [MODELS, '-n', 'ml', 'kept', '-o', 'wide'],
        [
          'NAME | ALGORITHM | REVISION | OWNER | WHERE | AGE | UID | STORED',
          'kept | xgboost | etcd and MySQL | AGE | UID | AGE',
        ],
      ],
      [
        'sorts',
        [MODELS, '-n', 'ml', '--sort-by=.metadata.name', '-o', 'name'],
        ['model.stored.michelangelo.api/evicted', 'model.stored.michelangelo.api/kept'],
      ],
      ['says that there is nothing where there is nothing', [MODELS, '-n', 'default', '-o', 'name'], ['']],
    ] as const;
    for (const [title, args, lines] of golden) {
      it(title, async () => assert.deepEqual(await table(...args), lines));
    }

    it('serves each of the 13 kinds in every namespace', async () => {
      const resources = (await cluster().kubectl('api-resources', '--api-group=stored.michelangelo.api', '-o', 'name'))
        .trim()
        .split('\n');
      assert.equal(resources.length, 13);
      for (const resource of resources) {
        assert.match(
          await cluster().kubectl('get', resource, '-A', '-o', 'name'),
          /\.stored\.michelangelo\.api\/ingester-test/,
        );
      }
    });

    it('explains the fields of a kind', async () => {
      assert.match(
        await cluster().kubectl('explain', `${MODELS}.spec.algorithm`),
        /GROUP:\s+stored\.michelangelo\.api/,
      );
    });

    it('describes an object', async () => {
      assert.match(
        await cluster().kubectl('describe', MODELS, '-n', 'ml', 'evicted'),
        /Algorithm:\s+evicted-algorithm/,
      );
    });

    it('does what docs/query.md shows', async () => {
      const sections = ['Query', 'What is stuck', 'Watch', 'What is in MySQL only'].map((section) =>
        commandsOf('query.md', section),
      );
      const commands = [...sections.join('\n').matchAll(/^kubectl (.+)$/gm)].map(([, command = '']) => command);
      assert.ok(commands.length >= 10);
      // A watch has no end; test/e2e/query-watch.test.ts has it.
      for (const command of commands.filter((one) => !one.endsWith('--watch'))) {
        const args = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
        assert.notEqual((await cluster().kubectl(...args)).trim(), '', command);
      }
    });

    const refused = [
      [
        'a name that was never there',
        ['get', MODELS, '-n', 'ml', 'none'],
        /NotFound.*models\.stored\.michelangelo\.api "none" not found/,
      ],
      [
        'a field without a column',
        ['get', MODELS, '-n', 'ml', '--field-selector', 'spec.secret=x'],
        /spec\.secret.*Supported are: .*spec\.algorithm/,
      ],
      [
        'a change of what lives',
        ['annotate', MODELS, '-n', 'ml', 'kept', 'a=b'],
        /is in the cluster: change it at the/,
      ],
    ] as const;
    for (const [what, args, message] of refused) {
      it(`refuses ${what} and says why`, async () => {
        const { code, stderr } = await cluster().tryKubectl(...args);
        assert.notEqual(code, 0);
        assert.match(stderr, message);
      });
    }

    it('shows deleted objects on request', async () => {
      const raw = await cluster().kubectl('get', '--raw', `${PATH}/namespaces/ml/models?source=deleted`);
      assert.deepEqual(
        (JSON.parse(raw) as Listed).items.map(({ metadata }) => metadata.name),
        ['deleted'],
      );
    });

    it('counts objects in groups', async () => {
      const path = `${PATH}/namespaces/ml/models/-/aggregate?groupBy=spec.algorithm,created.month&namePrefix=e`;
      const { kind: what, items } = JSON.parse(await cluster().kubectl('get', '--raw', path)) as {
        readonly kind: string;
        readonly items: readonly { readonly count: number; readonly group: Readonly<Record<string, string>> }[];
      };
      assert.equal(what, 'StoredAggregate');
      assert.deepEqual(
        items.map(({ group, count }) => [group['spec.algorithm'], count]),
        [['evicted-algorithm', 1]],
      );
      assert.match(items[0]?.group['created.month'] ?? '', /^\d{4}-\d\d$/);
    });

    it('waits for a write that the client names by its resourceVersion', async () => {
      await cluster().apply(aManifest('Model', 'waiting', 'written'));
      const written = await cluster().get(kind('Model'), 'waiting', 'written');
      const path = `${PATH}/namespaces/waiting/models?resourceVersion=${written?.metadata.resourceVersion}`;
      const { items, metadata } = JSON.parse(await cluster().kubectl('get', '--raw', path)) as Listed;
      assert.deepEqual(
        items.map((item) => item.metadata.name),
        ['written'],
      );
      assert.ok(BigInt(metadata.resourceVersion ?? '0') >= BigInt(written?.metadata.resourceVersion ?? '0'));
    });

    it('shows every incarnation of a name', async () => {
      await cluster().apply(aManifest('Model', 'ml', 'deleted'));
      await eventually(async () => assert.equal((await cluster().rows(kind('Model'), 'ml', 'deleted')).length, 2));
      const raw = await cluster().kubectl('get', '--raw', `${PATH}/namespaces/ml/models/deleted/incarnations`);
      assert.equal((JSON.parse(raw) as Listed).items.length, 2);
      await cluster().kubectl('delete', 'models.michelangelo.api', '-n', 'ml', 'deleted');
    });

    it('pages through 10,000 objects without gap or repeat while others are written', async () => {
      const filled = storage();
      const row = (index: number, suffix: string) =>
        aModelRow({
          namespace: 'paging',
          name: `m-${index}${suffix}`,
          uid: `paging-${index}${suffix}`,
          resourceVersion: String(index + 1),
          creationTimestamp: new Date(Date.UTC(2026, 0, 1) + Math.floor(index / 7) * 1000).toISOString(),
        });
      const numbers = Array.from({ length: 10_000 }, (_, index) => index);
      for (let start = 0; start < numbers.length; start += 500) {
        await Promise.all(numbers.slice(start, start + 500).map((index) => filled.upsert(row(index, ''))));
      }
      const stop = new AbortController();
      const others = (async () => {
        for (let index = 0; !stop.signal.aborted; index += 1) await filled.upsert(row(index % 10_000, `-new-${index}`));
      })();
      try {
        const output = await cluster().kubectl('get', MODELS, '-n', 'paging', '--chunk-size=500', '-o', 'name');
        const names = output
          .trim()
          .split('\n')
          .map((line) => line.split('/')[1] ?? '');
        assert.equal(new Set(names).size, names.length, 'a name was repeated');
        assert.equal(names.filter((name) => !name.includes('new')).length, 10_000);
      } finally {
        stop.abort();
        await others;
      }
    });
  });
}
