// What a task depends on. A change of that runs it again, and everything after it; no other change does.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { IngesterSpec, LifecycleSpec } from '../../../src/api/ingester/spec.ts';
import type { LifecycleStatus } from '../../../src/api/ingester/status.ts';
import { type Due, pendingSteps, quiesceNeeded } from '../../../src/lifecycle/plan/pending.ts';
import { noLifecycle } from '../../../src/lifecycle/plan/target.ts';

const database = {
  credentialsSecret: 's',
  encryption: { key: { name: 'keys', key: 'now' }, previousKey: { name: 'keys', key: 'before' } },
};
const clone = { sourceSecret: 'source' };
const spec: IngesterSpec = { version: '1.0.0', environment: 'Staging', database, lifecycle: { clone } };

function dueFor(of: IngesterSpec, completed: LifecycleStatus['completed'], uid = 'u'): readonly Due[] {
  return pendingSteps({ uid, spec: of, lifecycle: { ...noLifecycle, completed }, migratedVersion: undefined });
}

/** Every task is complete for these inputs. */
const completed = Object.fromEntries(dueFor(spec, {}).map(({ step, checksum }) => [step.name, checksum]));

function due(of: IngesterSpec, uid?: string): readonly string[] {
  return dueFor(of, completed, uid).map(({ step }) => step.name);
}

const all = ['clone', 'migrate', 'rotate', 'init'];
const withLifecycle = (lifecycle: LifecycleSpec): IngesterSpec => ({ ...spec, lifecycle: { clone, ...lifecycle } });
const withDatabase = (more: Partial<IngesterSpec['database']>): IngesterSpec => ({
  ...spec,
  database: { ...database, ...more },
});

describe('a task', () => {
  const inputs: readonly (readonly [what: string, changed: IngesterSpec, expected: readonly string[]])[] = [
    ['nothing', spec, []],
    ['another source', withLifecycle({ clone: { sourceSecret: 'other' } }), all],
    ['kinds that are not copied', withLifecycle({ clone: { ...clone, excludeKinds: ['Model'] } }), all],
    ['namespaces that are not copied', withLifecycle({ clone: { ...clone, excludeNamespaces: ['n'] } }), all],
    ['SQL on the copy', withLifecycle({ clone: { ...clone, postSQL: ['SELECT 1'] } }), all],
    ['the trigger of clone', withLifecycle({ clone: { ...clone, trigger: 'x' } }), all],
    ['another version', { ...spec, version: '1.1.0' }, all.slice(1)],
    ['another digest', { ...spec, image: 'michelangelo-ingester:1.0.0@sha256:ab' }, all.slice(1)],
    ['another host', withDatabase({ host: 'h' }), all.slice(1)],
    ['another port', withDatabase({ port: 3307 }), all.slice(1)],
    ['another database', withDatabase({ name: 'd' }), all.slice(1)],
    ['other kinds', { ...spec, kinds: { names: ['Model'] } }, all.slice(1)],
    ['other kinds in the configuration', { ...spec, config: { ingester: { kinds: ['Model'] } } }, all.slice(1)],
    ['what else is in the configuration', { ...spec, config: { ingester: { concurrentReconciles: 3 } } }, []],
    ['the command of migrate', withLifecycle({ migrate: { command: ['m'] } }), all.slice(1)],
    ['the trigger of migrate', withLifecycle({ migrate: { trigger: 'x' } }), all.slice(1)],
    [
      'another key',
      withDatabase({ encryption: { ...database.encryption, key: { name: 'k', key: '2' } } }),
      all.slice(2),
    ],
    ['the trigger of rotate', withLifecycle({ rotate: { trigger: 'x' } }), all.slice(2)],
    ['the command of init', withLifecycle({ init: { command: ['i'] } }), all.slice(3)],
    ['the trigger of init', withLifecycle({ init: { trigger: 'x' } }), all.slice(3)],
  ];
  for (const [what, changed, expected] of inputs) {
    it(`is run again by what it depends on, with those after it: ${what}`, () => {
      assert.deepEqual(due(changed), expected);
    });
  }

  it('is not run again by what says where, when or how it runs', () => {
    const settings = { timeout: '1m', maxAttempts: 9, requiresQuiesce: false };
    const elsewhere: IngesterSpec = {
      ...withLifecycle({ clone: { ...clone, ...settings }, migrate: settings, rotate: settings, init: settings }),
      ...{ forceReload: 'x', imagePullSecrets: ['i'], podTemplate: { priorityClassName: 'high' } },
      components: { sync: { replicas: 5 } },
      database: { ...database, migrationCredentialsSecret: 'other', createDatabase: true },
    };
    assert.deepEqual(due(elsewhere), []);
  });

  it('is run again for a resource that was made anew', () => {
    assert.deepEqual(due(spec, 'of another'), all);
  });

  it('quiesces writers where it is clone or migrate, or where its field asks for it', () => {
    const asked = (['clone', 'migrate', 'rotate', 'init'] as const).map((name) =>
      [{}, { requiresQuiesce: true }, { requiresQuiesce: false }].map((more) => {
        const changed = withLifecycle({ [name]: { ...(name === 'clone' ? clone : {}), trigger: 'x', ...more } });
        const alone = dueFor(changed, completed).filter(({ step }) => step.name === name);
        return alone.length === 1 && quiesceNeeded(alone, changed);
      }),
    );
    assert.deepEqual(asked, [
      [true, true, false],
      [true, true, false],
      [false, true, false],
      [false, true, false],
    ]);
  });

  it('is not due where all are switched off, whatever changes, nor afterwards for what it was completed for', () => {
    const off = { disabled: true };
    const none = { clone: { ...clone, ...off }, migrate: off, rotate: off, init: off };
    assert.deepEqual(due({ ...withLifecycle(none), version: '2.0.0' }), []);
    assert.deepEqual(due(spec), []);
  });
});
