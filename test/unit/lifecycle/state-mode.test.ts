import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { IngesterSpec } from '../../../src/api/ingester/spec.ts';
import { pendingSteps } from '../../../src/lifecycle/pending.ts';
import { effectiveStateMode, type StateFacts, type StateMode, stateTable } from '../../../src/lifecycle/state-mode.ts';
import { noLifecycle } from '../../../src/lifecycle/target.ts';

const modes: readonly StateMode[] = ['Stateless', 'LastState', 'Savepoint'];
const flags = [false, true];

const every: readonly StateFacts[] = modes.flatMap((asked) =>
  flags.flatMap((stored) => flags.flatMap((changes) => flags.map((place) => ({ asked, stored, changes, place })))),
);

describe('the state mode', () => {
  it('before a task that changes the data is what was asked for, or a snapshot where there is a place for one', () => {
    const effective = modes.map((asked) =>
      flags.map((place) => effectiveStateMode({ asked, place, stored: true, changes: true })),
    );
    assert.deepEqual(effective, [
      ['Stateless', 'Stateless'],
      ['LastState', 'Savepoint'],
      ['Savepoint', 'Savepoint'],
    ]);
  });

  it('is never less than what was asked for, and Stateless only where that was asked for', () => {
    for (const facts of every.filter(({ stored, changes }) => stored && changes)) {
      const mode = effectiveStateMode(facts);
      assert.ok(mode !== 'Nothing' && modes.indexOf(mode) >= modes.indexOf(facts.asked), JSON.stringify(facts));
    }
    for (const facts of every.filter(({ asked }) => asked !== 'Stateless'))
      assert.notEqual(effectiveStateMode(facts), 'Stateless', JSON.stringify(facts));
  });

  it('is nothing for an empty database, and what is committed where no task changes the data', () => {
    for (const facts of every.filter(({ stored, changes }) => !stored || !changes))
      assert.equal(effectiveStateMode(facts), facts.stored ? 'LastState' : 'Nothing', JSON.stringify(facts));
  });

  it('in the docs is that of the table', () => {
    const docs = readFileSync(join(import.meta.dirname, '../../../docs/lifecycle.md'), 'utf8');
    assert.ok(docs.includes(stateTable()));
  });
});

describe('a snapshot', () => {
  const due = (lifecycle: IngesterSpec['lifecycle'], migratedVersion?: string): readonly string[] => {
    const spec: IngesterSpec = {
      version: '2.0.0',
      database: { credentialsSecret: 's' },
      lifecycle: { ...lifecycle, init: { disabled: true } },
    };
    return pendingSteps({ uid: 'u', spec, lifecycle: noLifecycle, migratedVersion }).map(({ step }) => step.name);
  };
  const snapshots = { database: 'snapshots' };

  it('comes before a migration that needs no drain, too', () => {
    const lifecycle = { stateMode: 'Savepoint', snapshots, migrate: { requiresDrain: false } } as const;
    assert.deepEqual(due(lifecycle, '1.0.0'), ['snapshot', 'migrate']);
  });

  it('is taken for LastState where there is a place, for Stateless never, and never of an empty database', () => {
    assert.deepEqual(due({ snapshots }, '1.0.0'), ['quiesce', 'snapshot', 'migrate']);
    assert.deepEqual(due({}, '1.0.0'), ['quiesce', 'migrate']);
    assert.deepEqual(due({ stateMode: 'Stateless', snapshots }, '1.0.0'), ['quiesce', 'migrate']);
    assert.deepEqual(due({ stateMode: 'Savepoint', snapshots }), ['migrate']);
  });
});
