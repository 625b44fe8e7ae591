import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { done, inSteps, type ReconcileContext, type Step } from '../../../src/runtime/reconcile.ts';

const noted: object[] = [];
const context = { note: (fields: object) => noted.push(fields) } as unknown as ReconcileContext;

describe('a reconcile out of steps', () => {
  it('enters them in their order, with its key, and leaves them in the other', async () => {
    const seen: string[] = [];
    const around = (name: string): Step => [
      name,
      async (key, next) => {
        seen.push(`${name} begins ${key}`);
        const result = await next();
        seen.push(`${name} ends`);
        return result;
      },
    ];
    const again = { kind: 'requeue-after', delayMs: 5 } as const;
    const reconcile = inSteps([around('outer'), around('inner'), ['last', () => Promise.resolve(again)]]);
    assert.deepEqual(await reconcile('ns/a', context), again);
    assert.deepEqual(seen, ['outer begins ns/a', 'inner begins ns/a', 'inner ends', 'outer ends']);
  });

  it('does not enter what lies below a step that fails, or that does not ask for it', async () => {
    const never: Step = ['never', () => assert.fail('it is entered')];
    assert.deepEqual(await inSteps([['enough', () => Promise.resolve(done)], never])('ns/a', context), done);
    await assert.rejects(inSteps([['broken', () => Promise.reject(new Error('no'))], never])('ns/a', context), /no/);
  });

  it('gives each step the run, so that what is noted there is in the lines of the run', async () => {
    const notes: Step = [
      'notes',
      (_, next, run) => {
        run.note({ step: 'notes' });
        return next();
      },
    ];
    await inSteps([notes, notes])('ns/a', context);
    assert.deepEqual(noted, [{ step: 'notes' }, { step: 'notes' }]);
  });
});
