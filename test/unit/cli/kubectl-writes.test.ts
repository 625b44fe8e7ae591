import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StoredCall } from '../../../src/app/commands/stored-objects.ts';
import { kindOf } from '../../../src/cli/kind.ts';
import { deleteSelected } from '../../../src/cli/kubectl/delete-collection.ts';
import { parseChanges } from '../../../src/cli/kubectl/metadata.ts';
import { createPluginProgram } from '../../../src/cli/kubectl/program.ts';
import { restoreSelected } from '../../../src/cli/kubectl/restore-selected.ts';
import { KubeError } from '../../../src/kube/errors.ts';

describe('the words of a change of labels', () => {
  it('set and remove keys as those of kubectl do', () => {
    const words = ['team=a', 'old-', 'empty=', 'example.com/a=b=c-'];
    assert.deepEqual(parseChanges(words), { team: 'a', old: null, empty: '', 'example.com/a': 'b=c-' });
  });

  it('are refused where they say nothing, or two things about one key', () => {
    assert.throws(() => parseChanges([]), /Say what to change/);
    for (const word of ['team', '=a', '-']) assert.throws(() => parseChanges([word]), /neither key=value nor key-/);
    assert.throws(() => parseChanges(['team=a', 'team-']), /"team" is given more than once/);
  });
});

describe('a deletion by selector', () => {
  const selected = { kind: kindOf('models'), namespace: 'ml', selector: 'team=a' };
  const flags = { dryRun: false, yes: true, output: 'json' } as const;
  const server = (matching: number, failAt = Infinity) => {
    const asked: StoredCall[] = [];
    let left = matching;
    const call = (one: StoredCall): Promise<object> => {
      asked.push(one);
      if (asked.length > failAt) return Promise.reject(new KubeError('Unavailable', 'no answer'));
      const limit = Number(one.query?.['limit']);
      const count = Math.min(left, limit);
      const remaining = left > limit ? 'some' : 'none';
      if (one.query?.['dryRun'] === 'All') return Promise.resolve({ count, remaining, names: ['m1'] });
      left -= count;
      return Promise.resolve({ count, remaining });
    };
    return { asked, call: call as Parameters<typeof deleteSelected>[0]['call'], left: () => left };
  };

  it('asks first, and then deletes in pieces', async () => {
    const { asked, call, left } = server(1200);
    await deleteSelected({ call }, selected, flags);
    assert.equal(left(), 0);
    assert.deepEqual(
      asked.map(({ method, query }) => [method, query?.['labelSelector'], query?.['dryRun'], query?.['limit']]),
      [
        ['DELETE', 'team=a', 'All', '10000'],
        ['DELETE', 'team=a', undefined, '500'],
        ['DELETE', 'team=a', undefined, '500'],
        ['DELETE', 'team=a', undefined, '200'],
      ],
    );
  });

  it('deletes no more than it has counted', async () => {
    const { call, left } = server(10_700);
    await deleteSelected({ call }, selected, flags);
    assert.equal(left(), 700);
  });

  it('deletes nothing as a dry run, nor without a terminal to confirm it', async () => {
    const { asked, call } = server(3);
    await deleteSelected({ call }, selected, { ...flags, dryRun: true });
    await assert.rejects(deleteSelected({ call }, selected, { ...flags, yes: false }), /takes --yes/);
    assert.deepEqual(
      asked.map(({ query }) => query?.['dryRun']),
      ['All', 'All'],
    );
  });

  it('ends with the failure of a piece', async () => {
    const { call } = server(1200, 2);
    await assert.rejects(deleteSelected({ call }, selected, flags), /no answer/);
  });

  it('takes no flag that means nothing for it', async () => {
    for (const words of [['--uid', 'u'], ['--wait'], ['m1']]) {
      const program = createPluginProgram().configureOutput({ writeErr: () => undefined });
      for (const command of program.commands) command.exitOverride().configureOutput({ writeErr: () => undefined });
      await assert.rejects(
        program.parseAsync(['node', 'kubectl-ingester', 'delete', 'models', '-l', 'a=b', ...words]),
        /cannot be used with option|not both/,
      );
    }
  });
});

