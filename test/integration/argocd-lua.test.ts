// Health checks and actions for Argo CD, run by the Lua interpreter that Argo CD is built with.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { parse } from 'yaml';
import { conditionRules, healthRules } from '../../hack/generate/gitops/health.ts';
import { type LuaOutcome, type LuaRun, luaInterpreter, runLua } from '../../hack/local/lua-interpreter.ts';

const file = join(import.meta.dirname, '../../config/argocd/customizations/argocd-cm.yaml');
const { data } = parse(readFileSync(file, 'utf8')) as { data: Readonly<Record<string, string>> };

interface Actions {
  readonly 'discovery.lua': string;
  readonly definitions: readonly { readonly name: string; readonly 'action.lua': string }[];
}

function script(what: string, kind: string): string {
  const text =
    data[`resource.customizations.${what}.${kind === 'Ingester' ? 'ingester.' : ''}michelangelo.api_${kind}`];
  assert.ok(text, `${what} of ${kind}`);
  return text;
}

const actionsOf = (kind: string): Actions => parse(script('actions', kind)) as Actions;

function action(kind: string, name: string): string {
  const found = actionsOf(kind).definitions.find((definition) => definition.name === name);
  assert.ok(found, name);
  return found['action.lua'];
}

describe('Argo CD', async () => {
  const interpreter = await luaInterpreter();
  const skip = interpreter === undefined ? 'needs Go on PATH to build the interpreter' : false;
  const run = (runs: readonly LuaRun[]): Promise<readonly LuaOutcome[]> => runLua(interpreter ?? '', runs);
  const one = async (text: string, object: object): Promise<unknown> => {
    const [outcome] = await run([{ script: text, object }]);
    assert.ok(outcome && 'result' in outcome, JSON.stringify(outcome));
    return outcome.result;
  };
  const health = async (kind: string, object: object): Promise<string> =>
    ((await one(script('health', kind), object)) as { status: string }).status;
  let statuses: readonly { readonly what: string; readonly wanted: string; readonly outcome: LuaOutcome }[];

  before(async () => {
    if (interpreter === undefined) return;
    const cases = healthRules.flatMap(({ kind, field, prefix, states, without }) => [
      ...Object.entries(states).map(([state, wanted]) => ({
        what: `${kind} ${state}`,
        wanted,
        run: { script: script('health', kind), object: { metadata: {}, status: { [field]: `${prefix}${state}` } } },
      })),
      {
        what: `${kind} without status`,
        wanted: without,
        run: { script: script('health', kind), object: { metadata: {} } },
      },
    ]);
    const outcomes = await run(cases.map((each) => each.run));
    statuses = cases.map(({ what, wanted }, index) => ({
      what,
      wanted,
      outcome: outcomes[index] ?? { error: 'none' },
    }));
  });

  it('knows the health of every kind in every state, and without a status', { skip }, () => {
    assert.ok(statuses.length > 60);
    for (const { what, wanted, outcome } of statuses) {
      assert.ok('result' in outcome, `${what}: ${JSON.stringify(outcome)}`);
      assert.equal((outcome.result as { status: string }).status, wanted, what);
    }
  });

  it('says Unknown of a state that it does not know, and Progressing of a change not seen yet', { skip }, async () => {
    assert.equal(await health('Pipeline', { metadata: {}, status: { state: 'PIPELINE_STATE_NEW' } }), 'Unknown');
    const status = { state: 'INFERENCE_SERVER_STATE_SERVING', observedGeneration: 1 };
    assert.equal(await health('InferenceServer', { metadata: { generation: 2 }, status }), 'Progressing');
    assert.equal(await health('InferenceServer', { metadata: { generation: 1 }, status }), 'Healthy');
  });

  it('knows kinds by their conditions, and kinds without any', { skip }, async () => {
    for (const { kind, conditions, without } of conditionRules) {
      assert.equal(await health(kind, { metadata: {} }), without);
      for (const { type, health: wanted } of conditions) {
        const statusConditions = [{ type, status: 'CONDITION_STATUS_TRUE', message: 'm' }];
        assert.equal(await health(kind, { metadata: {}, status: { statusConditions } }), wanted);
      }
    }
    assert.equal(await health('Model', { metadata: {} }), 'Healthy');
  });

  it('lets users archive, look again and, while an object is being deleted, remove the finalizer', {
    skip,
  }, async () => {
    const live = { metadata: { name: 'a', finalizers: ['other/one', 'michelangelo/Ingester'] } };
    const deleting = { metadata: { ...live.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    const offered = async (object: object): Promise<Readonly<Record<string, { disabled: boolean }>>> =>
      (await one(actionsOf('Model')['discovery.lua'], object)) as Readonly<Record<string, { disabled: boolean }>>;
    assert.deepEqual(
      Object.entries(await offered(live))
        .filter(([, { disabled }]) => disabled)
        .map(([name]) => name),
      ['remove-finalizer'],
    );
    assert.equal((await offered(deleting))['remove-finalizer']?.disabled, false);
    const freed = (await one(action('Model', 'remove-finalizer'), deleting)) as typeof live;
    assert.deepEqual(freed.metadata.finalizers, ['other/one']);
    const archived = (await one(action('Model', 'archive'), live)) as { metadata: { annotations: object } };
    assert.deepEqual(archived.metadata.annotations, { 'michelangelo/Immutable': 'true' });
    const looked = (await one(action('Model', 'resync'), live)) as {
      metadata: { annotations: Record<string, string> };
    };
    assert.match(looked.metadata.annotations['michelangelo/Resync'] ?? '', /^\d{4}-/);
  });

  it('lets users approve exactly the upgrade that waits', { skip }, async () => {
    const waiting = { metadata: {}, status: { phase: 'AwaitingApproval', lifecycle: { upgrade: { token: 't1' } } } };
    const offered = (await one(actionsOf('Ingester')['discovery.lua'], waiting)) as Record<
      string,
      { disabled: boolean }
    >;
    assert.equal(offered['approve-upgrade']?.disabled, false);
    const approved = (await one(action('Ingester', 'approve-upgrade'), waiting)) as {
      metadata: { annotations: object };
    };
    assert.deepEqual(approved.metadata.annotations, { 'michelangelo/approve-upgrade': 't1' });
    const idle = (await one(actionsOf('Ingester')['discovery.lua'], { metadata: {} })) as typeof offered;
    assert.equal(idle['approve-upgrade']?.disabled, true);
  });

  it('passes the health of an Application on, once it has been synced', { skip }, async () => {
    const text = data['resource.customizations.health.argoproj.io_Application'] ?? '';
    const status = { health: { status: 'Degraded', message: 'm' } };
    assert.deepEqual(await one(text, { metadata: {}, status }), { status: 'Degraded', message: 'm' });
    assert.deepEqual(await one(text, { metadata: {} }), { status: 'Progressing', message: 'no health yet' });
    // What is not there yet does not count for Argo CD: the first half of a bundle is healthy.
    const half = { health: { status: 'Healthy' }, sync: { status: 'OutOfSync' } };
    const wanted = { status: 'Progressing', message: 'its first sync is not over' };
    assert.deepEqual(await one(text, { metadata: {}, status: half }), wanted);
    const healthy = { status: 'Healthy', message: '' };
    assert.deepEqual(await one(text, { metadata: {}, status: { ...half, history: [{ id: 0 }] } }), healthy);
    assert.deepEqual(await one(text, { metadata: {}, status: { ...half, sync: { status: 'Synced' } } }), healthy);
  });
});
