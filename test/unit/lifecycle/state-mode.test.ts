import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { IngesterSpec } from '../../../src/api/ingester/spec.ts';
import { pendingSteps } from '../../../src/lifecycle/plan/pending.ts';
import {
  effectiveStateMode,
  type StateMode,
  type StateModeInput,
  stateRows,
} from '../../../src/lifecycle/plan/state-mode.ts';
import { noLifecycle } from '../../../src/lifecycle/plan/target.ts';

const modes: readonly StateMode[] = ['Stateless', 'LastState', 'Savepoint'];
const flags = [false, true];

const every: readonly StateModeInput[] = modes.flatMap((asked) =>
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
    for (const observed of every.filter(({ stored, changes }) => stored && changes)) {
      const mode = effectiveStateMode(observed);
      assert.ok(mode !== 'Nothing' && modes.indexOf(mode) >= modes.indexOf(observed.asked), JSON.stringify(observed));
    }
    for (const observed of every.filter(({ asked }) => asked !== 'Stateless'))
      assert.notEqual(effectiveStateMode(observed), 'Stateless', JSON.stringify(observed));
  });

  it('is Nothing for an empty database, and LastState where no task changes the data', () => {
    for (const observed of every.filter(({ stored, changes }) => !stored || !changes))
      assert.equal(effectiveStateMode(observed), observed.stored ? 'LastState' : 'Nothing', JSON.stringify(observed));
  });

  it('in the docs is that of the table', () => {
    const docs = readFileSync(join(import.meta.dirname, '../../../docs/lifecycle.md'), 'utf8');
    const rows = stateRows.map(({ when, mode, kept }) => `| ${when} | ${mode} | ${kept} |`);
    const head = ['| Where (the first that fits) | Effective | What is kept |', '| --- | --- | --- |'];
    assert.ok(docs.includes([...head, ...rows].join('\n')));
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

  it('comes before a migration that quiesces no writers, too', () => {
    const lifecycle = { stateMode: 'Savepoint', snapshots, migrate: { requiresQuiesce: false } } as const;
    assert.deepEqual(due(lifecycle, '1.0.0'), ['snapshot', 'migrate']);
  });

  it('is taken for LastState where there is a place, for Stateless never, and never of an empty database', () => {
    assert.deepEqual(due({ snapshots }, '1.0.0'), ['quiesce', 'snapshot', 'migrate']);
    assert.deepEqual(due({}, '1.0.0'), ['quiesce', 'migrate']);
    assert.deepEqual(due({ stateMode: 'Stateless', snapshots }, '1.0.0'), ['quiesce', 'migrate']);
    assert.deepEqual(due({ stateMode: 'Savepoint', snapshots }), ['migrate']);
  });
});
