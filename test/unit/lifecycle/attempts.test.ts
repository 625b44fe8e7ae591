// How often a task is tried, for how long, and what stops it.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { IngesterSpec } from '../../../src/api/ingester/spec.ts';
import type { StepName } from '../../../src/api/ingester/status.ts';
import { valueAt } from '../../../src/base/json.ts';
import { jobOf } from '../../../src/lifecycle/children/jobs.ts';
import type { ObservedJob } from '../../../src/lifecycle/plan/observed.ts';
import { type PlanInput, plan } from '../../../src/lifecycle/plan/plan.ts';
import { specOf } from '../../support/lifecycle-model.ts';
import { after, asking, inputOf, running } from '../../support/lifecycle-plans.ts';

/** The first migration of an installation, and how often it was begun. */
function failingMigration(message = 'no'): { readonly attempts: number; readonly input: PlanInput } {
  const absent = { components: {}, jobs: [], service: 'absent', page: 'absent' } as const;
  // Nothing is said about migrate, so its defaults hold.
  const spec = specOf('1.0.0', { lifecycle: { init: { disabled: true } } });
  let input = inputOf({ ...running, ...absent, status: {}, spec });
  let attempts = 0;
  for (let reconciles = 0; reconciles < 30; reconciles += 1) {
    const { status, desired } = plan(input);
    const { run } = desired?.job ?? {};
    const ended = { step: 'migrate', state: 'failed', deleting: false, pods: 0, message } as const;
    const jobs: readonly ObservedJob[] = run === undefined ? [] : [{ ...ended, run }];
    attempts += jobs.length;
    const now = new Date(input.now.getTime() + 300_000);
    input = { ...input, status, now, observed: { ...input.observed, jobs } };
  }
  return { attempts, input };
}

describe('a task that fails', () => {
  it('is tried three times unless told otherwise, and no more', () => {
    const { attempts, input } = failingMigration();
    assert.equal(attempts, 3);
    assert.equal(input.status.phase, 'Failed');
  });

  it('says why in at most 256 characters', () => {
    const { message = '' } = failingMigration('x'.repeat(5000)).input.status.lifecycle?.steps.migrate ?? {};
    assert.equal(message.length, 256);
  });

  it('is tried anew where its pod is another one, also when no Job of it is left', () => {
    const { input } = failingMigration();
    const { status } = after({ ...input, rendered: { ...input.rendered, pod: () => 'mended' } }, 3);
    const { attempts, state } = status.lifecycle?.steps.migrate ?? {};
    assert.deepEqual([attempts, state], [0, 'Running']);
  });

  it('is tried again where the limit is raised', () => {
    const { input } = failingMigration();
    const spec = specOf('1.0.0', { lifecycle: { init: { disabled: true }, migrate: { maxAttempts: 4 } } });
    assert.equal(after({ ...input, spec }, 3).status.lifecycle?.steps.migrate?.state, 'Running');
  });
});

describe('an attempt', () => {
  it('may take two hours where it migrates, and an hour where it copies, unless its field says otherwise', () => {
    const parent = { namespace: 'n', name: 'one', uid: 'u' };
    const spec: IngesterSpec = { version: '1.0.0', database: { credentialsSecret: 's' } };
    const hours = (step: StepName): number =>
      Number(valueAt(jobOf(parent, { spec, step }, `${step}-1`), ['spec', 'activeDeadlineSeconds'])) / 3600;
    assert.deepEqual((['clone', 'snapshot', 'restore', 'migrate'] as const).map(hours), [1, 1, 1, 2]);
  });

  it('has in the status when it began and when it ended', () => {
    const asked = asking({ lifecycle: { ...running.spec.lifecycle, init: { trigger: 'x' } } });
    const { status } = after(asked, 3);
    const { run = '', startedAt } = status.lifecycle?.steps.init ?? {};
    assert.equal(startedAt, asked.now.toISOString());
    const jobs = [{ step: 'init', run, state: 'succeeded', deleting: false, pods: 0 } as const];
    const now = new Date(asked.now.getTime() + 60_000);
    const made = plan({ ...asked, status, now, observed: { ...asked.observed, jobs } });
    assert.equal(made.status.lifecycle?.steps.init?.completedAt, now.toISOString());
  });

  it('is stopped by a change of what is upstream of it, which waits until nothing of it is left', () => {
    const init = { trigger: 'x' };
    const asked = asking({ lifecycle: { ...running.spec.lifecycle, init } });
    const begun = after(asked, 3);
    const { run = '' } = begun.desired?.job ?? {};
    assert.match(run, /^init-/);
    const jobs = [{ step: 'init', run, state: 'active', deleting: false, pods: 1 } as const];
    const observed = { ...asked.observed, jobs };
    const changed = {
      ...asked,
      observed,
      status: begun.status,
      spec: { ...asked.spec, version: '2.0.0' } as IngesterSpec,
    };
    const stopping = after(changed, 3);
    assert.deepEqual([stopping.status.lifecycle?.pipeline, stopping.desired?.job], ['Stopping', undefined]);
    const gone = { ...changed, status: stopping.status, observed: asked.observed };
    assert.equal(plan(gone).status.lifecycle?.pipeline, 'Quiescing');
  });
});
