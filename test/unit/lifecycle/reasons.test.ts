import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { conditionReasons, eventReasons } from '../../../src/api/ingester/reasons.ts';
import { type PlanInput, plan } from '../../../src/lifecycle/plan/plan.ts';
import { inputOf, reasonOf, running } from '../../support/lifecycle-plans.ts';

const src = join(import.meta.dirname, '../../../src');

/** Everything that can name a reason, as one text. */
function sources(): string {
  const files = readdirSync(join(src, 'lifecycle'), { recursive: true, encoding: 'utf8' });
  const texts = files.filter((file) => file.endsWith('.ts')).map((file) => join(src, 'lifecycle', file));
  return [...texts, join(src, 'api/ingester/status.ts')].map((file) => readFileSync(file, 'utf8')).join('\n');
}

/** What runs, with query as its Deployment says. */
function withQuery(more: Partial<PlanInput['observed']['components']['query']>): PlanInput {
  const input = inputOf(running);
  const { components } = input.observed;
  const query = { ...components.query, ...more };
  return { ...input, observed: { ...input.observed, components: { ...components, query } } };
}

describe('the catalogue of reasons', () => {
  it('has none that is never given', () => {
    const all = sources();
    const reasons = [eventReasons, ...Object.values(conditionReasons)].flatMap((each) => Object.keys(each));
    assert.deepEqual(
      reasons.filter((reason) => !all.includes(`'${reason}'`)),
      [],
    );
  });

  it('has names that the API conventions permit', () => {
    const reasons = [eventReasons, ...Object.values(conditionReasons)].flatMap((each) => Object.keys(each));
    for (const reason of reasons) assert.match(reason, /^[A-Z][A-Za-z]*$/);
  });
});

describe('the condition Degraded', () => {
  const status = (input: PlanInput): string | undefined =>
    plan(input).status.conditions?.find(({ type }) => type === 'Degraded')?.status;

  it('is unknown while the counts of a Deployment are of an older generation', () => {
    const unseen = withQuery({ generationObserved: false });
    assert.deepEqual([status(unseen), reasonOf(plan(unseen), 'Degraded')], ['Unknown', 'NotObserved']);
    assert.equal(status(withQuery({})), 'False');
  });

  it('is true where pods are known to be missing, whatever else is not known', () => {
    assert.equal(status(withQuery({ ready: 0, available: 0 })), 'True');
    assert.equal(status(withQuery({ generationObserved: false, problem: 'ErrImagePull' })), 'True');
    assert.equal(status(withQuery({ exists: false })), 'True');
  });
});
