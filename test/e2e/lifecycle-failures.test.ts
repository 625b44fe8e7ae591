// Tasks and upgrades that go wrong, on real servers: what the status says, and how each of them is got over.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import type { IngesterStatus } from '../../src/api/ingester/status.ts';
import { eventually } from '../support/eventually.ts';
import { applySecret } from '../support/lifecycle-database.ts';
import { aSpec, INGESTER, isSettled, type LifecycleCluster, SYSTEM, useLifecycle } from '../support/use-lifecycle.ts';

const A_MINUTE = 60_000;

function pathOf(cluster: LifecycleCluster, name: string): string {
  return join(cluster.bundle.controlPlane.directory, name);
}

function shell(script: string): readonly string[] {
  return ['sh', '-c', script];
}

/** Writes that it begins, goes on until `<file>.go-on` is there, and writes how it ended. */
function written(file: string): readonly string[] {
  const end = (word: string): string => `echo ${word} >> '${file}'`;
  const wait = `until [ -e '${file}.go-on' ]; do sleep 0.1; done`;
  return shell(
    `trap '${end('stopped').replaceAll("'", "'\\''")}; exit 1' TERM; ${end('begins')}; ${wait}; ${end('done')}`,
  );
}

function linesOf(file: string): readonly string[] {
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
}

function condition({ conditions }: IngesterStatus, type: string): string {
  const found = conditions?.find((each) => each.type === type);
  return `${found?.status ?? '-'} ${found?.reason ?? '-'}: ${found?.message ?? ''}`;
}

async function jobNames(cluster: LifecycleCluster): Promise<readonly string[]> {
  return cluster.names('jobs', `michelangelo/ingester=${INGESTER}`);
}

async function podsOf(cluster: LifecycleCluster, component: string): Promise<readonly string[]> {
  const selector = `michelangelo/ingester=${INGESTER},app.kubernetes.io/component=${component}`;
  return cluster.names('pods', selector);
}

async function gateHolder(cluster: LifecycleCluster): Promise<unknown> {
  const [gate] = await cluster.bundle.database.query('SELECT closed_by FROM ingester_gate');
  return gate?.['closed_by'];
}

/** The status that says so, which has to come within a minute. */
async function cannotStart(cluster: LifecycleCluster, step: 'init'): Promise<IngesterStatus> {
  const what = `${step} cannot start`;
  return cluster.until(
    what,
    ({ lifecycle }) => {
      return lifecycle?.steps[step]?.message?.startsWith('cannot start') === true;
    },
    A_MINUTE,
  );
}

