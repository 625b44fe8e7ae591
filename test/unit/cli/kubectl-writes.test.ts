import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StoredCall } from '../../../src/app/commands/stored-objects.ts';
import { kindOf } from '../../../src/cli/kind.ts';
import { deleteSelected } from '../../../src/cli/kubectl/delete-collection.ts';
import { parseChanges } from '../../../src/cli/kubectl/metadata.ts';
import { createPluginProgram } from '../../../src/cli/kubectl/program.ts';
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