describe('a restore by selector', () => {
  const selection = { kind: kindOf('models'), namespace: 'ml', query: { labelSelector: 'team=a', source: 'evicted' } };
  const flags = { dryRun: false, yes: true, output: 'json' } as const;
  /** Lists so many objects, and answers the restore of each as it is told. */
  const server = (names: readonly string[], answer: (name: string, turn: number) => Promise<object>) => {
    const asked: StoredCall[] = [];
    const restored: string[] = [];
    const call = async (one: StoredCall): Promise<object> => {
      asked.push(one);
      if (one.method !== 'POST') {
        const from = Number(one.query?.['continue'] ?? 0);
        const page = names.slice(from, from + 500);
        const items = page.map((name, index) => ({ metadata: { name, uid: `uid-${from + index}` } }));
        return { metadata: names.length > from + 500 ? { continue: String(from + 500) } : {}, items };
      }
      const name = one.path.split('/').at(-2) ?? '';
      const result = await answer(name, asked.filter(({ path }) => path === one.path).length);
      restored.push(name);
      return result;
    };
    return { asked, restored, call: call as Parameters<typeof restoreSelected>[0]['call'] };
  };
  const fine = (): Promise<object> => Promise.resolve({ outcome: 'restored' });

  it('restores each by its uid, and of one name the newest only', async () => {
    const { asked, restored, call } = server(['m1', 'm2', 'm1'], fine);
    await restoreSelected({ call }, selection, flags);
    assert.deepEqual(restored, ['m1', 'm2']);
    assert.deepEqual(
      asked.map(({ method, path, body, query }) => [method, path, body ?? query?.['labelSelector']]),
      [
        [undefined, '/namespaces/ml/models', 'team=a'],
        ['POST', '/namespaces/ml/models/m1/restore', { dryRun: false, uid: 'uid-0' }],
        ['POST', '/namespaces/ml/models/m2/restore', { dryRun: false, uid: 'uid-1' }],
      ],
    );
  });

  it('only asks as a dry run, and restores nothing without a terminal to confirm it', async () => {
    const { asked, call } = server(['m1'], fine);
    await restoreSelected({ call }, selection, { ...flags, dryRun: true, yes: false });
    assert.deepEqual(asked.at(-1)?.body, { dryRun: true, uid: 'uid-0' });
    await assert.rejects(restoreSelected({ call }, selection, { ...flags, yes: false }), /takes --yes/);
    assert.equal(asked.filter(({ method }) => method === 'POST').length, 1);
  });

  it('goes on behind an object that is refused, and fails at the end', async () => {
    const { restored, call } = server(['m1', 'm2', 'm3'], (name) =>
      name === 'm2' ? Promise.reject(new KubeError('Conflict', 'the name is in use')) : fine(),
    );
    await assert.rejects(restoreSelected({ call }, selection, flags), { code: 'NOT_ALL_RESTORED', message: /^1 of 3/ });
    assert.deepEqual(restored, ['m1', 'm3']);
  });

  it('ends where the store does not answer, and waits where it is asked too often', async () => {
    const { restored, call } = server(['m1', 'm2', 'm3'], (name) =>
      name === 'm2' ? Promise.reject(new KubeError('Unavailable', 'no answer')) : fine(),
    );
    await assert.rejects(restoreSelected({ call }, selection, flags), /no answer/);
    assert.deepEqual(restored, ['m1']);
    const busy = server(['m1'], (_name, turn) =>
      turn === 1 ? Promise.reject(new KubeError('TooManyRequests', 'wait', { retryAfterMs: 1 })) : fine(),
    );
    await restoreSelected(busy, selection, flags);
    assert.deepEqual(busy.restored, ['m1']);
  });

  it('restores nothing where more than 1000 objects match', async () => {
    const names = Array.from({ length: 1001 }, (_, index) => `m${index}`);
    const { restored, call } = server(names, fine);
    await assert.rejects(restoreSelected({ call }, selection, flags), /More than 1000 objects match/);
    assert.deepEqual(restored, []);
    const most = server(names.slice(1), fine);
    await restoreSelected(most, selection, flags);
    assert.equal(most.restored.length, 1000);
  });

  it('takes a name or a selector, and neither is refused', async () => {
    const refusals: readonly (readonly [readonly string[], RegExp])[] = [
      [['models'], /Name the Model, or select/],
      [['models', 'm1', '-l', 'a=b'], /not both/],
      [['models', 'm1', '--yes'], /not both/],
      [['models', '-l', 'a=b', '--uid', 'u'], /--uid belongs to a name/],
    ];
    for (const [words, message] of refusals)
      await assert.rejects(createPluginProgram().parseAsync(['node', 'plugin', 'restore', ...words]), message);
  });
});