describe('where something goes wrong', () => {
  const use = useLifecycle();
  before(async () => {
    const cluster = use();
    await cluster.apply({ ...aSpec, lifecycle: { ...aSpec.lifecycle, init: { disabled: true } } });
    await cluster.settled('1.0.0');
  });

  describe('a task of an Ingester resource', () => {
    before(async () => {
      // A change that fails before it touched the database would go back by itself.
      await use().patch({ lifecycle: { rollback: { enabled: false } } });
    });

    it('that fails is tried again, ends at its timeout, and is given up without taking the components down', async () => {
      const cluster = use();
      const file = pathOf(cluster, 'tried');
      const command = shell(
        `[ -e '${file}' ] && exec sleep 1000; touch '${file}'; echo no answer from the bucket; exit 1`,
      );
      await cluster.patch({ lifecycle: { init: { disabled: false, command, timeout: '3s', maxAttempts: 2 } } });
      const retrying = await cluster.until('waiting for the next attempt', ({ lifecycle }) => {
        return lifecycle?.steps.init?.nextAttemptAt !== undefined;
      });
      assert.match(
        condition(retrying, 'LifecycleComplete'),
        /TaskRetrying: init: next attempt at .*no answer from the/,
      );
      const failed = await cluster.inPhase('Failed');
      assert.equal(failed.lifecycle?.steps.init?.attempts, 2);
      assert.match(condition(failed, 'LifecycleComplete'), /TaskFailed: init: DeadlineExceeded: .*init\.trigger/);
      assert.match(condition(failed, 'Available'), /^True/);
      assert.equal(failed.ready, '2/2');
      await eventually(async () => assert.deepEqual(await podsOf(cluster, 'init'), []));
      const reasons = await cluster.reasons();
      for (const reason of ['TaskRetry', 'TaskFailed']) assert.ok(reasons.includes(reason), reason);
      // It stays given up.
      const { runs } = failed.lifecycle;
      await cluster.patch({ lifecycle: { jobRetention: 'Retain' } });
      const later = await cluster.until('looked at', ({ phase, target }) => {
        return phase === 'Failed' && target?.spec.lifecycle?.jobRetention === 'Retain';
      });
      assert.equal(later.lifecycle?.runs, runs);
      await cluster.patch({ lifecycle: { jobRetention: null, init: { command: shell('exit 0'), timeout: null } } });
      await cluster.settled('1.0.0');
    });

    it('whose inputs change while it runs is stopped, and begins again only when nothing of it is left', async () => {
      const cluster = use();
      const file = pathOf(cluster, 'replaced');
      await cluster.patch({ lifecycle: { init: { command: written(file), trigger: 'a' } } });
      await eventually(() => assert.deepEqual(linesOf(file), ['begins']), A_MINUTE);
      const first = (await cluster.status()).lifecycle?.steps.init?.run;
      await cluster.patch({ lifecycle: { init: { trigger: 'b' } } });
      await eventually(() => assert.deepEqual(linesOf(file), ['begins', 'stopped', 'begins']), A_MINUTE);
      writeFileSync(`${file}.go-on`, '');
      const status = await cluster.settled('1.0.0');
      assert.deepEqual(linesOf(file), ['begins', 'stopped', 'begins', 'done']);
      assert.notEqual(status.lifecycle?.steps.init?.run, first);
    });

    it('that is switched off while it runs is stopped, and runs anew when it is switched on again', async () => {
      const cluster = use();
      const file = pathOf(cluster, 'switched');
      await cluster.patch({ lifecycle: { init: { command: written(file), trigger: 'c' } } });
      await eventually(() => assert.deepEqual(linesOf(file), ['begins']), A_MINUTE);
      const first = (await cluster.status()).lifecycle?.steps.init?.run;
      await cluster.patch({ lifecycle: { init: { disabled: true } } });
      const off = await cluster.settled('1.0.0');
      assert.deepEqual(linesOf(file), ['begins', 'stopped']);
      assert.notEqual(off.lifecycle?.steps.init?.state, 'Running');
      assert.deepEqual(await jobNames(cluster), []);
      await cluster.patch({ lifecycle: { init: { disabled: false } } });
      await eventually(() => assert.deepEqual(linesOf(file), ['begins', 'stopped', 'begins']), A_MINUTE);
      writeFileSync(`${file}.go-on`, '');
      const status = await cluster.settled('1.0.0');
      assert.equal(status.lifecycle?.steps.init?.state, 'Complete');
      assert.notEqual(status.lifecycle.steps.init.run, first, 'the fence tells one run from another by its number');
    });

    it('whose pod cannot start is named within a minute, and goes on when what was missing comes', async () => {
      const cluster = use();
      await cluster.patch({
        database: { migrationCredentialsSecret: 'comes-later' },
        lifecycle: { init: { command: shell('exit 0'), trigger: 'd' } },
      });
      const stuck = await cannotStart(cluster, 'init');
      assert.match(condition(stuck, 'LifecycleComplete'), /TaskCannotStart: init: cannot start: .*comes-later/);
      const data = JSON.parse(await cluster.kubectl('get', 'secret', 'ingester-mysql-migrate', '-o', 'json')) as {
        data: Record<string, string>;
      };
      const plain = Object.entries(data.data).map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]);
      await applySecret(cluster, 'comes-later', Object.fromEntries(plain) as Record<string, string>);
      const status = await cluster.settled('1.0.0');
      assert.equal(status.lifecycle?.steps.init?.run, stuck.lifecycle?.steps.init?.run, 'the same pod goes on');
    });

    it('whose pod cannot start is started again where only its pod is corrected', async () => {
      const cluster = use();
      const volumes = [{ name: 'extra', secret: { secretName: 'ingester-nowhere' } }];
      const podTemplate = { volumes, volumeMounts: [{ name: 'extra', mountPath: '/extra' }] };
      await cluster.patch({ lifecycle: { podTemplate, init: { trigger: 'e' } } });
      const stuck = await cannotStart(cluster, 'init');
      assert.match(condition(stuck, 'LifecycleComplete'), /TaskCannotStart: init: .*FailedMount .*ingester-nowhere/);
      await cluster.patch({ lifecycle: { podTemplate: null } });
      await cluster.settled('1.0.0');
      assert.ok((await cluster.reasons()).includes('TaskRecovering'));
    });

    it('and a component whose pods a quota refuses say so within a minute', async () => {
      const cluster = use();
      const quota = {
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { name: 'full' },
        spec: { hard: { pods: '1' } },
      };
      await cluster.bundle.controlPlane.kubectlRun(['-n', SYSTEM, 'apply', '-f', '-'], {
        input: JSON.stringify(quota),
      });
      await eventually(async () => assert.match(await cluster.kubectl('get', 'quota', 'full', '-o', 'json'), /"used"/));
      await cluster.patch({ lifecycle: { init: { trigger: 'f' } } });
      const stuck = await cannotStart(cluster, 'init');
      assert.match(
        condition(stuck, 'LifecycleComplete'),
        /TaskCannotStart: init: .*FailedCreate .*exceeded quota: full/,
      );
      await cluster.kubectl('delete', 'pod', '-l', 'app.kubernetes.io/component=query', '--wait=false');
      const degraded = await cluster.until(
        'degraded',
        (status) => condition(status, 'Degraded').includes('quota'),
        A_MINUTE,
      );
      assert.match(degraded.components?.query?.message ?? '', /exceeded quota: full/);
      await cluster.kubectl('delete', 'quota', 'full');
      await cluster.settled('1.0.0');
    });
  });

  describe('an upgrade', () => {
    before(async () => {
      const cluster = use();
      await cluster.patch({
        database: { migrationCredentialsSecret: 'ingester-mysql-migrate' },
        lifecycle: { rollback: null, podTemplate: null, init: { disabled: true } },
      });
      await cluster.settled('1.0.0');
    });

    it('that fails for want of its image names the image, and the version before comes back when its time is up', async () => {
      const cluster = use();
      const upgrade = { version: '1.1.0', image: 'registry.example.com/typo:1.1.0' };
      await cluster.kubectl('patch', 'configmap', 'ingester-permitted', '-p', '{"data":{"images":"*"}}');
      await cluster.patch({ ...upgrade, lifecycle: { rollback: { deadline: '60s' } } });
      const named = (status: IngesterStatus): boolean => condition(status, 'LifecycleComplete').includes('typo:1.1.0');
      const stuck = await cluster.until('named', named, A_MINUTE);
      // The page that is to stand in has the same image: until it answers, the pods before serve.
      assert.match(condition(stuck, 'LifecycleComplete'), /MaintenanceCannotStart: .*(ErrImagePull|ImagePullBackOff)/);
      assert.match(condition(stuck, 'Available'), /^True Serving/);
      const back = await cluster.until('back', (status) => {
        return (
          status.phase === 'Blocked' && status.ready === '2/2' && condition(status, 'Available').startsWith('True')
        );
      });
      assert.equal(back.target?.spec.version, '1.0.0');
      // An event is written beside the status, not before it.
      await eventually(async () => assert.ok((await cluster.reasons()).includes('RolledBack')), A_MINUTE);
      assert.equal(await gateHolder(cluster), null);
      const images = ['get', 'deployment', '-l', `michelangelo/ingester=${INGESTER}`, '-o', 'jsonpath={..image}'];
      assert.doesNotMatch(await cluster.kubectl(...images), /typo/);
      // The same one is not tried again; another one is.
      const again = await cluster.until('settled', ({ lifecycle }) => lifecycle?.pipeline === 'Settled');
      await cluster.patch({ lifecycle: { quiesceTimeout: '6m' } });
      await cluster.patch({ version: '1.1.0', image: null, lifecycle: { rollback: null } });
      const status = await cluster.settled('1.1.0');
      assert.ok((status.lifecycle?.runs ?? 0) > (again.lifecycle?.runs ?? 0));
    });

    it('that fails because no snapshot can be taken goes back before anything was changed; without a mode that needs one it goes on', async () => {
      const cluster = use();
      const { name } = cluster.bundle.database;
      const snapshots = { database: `not_permitted_${name}` };
      await cluster.patch({ version: '1.2.0', lifecycle: { stateMode: 'Savepoint', snapshots } });
      const back = await cluster.until('back', (status) => status.phase === 'Blocked' && status.ready === '2/2');
      assert.equal(back.target?.spec.version, '1.1.0');
      assert.equal(back.migratedVersion, '1.1.0');
      assert.match(back.lifecycle?.steps.snapshot?.message ?? '', /denied|not permitted|CREATE/i);
      assert.equal(await gateHolder(cluster), null);
      await cluster.patch({ lifecycle: { stateMode: 'Stateless' } });
      const status = await cluster.settled('1.2.0');
      assert.deepEqual(status.lifecycle?.snapshots, []);
      await cluster.patch({ lifecycle: { stateMode: null, snapshots: null } });
      await cluster.settled('1.2.0');
    });

    it('that comes while a scheduled snapshot is taken stops it first, and no tick is left without a snapshot', async () => {
      const cluster = use();
      const { database } = cluster.bundle;
      const snapshots = { database: `${database.name}_snapshots`, schedule: '0 0 1 1 *' };
      await cluster.patch({ lifecycle: { snapshots } });
      await cluster.until('scheduled', ({ lifecycle }) => lifecycle?.snapshotSchedule?.next !== undefined);
      // The snapshot begins with closing the gate, and waits for this lock.
      const locked = database.query('SELECT SLEEP(20) FROM ingester_gate FOR UPDATE');
      await cluster.tick({ snapshotSchedule: { next: '2026-01-01T00:00:00.000Z' } });
      await cluster.until('at it', ({ lifecycle }) => lifecycle?.steps.backup?.state === 'Running');
      await eventually(async () => assert.notDeepEqual(await podsOf(cluster, 'backup'), []), A_MINUTE);
      await cluster.patch({ version: '1.3.0' });
      const status = await cluster.until('both done', (each) => {
        return isSettled(each, '1.3.0') && each.lifecycle?.snapshotAt !== undefined;
      });
      await locked;
      assert.equal(status.lifecycle?.snapshotSchedule?.missedSince, undefined);
      assert.equal(await gateHolder(cluster), null);
    });
  });
});
