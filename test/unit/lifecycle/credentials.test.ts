import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { IngesterSpec } from '../../../src/api/ingester/spec.ts';
import type { LifecycleStatus } from '../../../src/api/ingester/status.ts';
import { jobOf } from '../../../src/lifecycle/children/jobs.ts';
import {
  desiredCredentials,
  noteAdded,
  noteChangedOver,
  noteEnded,
  served,
} from '../../../src/lifecycle/plan/credentials.ts';
import { pendingSteps } from '../../../src/lifecycle/plan/pending.ts';
import { noLifecycle } from '../../../src/lifecycle/plan/target.ts';

const asking = (from: string, to: string): IngesterSpec => ({
  version: '1.0.0',
  database: { credentialsSecret: from, rotation: { credentialsSecret: to, adminSecret: 'admin' } },
});
const spec = asking('a', 'b');
const secretOf = (of: IngesterSpec, lifecycle: LifecycleStatus): string =>
  served(of, lifecycle).database.credentialsSecret;
const due = (of: IngesterSpec, lifecycle: LifecycleStatus): readonly string[] =>
  pendingSteps({ uid: 'u', spec: of, lifecycle, migratedVersion: '1.0.0' }).map(({ step }) => step.name);

describe('credentials that are rotated', () => {
  const added = noteAdded(spec, noLifecycle, 'rotate-1');
  const inUse = noteChangedOver(spec, added, true);
  const ended = noteEnded(inUse);

  it('are used as soon as they are valid, and the credentials before them end when no component uses them any more', () => {
    assert.deepEqual([secretOf(spec, noLifecycle), secretOf(spec, added)], ['a', 'b']);
    assert.ok(due(spec, noLifecycle).includes('rotate'));
    assert.equal(noteChangedOver(spec, added, false), added);
    assert.deepEqual(
      [added, inUse, ended].map((each) => due(spec, each).includes('finish')),
      [false, true, false],
    );
  });

  it('are not forgotten when the manifest names those before again, or asks for nothing any more', () => {
    const reverted: IngesterSpec = { version: '1.0.0', database: { credentialsSecret: 'a' } };
    assert.equal(secretOf(reverted, noteChangedOver(reverted, ended, true)), 'b');
  });

  it('are forgotten when the manifest names them, and then nothing is due', () => {
    const named: IngesterSpec = { version: '1.0.0', database: { credentialsSecret: 'b' } };
    const over = noteChangedOver(named, ended, true);
    assert.equal(over.credentials, undefined);
    assert.equal(secretOf(named, over), 'b');
    assert.equal(desiredCredentials(asking('b', 'b'), over), undefined);
  });

  it('are changed to the end before other credentials are, and the ones that were in use end', () => {
    const third = asking('a', 'c');
    assert.deepEqual(
      [added, inUse, ended].map((each) => desiredCredentials(third, each)),
      [undefined, undefined, 'c'],
    );
    const { credentials } = noteAdded(third, ended, 'rotate-2');
    assert.deepEqual([credentials?.from, credentials?.to, credentials?.previous], ['a', 'c', 'b']);
  });

  it('are changed by Jobs that log in with those in use, and know the others', () => {
    const parent = { namespace: 'n', name: 'one', uid: 'u' };
    const withTasks = { ...spec, database: { ...spec.database, migrationCredentialsSecret: 'migrator' } };
    const secretsOf = (of: LifecycleStatus, step: 'rotate' | 'finish' | 'migrate'): readonly string[] => {
      const job = JSON.stringify(
        jobOf(parent, { spec: served(withTasks, of), step, known: { credentials: of.credentials } }, `${step}-1`),
      );
      return [
        ...new Set([...job.matchAll(/"(?:secretName|name)":"(a|b|admin|migrator)"/g)].map(([, name = '']) => name)),
      ].sort();
    };
    assert.deepEqual(secretsOf(noLifecycle, 'rotate'), ['a', 'admin', 'b']);
    assert.deepEqual(secretsOf(inUse, 'finish'), ['a', 'admin', 'b']);
    assert.deepEqual(secretsOf(inUse, 'migrate'), ['migrator']);
    // For keys alone, once the credentials are in use.
    assert.deepEqual(secretsOf(ended, 'rotate'), ['migrator']);
  });
});
